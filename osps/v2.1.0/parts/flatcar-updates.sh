{# Updates of Flatcar as the MachineDeployment wants them: downloaded through the proxy, reboots by locksmithd or not. #}
{% from "quoting" import quoted %}
{% if value("repositories.flatcar", "") %}
mkdir -p /etc/flatcar
kept=$(grep -v '^SERVER=' /etc/flatcar/update.conf || true)
printf '%s\n' "$kept" SERVER={{ quoted(value("repositories.flatcar")) }} >/etc/flatcar/update.conf.part
mv -f /etc/flatcar/update.conf.part /etc/flatcar/update.conf
{% endif %}
{% if FlatcarConfig.DisableAutoUpdate or FlatcarConfig.DisableUpdateEngine %}
systemctl mask --now update-engine.service
{% elif HTTPProxy or value("repositories.flatcar", "") %}
{% if HTTPProxy %}
mkdir -p /etc/systemd/system/update-engine.service.d
cat >/etc/systemd/system/update-engine.service.d/10-proxy.conf <<'END'
[Service]
Environment="ALL_PROXY={{ replace("%", "%%", HTTPProxy) }}"
END
systemctl daemon-reload
{% endif %}
systemctl restart update-engine.service
{% endif %}
{% if FlatcarConfig.DisableAutoUpdate or FlatcarConfig.DisableLocksmithD %}
systemctl mask --now locksmithd.service
{% endif %}
{% if not FlatcarConfig.DisableAutoUpdate %}
{# Flatcar's update operator reboots a drained node as the user core. #}
mkdir -p /etc/polkit-1/rules.d
cat >/etc/polkit-1/rules.d/60-update-operator.rules <<'END'
polkit.addRule(function (action, subject) {
  if (action.id === "org.freedesktop.login1.reboot" || action.id === "org.freedesktop.login1.reboot-multiple-sessions") {
    return subject.user === "core" ? polkit.Result.YES : polkit.Result.AUTH_ADMIN;
  }
});
END
{% endif %}
