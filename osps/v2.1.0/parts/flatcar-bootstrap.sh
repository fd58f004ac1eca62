{# Ignition's way: the document goes where Ignition looks on the first boot, and the next boot is made the first. #}
{% include "bootstrap-begin.sh" %}
{% if CloudProviderName == "vmware-cloud-director" %}
{% include "vcloud-network.sh" %}
{% endif %}
{# Beside the partition nobody would find the document: the machine would boot into this script for ever. #}
oem=/usr/share/oem
if [ -d /oem ]; then oem=/oem; fi
mountpoint --quiet "$oem" || mount /dev/disk/by-label/OEM "$oem"

{# A machine whose Ignition gets no whole document never boots again. #}
fetch_config() {
  /opt/bin/fetch-secret {{ SecretName }} cloud-config "$oem/config.new" &&
    jq --exit-status .ignition.version "$oem/config.new" >/dev/null
}
retry fetch_config
mv -f "$oem/config.new" "$oem/config.ign"
{#
  The power may fail between any two of these. A boot without a machine ID applies presets, by which Ignition's services
  start; until everything is written this service has its unit and would begin again.
#}
rm -f /etc/machine-id
mkdir -p /boot/flatcar
touch /boot/flatcar/first_boot
sync
systemctl disable bootstrap.service
rm -f /etc/systemd/system/bootstrap.service
sync
systemctl reboot
