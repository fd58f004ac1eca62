{#
  NetworkManager keeps no ifcfg files any more: the connection of the default route is changed by its own tool, and
  only where IPv6 is switched off.
#}
{% if contains("IPv6", NetworkIPFamily) %}
interface=$( (ip -o -4 route show default && ip -o -6 route show default) | sed -n '1s/.* dev \([^ ]*\).*/\1/p')
connection=$(nmcli --get-values GENERAL.CONNECTION device show "$interface")
case $(nmcli --get-values ipv6.method connection show "$connection") in
  disabled | ignore | link-local)
    nmcli connection modify "$connection" ipv6.method auto
    nmcli device reapply "$interface"
    ;;
esac

{% endif %}
