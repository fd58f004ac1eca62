{#
  Flatcar's own cloud-init reads the second stage from a file; it knows no runcmd, hence units. It runs again at each
  boot with the user-data, therefore what is complete must say so.
#}
{% include "bootstrap-begin.sh" %}
{% if NetworkConfig and NetworkConfig.IsStaticIPConfig %}
{# The file of the network came after systemd-networkd had started. #}
systemctl restart systemd-networkd.service
{% endif %}
config=/run/provisioning/cloud-config
cloud_init=$(command -v coreos-cloudinit || command -v flatcar-cloudinit)

apply_config() {
  /opt/bin/fetch-secret {{ SecretName }} cloud-config "$config" &&
    [ "$(head -n 1 "$config")" = "#cloud-config" ] &&
    "$cloud_init" --from-file="$config" &&
    [ -x /opt/bin/setup ]
}
retry apply_config
rm -f "$config"
sync
touch /etc/bootstrap-complete
systemctl disable bootstrap.service
