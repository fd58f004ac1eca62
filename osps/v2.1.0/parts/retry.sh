{#
  retry COMMAND…      until it works, waiting longer after each failure, a minute at most. The command is logged: its
                      arguments hold no secret.
  download URL FILE   a file is there whole or not at all: it comes under a name of its own and is renamed.
  `until` switches `set -e` off in functions: what is retried must be one command, a chain with &&, or a script.
#}
retry() {
  local pause=1
  until "$@"; do
    echo "$* failed, next try in ${pause}s" >&2
    sleep "$pause"
    pause=$((pause < 32 ? pause * 2 : 60))
  done
}

download() {
  curl --fail --silent --show-error --location --connect-timeout 10 --max-time 600 \
    --retry 3 --output "$2.part" "$1" || {
    echo "cannot download $1" >&2
    return 1
  }
  mv -f "$2.part" "$2"
}

