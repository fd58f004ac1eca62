{#
  apt asks nothing, keeps configuration files that are there, and waits for the unattended upgrades of a first boot.
  apt_anew COMMAND…   what is retried: a package of which the power left half is completed first, and lists are read
                      again, as apt only warns where some did not come, and a package that is gone stays gone.
  With a mirror, the image's own sources are replaced; Ubuntu has other machines than amd64's in a place of their own.
  A mirror has what Ubuntu signed, unless a value names another keyring of the image.
#}
{% from "quoting" import quoted %}
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1

apt_get() {
  apt-get --yes -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}

apt_anew() {
  dpkg --force-confdef --force-confold --configure -a || echo "apt sees to what dpkg leaves" >&2
  apt_get update && apt_get --fix-broken install && apt_get "$@"
}

# shellcheck source=/dev/null
. /etc/os-release
{% if value("repositories.ubuntu", "") %}
mirror={{ quoted(value("repositories.ubuntu")) }}
keyring={{ quoted(value("repositories.ubuntuKeyring", "/usr/share/keyrings/ubuntu-archive-keyring.gpg")) }}
if [ "$(dpkg --print-architecture)" != amd64 ]; then
  mirror={{ quoted(value("repositories.ubuntuPorts", value("repositories.ubuntu"))) }}
fi
rm -f /etc/apt/sources.list.d/ubuntu.sources
for suite in "$VERSION_CODENAME" "$VERSION_CODENAME-updates" "$VERSION_CODENAME-security"; do
  echo "deb [signed-by=$keyring] $mirror $suite main restricted universe"
done >/etc/apt/sources.list
{% endif %}
