#!/bin/bash
# Runs before each start of the kubelet: what it needs of the kernel, and which addresses and name it has.
set -euo pipefail
{% include "retry.sh" %}

modprobe -a overlay br_netfilter nf_conntrack
# only kube-proxy's ipvs mode uses these
modprobe -a ip_vs ip_vs_rr ip_vs_wrr ip_vs_sh || echo "there is no ip_vs in this kernel" >&2
sysctl --quiet --load=/etc/sysctl.d/99-kubernetes.conf

# some providers switch swap on at every boot
swapoff -a
if [ -f /etc/fstab ]; then
  sed -i -E 's/^([^#[:space:]]+[[:space:]]+[^[:space:]]+[[:space:]]+swap([[:space:]]|$))/#\1/' /etc/fstab
fi

{# Nothing is sent: this only asks the kernel which source address it would use. #}
address() { # -4|-6 DESTINATION
  local found
  found=$(ip -o "$1" route get "$2" | sed -n 's/.* src \([^ ]*\).*/\1/p')
  [ -n "$found" ] && echo "$found"
}

{% if NetworkIPFamily == "IPv6" %}
node_ip=$(retry address -6 2001:db8::1)
{% elif NetworkIPFamily == "IPv4+IPv6" %}
ipv4=$(retry address -4 192.0.2.1)
ipv6=$(retry address -6 2001:db8::1)
node_ip=$ipv4,$ipv6
{% elif NetworkIPFamily == "IPv6+IPv4" %}
ipv6=$(retry address -6 2001:db8::1)
ipv4=$(retry address -4 192.0.2.1)
node_ip=$ipv6,$ipv4
{% else %}
node_ip=$(retry address -4 192.0.2.1)
{% endif %}

{% if CloudProviderName == "aws" %}
# the external cloud provider finds a node by the name that EC2 gave it
name=$(hostname -f)
if [ -e /usr/lib/systemd/system/coreos-metadata.service ]; then
  systemctl start coreos-metadata.service
  name=$(sed -n 's/^COREOS_EC2_HOSTNAME=//p' /run/metadata/flatcar)
fi
{% else %}
name=$(hostname -f)
{% endif %}
if [ -s /etc/machine-name ]; then name=$(tr -d '[:space:]' </etc/machine-name); fi

printf 'KUBELET_NODE_IP=%s\nKUBELET_HOSTNAME=%s\n' "$node_ip" "$name" >/etc/kubernetes/node.env.part
mv -f /etc/kubernetes/node.env.part /etc/kubernetes/node.env
