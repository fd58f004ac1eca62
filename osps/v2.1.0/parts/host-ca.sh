{# The CA bundle of the host, for mirrors, proxies and registries: Debian's folder and tool, or Red Hat's. #}
{% if trim(HostCACert) %}
if command -v update-ca-certificates >/dev/null; then
  anchor=/usr/local/share/ca-certificates/host-ca.crt
  trust="update-ca-certificates"
else
  anchor=/etc/pki/ca-trust/source/anchors/host-ca.pem
  trust="update-ca-trust"
fi
cat >"$anchor" <<'END'
{{ trim(HostCACert) }}
END
"$trust"
{% endif %}
