# Shared by scripts/run and scripts/test: configure and build a preset, only as far as needed.
# shellcheck shell=bash

# One build of a directory at a time: holds a lock until the calling shell closes descriptor 8.
lock_build_dir() {
  mkdir -p "$1"
  exec 8>"$1/.lock"
  flock 8
}

unlock_build_dir() { exec 8>&-; }

# configure <root> <preset> <binary dir>: does nothing where that was done before for this clone
# (ninja configures again by itself when the build files change).
configure() {
  local root=$1 preset=$2 dir=$3 fresh=()
  if [[ -f $dir/build.ninja ]] &&
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt" 2>/dev/null; then
    return 0
  fi
  if [[ -f $dir/CMakeCache.txt ]]; then fresh=(--fresh); fi
  (cd "$root" && cmake --preset "$preset" "${fresh[@]}" -B "$dir") </dev/null >&2
}

# build <binary dir> [targets]: quiet when there is nothing to do.
build() {
  local dir=$1
  shift
  # grep fails when it has printed nothing, which is not a failure of the build.
  NINJA_STATUS='[%f/%t] ' ninja -C "$dir" -j "$(nproc)" "$@" </dev/null 2>&1 |
    { grep -v -e '^ninja: Entering directory' -e 'Re-checking globbed directories' -e '^ninja: no work to do' || true; } >&2
}
