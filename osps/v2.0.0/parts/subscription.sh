{#
  cloud-init registers with Red Hat or a Satellite on the first boot, but knows no proxy and tries once. What is not
  registered by now is registered again, by cloud-init's module, which alone has name and password.
#}
{% from "quoting" import quoted %}
{% if HTTPProxy %}
{% set proxy = urlParse(HTTPProxy) %}
{% set user = splitn(":", 2, get(proxy, "userinfo")) %}
{% set port = regexFind("[0-9]+$", regexFind(":[0-9]+$", get(proxy, "host"))) %}
subscription-manager config \
  --server.proxy_scheme={{ quoted(get(proxy, "scheme")) }} \
  --server.proxy_hostname={{ quoted(get(proxy, "hostname")) }} \
  --server.proxy_port={{ quoted(port or "3128") }} \
{% if NoProxy %}
  --server.no_proxy={{ quoted(NoProxy) }} \
{% endif %}
  --server.proxy_user={{ quoted(get(user, "_0")) }} \
  --server.proxy_password={{ quoted(get(user, "_1") or "") }}
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
