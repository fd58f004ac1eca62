{#
  Time servers in place of the image's, which are on the internet. Images have chrony, which takes no comment behind a
  directive, or systemd's own client.
#}
{% from "quoting" import quoted %}
{% if value("time.servers", []) %}
for conf in /etc/chrony.conf /etc/chrony/chrony.conf; do
  if [ -f "$conf" ]; then
    printf 'server %s iburst\n' {% for server in value("time.servers") %}{{ quoted(server) }} {% endfor %}>"${conf%.conf}.servers"
    sed -i -E -e 's/^(pool|server|sourcedir)[[:space:]]/#&/' -e '/^include .*\.servers$/d' "$conf"
    echo "include ${conf%.conf}.servers" >>"$conf"
  fi
done
mkdir -p /etc/systemd/timesyncd.conf.d
cat >/etc/systemd/timesyncd.conf.d/kubernetes.conf <<'END'
[Time]
NTP={{ join(" ", value("time.servers")) }}
FallbackNTP=
END
systemctl try-restart chronyd.service systemd-timesyncd.service || echo "not every image has both time services" >&2
{% endif %}
