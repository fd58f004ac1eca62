# shellcheck shell=bash
# What plan.sh, apply.sh and validate.sh share.

# A step summary takes 1 MiB; some of it is for what else stands there.
most_summary_bytes=1000000

# Files that are not committed have not been reviewed. A workflow that writes sources itself sets this to false.
export OSM_GITOPS_REQUIRE_CLEAN=${OSM_GITOPS_REQUIRE_CLEAN:-true}

# The shared inputs as options of osm-gitops, in the array "options".
read_options() {
  options=()
  [[ -z $FLEET ]] || options+=(--fleet "$FLEET")
  local line
  while IFS= read -r line; do
    [[ -z $line ]] || options+=("$line")
  done <<< "$ARGS"
}

# An empty variable is none: a secret that is not set arrives so.
drop_empty_keys() {
  [[ -n ${SOPS_AGE_KEY:-} ]] || unset SOPS_AGE_KEY
  [[ -n ${OSM_GITOPS_DIGEST_KEY:-} ]] || unset OSM_GITOPS_DIGEST_KEY
}

# Whether the tree comes from a pull request of another repository, whatever event this run is for. A fork that is gone
# has no name.
from_fork() {
  [[ -n $PULL_REQUEST && $HEAD_REPOSITORY != "$GITHUB_REPOSITORY" ]]
}

# Run a program whose output may hold anything, scripts of nodes for example: no line of it is a command to the runner.
# All of it goes into one stream, so that it stays between the two marks.
logged() {
  local end code=0
  end=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$end"
  "$@" 2>&1 || code=$?
  echo "::$end::"
  return "$code"
}

# A folder of this step for its reports.
reports_folder() {
  mktemp -d "$RUNNER_TEMP/osm-gitops-reports.XXXXXX"
}

# Whether a report fits into the step summary.
fits_summary() {
  [[ -s $1 ]] && (($(wc -c < "$1") <= most_summary_bytes))
}

# The page of this run, where its summary and its artifacts are.
run_page() {
  echo "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID"
}
