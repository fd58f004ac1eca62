#!/usr/bin/env bash
# Validate, and write each finding as an annotation of its line. Needs no key. Fails where validate fails.
set -euo pipefail
# shellcheck source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

read_options
[[ -z $BASE ]] || options+=(--against "$BASE")
if from_fork; then options+=(--untrusted); fi

annotations=$(mktemp "$RUNNER_TEMP/osm-gitops-annotations.XXXXXX")
validate() {
  "$BIN/osm-gitops" validate "${options[@]}" --output github > "$annotations"
}
code=0
logged validate || code=$?

# GitHub looks for files from the root of the repository on. In a property some signs are escaped.
prefix=$(git rev-parse --show-prefix)
prefix=${prefix//%/%25}
prefix=${prefix//:/%3A}
prefix=${prefix//,/%2C}
while IFS= read -r line; do
  if [[ $line =~ ^(::[a-z]+ file=)(.*)$ ]]; then
    line="${BASH_REMATCH[1]}$prefix${BASH_REMATCH[2]}"
  fi
  echo "$line"
done < "$annotations"
[[ $code == 0 ]]
