{# NetworkManager keeps no ifcfg files any more: the connection of the default route is changed by its own tool. #}
{% if contains("IPv6", NetworkIPFamily) %}
interface=$(ip -o route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
if [ -z "$interface" ]; then
  interface=$(ip -o -6 route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
fi
connection=$(nmcli --get-values GENERAL.CONNECTION device show "$interface")
if [ "$(nmcli --get-values ipv6.method connection show "$connection")" = disabled ] ||
  [ "$(nmcli --get-values ipv6.method connection show "$connection")" = ignore ]; then
  nmcli connection modify "$connection" ipv6.method auto
  nmcli device reapply "$interface"
fi
{% endif %}
