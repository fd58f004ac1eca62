{#
  An https mirror of the site is asked before any package is there: with the CA bundle of the host, in the file that apt
  and curl read. Where ca-certificates is installed it makes that file, now or later, of this certificate too.
#}
{% if trim(HostCACert) and (hasPrefix("https:", value("repositories.ubuntu", "")) or hasPrefix("https:", HTTPProxy or "")) %}
mkdir -p /etc/ssl/certs /usr/local/share/ca-certificates
cat >/usr/local/share/ca-certificates/host-ca.crt <<'END'
{{ trim(HostCACert) }}
END
if command -v update-ca-certificates >/dev/null; then
  update-ca-certificates
else
  cp /usr/local/share/ca-certificates/host-ca.crt /etc/ssl/certs/ca-certificates.crt
fi
{% endif %}
