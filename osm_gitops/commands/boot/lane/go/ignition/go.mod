module osm-gitops/boot/ignition

go 1.26.0

tool github.com/coreos/ignition/internal

require (
	github.com/ajeddeloh/go-json v0.0.0-00010101000000-000000000000 // indirect
	github.com/aws/aws-sdk-go v1.55.8 // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/coreos/go-systemd v0.0.0-20191104093116-d3cd4ed1dbcf // indirect
	github.com/coreos/ignition v0.35.0 // indirect
	github.com/godbus/dbus v0.0.0-20190422162347-ade71ed3457e // indirect
	github.com/jmespath/go-jmespath v0.4.0 // indirect
	github.com/pin/tftp v0.0.0 // indirect
	github.com/sigma/vmw-guestinfo v0.0.0 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/vincent-petithory/dataurl v1.0.0 // indirect
	github.com/vmware/vmw-ovflib v0.0.0 // indirect
	go4.org v0.0.0-20260112195520-a5071408f32f // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

// The original is not served any more; Operating System Manager has the same line.
replace github.com/ajeddeloh/go-json => github.com/coreos/go-json v0.0.0-20231102161613-e49c8866685a

// Not served either, and not needed: configurations come from files here.
replace (
	github.com/pin/tftp => ./tftp
	github.com/sigma/vmw-guestinfo => ./guestinfo
	github.com/vmware/vmw-ovflib => ./ovflib
)
