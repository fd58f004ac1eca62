#!/usr/bin/env bash
# The demo: a fresh config repo in .demo/fleet with the fleet beside this script, its plan and its
# first commit, then a change and the plan of that. Touches nothing outside .demo/.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
demo=${OSM_GITOPS_DEMO:-$(cd "$here/../.." && pwd)/.demo}
# The credentials of this fleet are made up, so its Secrets may lie in git in clear.
export OSM_GITOPS_DANGEROUSLY_PLAINTEXT_SECRETS=true
# The demo's commits are its own: no user name, hook or signing key of this machine.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@example.com
export GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@example.com

say() { printf '\n\033[1m» %s\033[0m\n' "$*"; }
run() {
  say "$*"
  "$@"
}

rm -rf "$demo"
mkdir -p "$demo/fleet"
cd "$demo/fleet"
cp -r "$here"/{osm-gitops.yaml,osps,prod-eu,edge-lab,dev} .
git init --quiet --initial-branch main
git add .
git commit --quiet --message "Demo fleet"

run osm-gitops render --cluster dev --to "$demo/rendered"
run osm-gitops plan
run osm-gitops apply --yes
run git log --stat --max-count 1

say "Now somebody raises the kubelet of pool general and the profile's inotify limit"
sed -i.before 's/kubelet: 1.34.2/kubelet: 1.35.0/' prod-eu/pools.yaml
sed -i.before -e 's/= 1048576/= 2097152/' -e 's/version: v1.0.0/version: v1.1.0/' osps/demo-ubuntu.yaml
rm prod-eu/pools.yaml.before osps/demo-ubuntu.yaml.before
git commit --quiet --all --message "Kubelet 1.35 for prod-eu, more inotify watches"
run osm-gitops plan

say "The repo is in $demo/fleet; the one cluster rendered without git is in $demo/rendered"
