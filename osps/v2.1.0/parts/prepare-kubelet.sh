#!/bin/bash
# Runs before each start of the kubelet: what it needs of the kernel, and which addresses and name it has.
{% from "node-flags" import node_ip, node_name with context %}
{% from "quoting" import quoted %}
set -euo pipefail

{% include "retry.sh" %}
modprobe -a overlay br_netfilter nf_conntrack
# only kube-proxy's ipvs mode uses these
modprobe -a ip_vs ip_vs_rr ip_vs_wrr ip_vs_sh || echo "there is no ip_vs in this kernel" >&2
{# What kubelet and pods' networks cannot do without. All else was set at boot and by setup, and may be changed. #}
sysctl --quiet --load=/etc/sysctl.d/99-kubernetes.conf

# some providers switch swap on at every boot
swapoff -a
if [ -f /etc/fstab ]; then
  sed -i -E 's/^([^#[:space:]]+[[:space:]]+[^[:space:]]+[[:space:]]+swap([[:space:]]|$))/#\1/' /etc/fstab
fi

{#
  The token of the first boot is good for hours; a machine that could not join until then takes the newest one. The
  kubelet writes its kubeconfig before it asks for a certificate: only the certificate says that it has joined.
#}
if [ ! -e /etc/kubernetes/pki/kubelet-client-current.pem ]; then
  /opt/bin/fetch-secret {{ BootstrapKubeconfigSecretName }} kubeconfig /etc/kubernetes/bootstrap-kubelet.conf ||
    echo "the kubelet starts with the token that is there" >&2
fi

{#
  Nothing is sent: this asks the kernel which source address it would use, to anywhere, or without a default route to
  the API server. It may take a while until there is one.
#}
server={{ quoted(urlParse(ServerURL).hostname) }}
source_address() { # -4|-6 DESTINATION
  local found
  found=$(ip -o "$1" route get "$2" | sed -n 's/.* src \([^ ]*\).*/\1/p')
  [ -n "$found" ] && echo "$found"
}
address() { # -4|-6 DESTINATION
  local api
  source_address "$1" "$2" && return
  api=$(getent "ahostsv${1#-}" "$server" | sed -n '1s/ .*//p')
  [ -n "$api" ] && source_address "$1" "$api"
}

node_ip=
node_name=
{% if node_ip() %}
{% if NetworkIPFamily == "IPv6" %}
node_ip=$(retry address -6 2001:db8::1)
{% elif NetworkIPFamily == "IPv4+IPv6" %}
node_ip=$(retry address -4 192.0.2.1),$(retry address -6 2001:db8::1)
{% elif NetworkIPFamily == "IPv6+IPv4" %}
node_ip=$(retry address -6 2001:db8::1),$(retry address -4 192.0.2.1)
{% else %}
node_ip=$(retry address -4 192.0.2.1)
{% endif %}
{% endif %}
{% if node_name() %}
if [ -s /etc/machine-name ]; then
  node_name=$(tr -d '[:space:]' </etc/machine-name)
{% if CloudProviderName == "aws" %}
{# The cloud provider looks for the name that EC2 gave the machine, which Flatcar's metadata agent asks for. #}
elif [ -e /usr/lib/systemd/system/coreos-metadata.service ]; then
  systemctl start coreos-metadata.service
  node_name=$(sed -n 's/^COREOS_EC2_HOSTNAME=//p' /run/metadata/flatcar)
{% endif %}
fi
if [ -z "$node_name" ]; then node_name=$(hostname -f || hostname); fi
{% endif %}

printf 'KUBELET_NODE_IP=%s\nKUBELET_HOSTNAME=%s\n' "$node_ip" "$node_name" >/etc/kubernetes/node.env.part
mv -f /etc/kubernetes/node.env.part /etc/kubernetes/node.env
