#!/bin/bash
# health-monitor kubelet|containerd: restarts the service when it runs but has not answered three times in a row,
# and a kubelet that has no certificate yet when there is a newer token to ask for one with.
set -uo pipefail

case "${1:-}" in
  kubelet)
    {#
      It may wait for its first certificate as long as it takes, but it reads its token only when it starts: of a
      token that has expired or was replaced it would never learn.
    #}
    newer_token() {
      /opt/bin/fetch-secret {{ BootstrapKubeconfigSecretName }} kubeconfig /run/kubelet-token/kubeconfig &&
        [ "$(</run/kubelet-token/kubeconfig)" != "$(</etc/kubernetes/bootstrap-kubelet.conf)" ]
    }
    answers() {
      if [ -e /etc/kubernetes/pki/kubelet-client-current.pem ]; then
        curl --silent --fail --noproxy '*' --max-time 10 --output /dev/null http://127.0.0.1:10248/healthz
      elif newer_token; then
        echo "there is a newer bootstrap token: the kubelet starts again" >&2
        systemctl restart kubelet.service
      fi
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
