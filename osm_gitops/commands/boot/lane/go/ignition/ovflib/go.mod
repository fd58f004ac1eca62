module github.com/vmware/vmw-ovflib

go 1.26.0
