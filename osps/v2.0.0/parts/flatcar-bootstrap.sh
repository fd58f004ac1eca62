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
mkdir -p /boot/flatcar
touch /boot/flatcar/first_boot
{# A boot without a machine ID applies presets, which would start this service again if it had a unit. #}
systemctl disable bootstrap.service
rm -f /etc/systemd/system/bootstrap.service /etc/machine-id
sync
systemctl reboot
