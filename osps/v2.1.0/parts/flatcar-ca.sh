{# Flatcar's update-ca-certificates reads what lies among the certificates themselves. #}
{% if trim(HostCACert) %}
cat >/etc/ssl/certs/host-ca.pem <<'END'
{{ trim(HostCACert) }}
END
update-ca-certificates
{% endif %}
