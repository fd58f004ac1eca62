{# What Red Hat's family installs: RHEL, Rocky Linux, Amazon Linux 2. #}
{% from "quoting" import quoted %}
{% if RhelConfig.DistUpgradeOnBoot or RockyLinuxConfig.DistUpgradeOnBoot or AmazonLinuxConfig.DistUpgradeOnBoot %}
upgrade() {
  retry yum_anew install yum-utils
  retry yum_anew upgrade
}
needs_reboot() { ! needs-restarting -r; }
{% include "reboot-after-upgrade.sh" %}
{% endif %}
{#
  Images from release 10 on leave out modules that the network of pods needs. They must be of the kernel that runs;
  where only a later one can be had, the machine boots into it, once.
#}
if ! modprobe --dry-run --quiet br_netfilter; then
  install_modules() {
    yum_anew install "kernel-modules-extra-$(uname -r)" || yum_anew install kernel kernel-modules-extra
  }
  retry install_modules
  if ! modprobe --dry-run --quiet br_netfilter && [ ! -e /etc/kernel-complete ]; then
    touch /etc/kernel-complete
    systemctl reboot
    exit 0
  fi
fi
retry yum_anew install \
  ca-certificates \
  cifs-utils \
  conntrack-tools \
  e2fsprogs \
  ebtables \
  ethtool \
  ipvsadm \
  iptables \
  kmod \
  lvm2 \
  nfs-utils \
  socat \
  tar \
  util-linux \
{% if CloudProviderName == "kubevirt" %}
  qemu-guest-agent \
{% elif CloudProviderName == "vsphere" %}
  open-vm-tools \
{% endif %}
{% for package in value("packages.extra", []) %}
  {{ quoted(package) }} \
{% endfor %}
  xfsprogs
{% if CloudProviderName == "kubevirt" %}
systemctl enable --now --no-block qemu-guest-agent
{% elif CloudProviderName == "vsphere" %}
systemctl enable --now --no-block vmtoolsd
{% endif %}
