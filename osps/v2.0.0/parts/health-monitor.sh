#!/bin/bash
# health-monitor kubelet|containerd: restarts the service when it runs but has not answered three times in a row.
set -uo pipefail

case "${1:-}" in
  kubelet)
    {# It serves nothing before its first certificate, for which it may wait as long as it takes. #}
    answers() {
      [ ! -e /var/lib/kubelet/kubeconfig ] ||
        curl --silent --fail --noproxy '*' --max-time 10 --output /dev/null http://127.0.0.1:10248/healthz
    }
    ;;
  containerd)
    answers() { timeout 60 /opt/bin/crictl --timeout 50s info >/dev/null; }
    ;;
  *)
    echo "usage: health-monitor kubelet|containerd" >&2
    exit 64
    ;;
esac

failures=0
while sleep 20; do
  if ! systemctl is-active --quiet "$1.service" || answers; then
    failures=0
    continue
  fi
  failures=$((failures + 1))
  echo "$1 does not answer ($failures of 3)" >&2
  if [ "$failures" -ge 3 ]; then
    systemctl restart "$1.service"
    failures=0
    sleep 120
  fi
done
