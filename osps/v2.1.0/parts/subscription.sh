{#
  cloud-init registers with Red Hat or a Satellite on the first boot, but knows no proxy and tries once. What is not
  registered by now is registered again, by cloud-init's module, which alone has name and password.
#}
{% from "quoting" import quoted %}
{% if HTTPProxy %}
{% set proxy = urlParse(HTTPProxy) %}
{% set user = splitn(":", 2, proxy.userinfo) %}
{% set port = trimPrefix(":", regexFind(":[0-9]+$", proxy.host)) %}
subscription-manager config \
{% if NoProxy %}
  --server.no_proxy={{ quoted(NoProxy) }} \
{% endif %}
  --server.proxy_scheme={{ quoted(proxy.scheme) }} \
  --server.proxy_hostname={{ quoted(proxy.hostname) }} \
  --server.proxy_port={{ quoted(port or ternary("443", "80", eq(proxy.scheme, "https"))) }}
{% if index(user, "_0") %}
{# Not by the tool, whose arguments are in the list of processes. #}
sed -i -E -e '/^proxy_(user|password)[[:space:]]*=/d' -e '/^\[server\]/r /dev/stdin' /etc/rhsm/rhsm.conf <<'END'
proxy_user = {{ index(user, "_0") }}
proxy_password = {{ index(user, "_1") }}
END
{% endif %}
{% endif %}
{% if RhelConfig.RHELSubscriptionManagerUser or RhelConfig.RHELUseSatelliteServer %}
register() {
  subscription-manager identity >/dev/null 2>&1 || {
    cloud-init single --name rh_subscription --frequency always
    subscription-manager identity
  }
}
retry register
{% endif %}
