#!/usr/bin/env bash
# Plan, and write the step summary, a text that fits into a comment, and whole reports for the artifact.
# Outputs: changes (true or false), reports (a folder), comment (a file). Fails where the plan fails.
set -euo pipefail
# shellcheck source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# A comment takes 65,536 characters. Counted here in bytes; the rest is for the marker and the note.
most_comment_bytes=64000

read_options
drop_empty_keys
note=""
if [[ $WITHOUT_KEYS == auto ]]; then
  # What a stranger wrote never meets a key, however it got here; Dependabot may have one of its own.
  if from_fork || [[ $STRANGER == true && -z ${SOPS_AGE_KEY:-} ]]; then WITHOUT_KEYS=true; fi
fi
if [[ $WITHOUT_KEYS == true ]]; then
  unset SOPS_AGE_KEY OSM_GITOPS_DIGEST_KEY
  options+=(--against "$BASE" --without-keys --untrusted)
  note="This run has no keys. So it compares with \`$BASE\`, not with the desired state, and knows of encrypted values"
  note+=$' only whether they are the same.\n\n'
fi

reports=$(reports_folder)
cut=$(mktemp "$RUNNER_TEMP/osm-gitops-cut.XXXXXX")
plan() {
  "$BIN/osm-gitops" plan "${options[@]}" --detailed-exitcode \
    --output markdown --max-length "$most_comment_bytes" --full-report-at "$(run_page)" \
    --report "$reports/plan.md" --report "$reports/plan.html" --report "$reports/plan.json" \
    > "$cut"
}
code=0
logged plan || code=$?
if [[ ! -s $cut ]]; then
  echo "**osm-gitops plan failed** before there was anything to show. The log of this run says why: <$(run_page)>" > "$cut"
fi

whole=$reports/plan.md
fits_summary "$whole" || whole=$cut
comment=$(mktemp "$RUNNER_TEMP/osm-gitops-comment.XXXXXX")
printf '%s' "$note" | cat - "$cut" > "$comment"
printf '%s' "$note" | cat - "$whole" >> "$GITHUB_STEP_SUMMARY"

{
  echo "reports=$reports"
  echo "comment=$comment"
  case $code in
    0) echo "changes=false" ;;
    2) echo "changes=true" ;;
  esac
} >> "$GITHUB_OUTPUT"
[[ $code == 0 || $code == 2 ]]
