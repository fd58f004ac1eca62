{#
  VMware Cloud Director hands static addresses over in the OVF environment, one set of properties for each interface.
  Interfaces are matched by their hardware address, as nobody can foretell their names. Only the primary one has a
  gateway and name servers; the others reach what their own network holds. Where there is no such environment the
  machine has its addresses by DHCP: without them, the environment may only be late.
#}
ovf=$(PATH=$PATH:/oem/bin:/usr/share/oem/bin vmtoolsd --cmd 'info-get guestinfo.ovfEnv') ||
  [ -n "$(ip -o route show default)" ]
property() { sed -n "s/.*oe:key=\"vCloud_$1\" oe:value=\"\([^\"]*\)\".*/\1/p" <<<"$ovf"; }
prefix() { # NETMASK
  local octet bits=0
  for octet in ${1//./ }; do
    while [ "$octet" -gt 0 ]; do
      bits=$((bits + octet % 2)) octet=$((octet / 2))
    done
  done
  echo "$bits"
}

primary=$(property primaryNic)
count=$(property numnics)
mkdir -p /etc/systemd/network
for ((nic = 0; nic < count; nic++)); do
  if [ "$(property "bootproto_$nic")" != static ]; then continue; fi
  {
    printf '[Match]\nType=ether\nMACAddress=%s\n\n' "$(property "macaddr_$nic")"
    printf '[Network]\nDHCP=no\nAddress=%s/%s\n' "$(property "ip_$nic")" "$(prefix "$(property "netmask_$nic")")"
    if [ "$nic" = "$primary" ]; then
      printf 'Gateway=%s\n' "$(property "gateway_$nic")"
      for server in $(property "dns1_$nic") $(property "dns2_$nic"); do printf 'DNS=%s\n' "$server"; done
    fi
  } >"/etc/systemd/network/10-vcloud-$nic.network"
done
systemctl restart systemd-networkd.service
