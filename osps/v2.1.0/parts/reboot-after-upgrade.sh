{#
  A new kernel or C library counts from the next boot on: this service is enabled and goes on there. Once only, so
  that a machine that always asks for another boot gets to its end.
#}
if [ ! -e /etc/upgrade-complete ]; then
  upgrade
  touch /etc/upgrade-complete
  if needs_reboot; then
    systemctl reboot
    exit 0
  fi
fi
