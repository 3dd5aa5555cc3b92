#!/usr/bin/env bash
# Copies the Node clients of the test suite (tests/mcp) into the build tree and installs the
# packages of their lock file there, so that nothing is written into the sources. Does nothing when
# the installed packages are those of the lock file. CTest runs it before the tests that need it.
#
#   node_packages.sh <source folder> <folder in the build tree>
set -euo pipefail

source_dir=$1
target_dir=$2
mkdir -p "$target_dir"
find "$source_dir" -maxdepth 1 -type f -exec cp -p {} "$target_dir/" \;
cd "$target_dir"
stamp=$(cat package.json package-lock.json | sha256sum)
[[ $(cat node_modules/.stamp 2>/dev/null || true) != "$stamp" ]] || exit 0
export npm_config_cache="${XDG_CACHE_HOME:-$HOME/.cache}/troupe/npm"
npm ci --no-audit --no-fund --ignore-scripts --loglevel=error </dev/null
printf '%s' "$stamp" >node_modules/.stamp
