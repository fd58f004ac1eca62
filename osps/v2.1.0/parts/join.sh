{# The last steps of all: what the kubelet joins with, which changes by the hour and is in no rendered file. #}
retry /opt/bin/fetch-secret {{ BootstrapKubeconfigSecretName }} kubeconfig /etc/kubernetes/bootstrap-kubelet.conf
