{#
  The environment of this machine, set before anything asks the network: services read it from
  /etc/environment, this script and what it starts have it exported. Lines of an earlier run are replaced.
  The file is renamed into place: some images have a link there that leads to a read-only file.
#}
{% from "quoting" import quoted %}
{% if HTTPProxy or NoProxy %}
kept=$(grep -sviE '^(https?|no)_proxy=' /etc/environment || true)
fresh=$(mktemp /etc/.environment.XXXXXX)
{
  if [ -n "$kept" ]; then
    echo "$kept"
  fi
{% if HTTPProxy %}
{% for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] %}
  echo {{ name }}={{ quoted(HTTPProxy) }}
{% endfor %}
{% endif %}
{% if NoProxy %}
  echo NO_PROXY={{ quoted(NoProxy) }}
  echo no_proxy={{ quoted(NoProxy) }}
{% endif %}
} >"$fresh"
chmod 644 "$fresh"
mv -f "$fresh" /etc/environment || echo "cannot write /etc/environment" >&2
{% if HTTPProxy %}
{% for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] %}
export {{ name }}={{ quoted(HTTPProxy) }}
{% endfor %}
{% endif %}
{% if NoProxy %}
export NO_PROXY={{ quoted(NoProxy) }}
export no_proxy={{ quoted(NoProxy) }}
{% endif %}

{% endif %}
