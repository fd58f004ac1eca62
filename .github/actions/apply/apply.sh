#!/usr/bin/env bash
# Commit the desired state and push it, and write what was done into the step summary. Fails where apply fails.
set -euo pipefail
# shellcheck source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

read_options
drop_empty_keys
export GIT_AUTHOR_NAME=$COMMITTER_NAME GIT_AUTHOR_EMAIL=$COMMITTER_EMAIL
export GIT_COMMITTER_NAME=$COMMITTER_NAME GIT_COMMITTER_EMAIL=$COMMITTER_EMAIL

reports=$(reports_folder)
code=0
logged "$BIN/osm-gitops" apply "${options[@]}" --yes --push --report "$reports/applied.md" || code=$?

{
  [[ $code == 0 ]] || printf '**osm-gitops apply failed.** The log of this run says what was not done and why: <%s>\n\n' "$(run_page)"
  if fits_summary "$reports/applied.md"; then
    cat "$reports/applied.md"
  else
    echo "What was to be done is in the log of this run: <$(run_page)>"
  fi
} >> "$GITHUB_STEP_SUMMARY"
exit "$code"
