#!/usr/bin/env bash
# Install osm-gitops as this revision of the actions has it, with the dependencies that its lock file pins.
# EXTRA: an extra of the package, if any. Output: bin, the folder of its programs; nothing is put on the PATH of other steps.
set -euo pipefail

uv_version=0.13.8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

uv=$(command -v uv || true)
if [[ -z $uv ]]; then
  python3 -m venv "$RUNNER_TEMP/uv"
  "$RUNNER_TEMP/uv/bin/pip" install --quiet --disable-pip-version-check "uv==$uv_version"
  uv=$RUNNER_TEMP/uv/bin/uv
fi
export UV_PROJECT_ENVIRONMENT=$RUNNER_TEMP/osm-gitops
extras=()
[[ -z ${EXTRA:-} ]] || extras=(--extra "$EXTRA")
"$uv" sync --quiet --project "$root" --frozen --no-dev --no-editable "${extras[@]}"
echo "bin=$UV_PROJECT_ENVIRONMENT/bin" >> "$GITHUB_OUTPUT"
