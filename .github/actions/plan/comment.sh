#!/usr/bin/env bash
# Keep one comment with the plan on the pull request. Fails where GitHub refuses, except that a pull request from a fork
# may not be commented on with the token that GitHub gives for it.
set -euo pipefail
# shellcheck source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

options=("$COMMENT" --name "$NAME" --author "$COMMENT_AUTHOR" --number "$PULL_REQUEST")
[[ $CHANGES != false ]] || options+=(--only-update)
[[ $STRANGER != true ]] || options+=(--allow-forbidden)
logged "$BIN/osm-gitops" comment "${options[@]}"
