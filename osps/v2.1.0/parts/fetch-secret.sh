#!/bin/bash
# fetch-secret SECRET KEY FILE: one value of a Secret of this cluster, written whole or not at all.
{#
  The token goes to curl by standard input, so that no list of processes shows it. The answer is taken apart with
  sed: values are base64, and quotes inside other values are escaped, so `"key": "…"` occurs once. No jq, no python:
  neither is on every image, and there may be nowhere to get them from.
#}
{% from "quoting" import quoted %}
set -euo pipefail
umask 077
secret=$1 key=$2 file=$3

(umask 022 && mkdir -p "$(dirname "$file")")
answer=$(mktemp "$file.XXXXXX")
trap 'rm -f "$answer" "$answer.value"' EXIT

url={{ quoted(ServerURL) }}/api/v1/namespaces/cloud-init-settings/secrets/$secret
curl --config - --output "$answer" "$url" <<'END' || { echo "cannot fetch $key from $url" >&2 && exit 1; }
fail
silent
show-error
globoff
connect-timeout = 10
max-time = 60
{% if value("apiServer.insecureSkipTLSVerify", false) %}
insecure
{% elif trim(KubernetesCACert) %}
cacert = /etc/kubernetes/pki/ca.crt
{% endif %}
header = "Accept: application/json"
header = "Authorization: Bearer {{ trim(Token) }}"
END

sed -n 's|.*"'"$key"'": *"\([A-Za-z0-9+/=]*\)".*|\1|p' "$answer" | base64 -d >"$answer.value"
if [ ! -s "$answer.value" ]; then
  echo "there is no $key in Secret $secret" >&2
  exit 1
fi
mv -f "$answer.value" "$file"
