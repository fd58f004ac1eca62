#!/bin/bash
set -euo pipefail
{% include "retry.sh" %}
{% include "proxy.sh" %}
{% include "flatcar-ca.sh" %}
{% include "time.sh" %}
{% include "flatcar-updates.sh" %}
{% include "hostname.sh" %}
{% include "binaries.sh" %}

version=$(containerd --version | sed -n 's/.* v\{0,1\}\([0-9][0-9]*\)\.[0-9.]*.*/\1/p')
if [ "${version:-0}" -lt 2 ]; then
  echo "containerd of this Flatcar release is older than 2.0 and cannot read its configuration: use a newer image" >&2
  exit 1
fi
{#
  Docker starts with the first one who opens its socket, and drops what the network of pods forwards. Flatcar's targets
  hold the socket up: only masked it stays down.
#}
systemctl mask --now docker.socket docker.service || echo "there is no Docker to switch off" >&2
{% include "start-node.sh" %}

{% include "flatcar-finish.sh" %}
