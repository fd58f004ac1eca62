{# Amazon's own package, the last that there is for Amazon Linux 2; newer images have its repository switched on. #}
{% from "quoting" import quoted %}
{% if not value("repositories.amzn2", {}) %}
if command -v amazon-linux-extras >/dev/null; then
  amazon-linux-extras enable docker >/dev/null || true
fi
{% endif %}
retry yum_anew install {{ quoted("containerd-" + value("versions.containerd", "1.7") + "*") }}
