#!/usr/bin/env bash
# The demo: a fresh config repo in .demo/fleet with the fleet beside this script, its plan, what
# explains it, and its first commits; then four things that happen to a fleet, each with its plan.
# Touches nothing outside .demo/ (or the folder in OSM_GITOPS_DEMO).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
demo=${OSM_GITOPS_DEMO:-$(cd "$here/../.." && pwd)/.demo}
# The demo's commits are its own: no user name, hook or signing key of this machine.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@example.com
export GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@example.com
unset "${!OSM_GITOPS_@}" "${!SOPS_@}"
export SOPS_AGE_KEY_FILE=$here/age.key

bold='' plain=''
if [[ -t 1 && -z ${NO_COLOR-} ]]; then bold=$'\033[1m' plain=$'\033[0m'; fi

say() { printf '\n%s» %s%s\n' "$bold" "$*" "$plain"; }
run() {
  printf '%s$ %s%s\n' "$bold" "$*" "$plain"
  "$@"
}
# A part of what a command prints, chosen by a script of sed.
part() {
  local script=$1
  shift
  printf "%s$ %s | sed -n '%s'%s\n" "$bold" "$*" "$script" "$plain"
  "$@" | sed -n "$script"
}
# apply prints the plan that it carries out; it was on the screen a moment ago.
apply() {
  printf '%s$ osm-gitops apply --yes%s\n' "$bold" "$plain"
  osm-gitops apply --yes >"$demo/apply.log"
}
# In-place edits that GNU's and BSD's sed both understand; an edit that changes nothing is a mistake.
edit() {
  local file=$1 before
  shift
  before=$(cat "$file")
  sed -i.before "$@" "$file"
  rm "$file.before"
  [[ $(cat "$file") != "$before" ]] || { echo "$file was not changed" >&2 && exit 1; }
}
commit() { git commit --quiet --all --message "$1"; }

rm -rf "$demo"/{fleet,rendered,apply.log}
mkdir -p "$demo/fleet"
cd "$demo/fleet"
cp -r "$here"/{osm-gitops.yaml,.sops.yaml,osps,overlays,prod-eu,edge-lab,dev} .
git init --quiet --initial-branch main
git add .
commit "Demo fleet"

say "One cluster, rendered into a plain folder."
run osm-gitops render --cluster dev --to "$demo/rendered"
run find "$demo/rendered" -type f

say "The fleet: seven pools in three clusters, nothing of it in git yet."
run osm-gitops plan
say "Pool kiosk has a built-in profile. Why this one, and where its values come from: an overlay for a lab without the internet."
part '/^Profile/,/^$/p; /^Values/,/^$/{/default$/d; /./p;}' osm-gitops explain kiosk
say "Which hosts its nodes contact while they boot, and which files amd64 nodes fetch."
part '/^Hosts/,/^$/p; /^URLs/,/^$/{/arm64/d; s/ *amd64 .*//; /./p;}' osm-gitops explain kiosk --downloads
say "Apply it: one commit per cluster. (apply prints the plan again; the demo writes it to apply.log.)"
apply
run git log --oneline --stat --max-count 1
say "Secrets are encrypted in git. sops and Flux can decrypt these files; names and labels stay readable."
part '1,/^sops/p' cut -c 1-100 clusters/dev/worker/secrets/playground-kube-system-bootstrap-config.yaml

say "1. The registry password is rotated and a setting changes. Operating System Manager would not update any pool."
cp "$here/rotated/secrets.yaml" prod-eu/
edit overlays/prod-eu/overlay.yaml 's/pause:3.10/pause:3.10.1/'
commit "Rotate the registry password, take a newer pause image"
run osm-gitops plan
apply

say "2. Pool general gets a newer kubelet, and a patch of its built-in profile changes a file. Pool build is removed."
edit prod-eu/general.yaml 's/kubelet: 1.34.2/kubelet: 1.35.0/'
edit overlays/prod-eu/overlay.yaml 's/max_map_count = 262144/max_map_count = 1048576/'
git rm --quiet prod-eu/build.yaml
commit "Kubelet 1.35 and more memory maps for general, no more pool build"
run osm-gitops plan
apply

say "3. A mistake: a profile reads a field that does not exist. validate finds it in CI. In a plan its pool fails, and other pools continue."
edit osps/demo-flatcar.yaml 's/\.KubeVersion/.KubeVersoin/'
edit dev/playground.yaml 's/kubelet: 1.35.0/kubelet: 1.36.1/'
run osm-gitops validate osps --severity error || echo "(exit code $?)"
run osm-gitops plan || echo "(exit code $?)"
git checkout --quiet .

say "4. Nothing changes, so nothing is written."
run osm-gitops plan

say "The repo is in $demo/fleet, the one cluster rendered without git in $demo/rendered."
