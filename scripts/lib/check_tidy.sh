#!/usr/bin/env bash
# Runs clang-tidy over our sources (the tests are left to the compiler's warnings), as many at a
# time as there are cores. A file that was clean is not looked at again until it, a header of ours
# that it includes, its compile command, the configuration or clang-tidy changes: the results are
# kept by content in the user's cache, so that every clone shares them. Needs a finished build of
# the given directory (for the dependencies).
#
#   check_tidy.sh <binary dir>
set -euo pipefail

deciding=14 # as in check_format.sh: findings of other versions are shown, and pass
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
build_dir=$(cd "$1" && pwd -P)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/troupe/tidy"
tool=$(command -v "clang-tidy-$deciding" || command -v clang-tidy) || {
  echo "check_tidy: there is no clang-tidy here (scripts/setup --test installs it)" >&2
  exit 1
}
version=$("$tool" --version | grep -m 1 version)
work="$build_dir/tidy"
rm -rf "$work"
mkdir -p "$cache" "$work"
find "$cache" -type f -mtime +30 -delete

# clang-tidy cannot read another compiler's precompiled headers: every file is looked at without.
sed -E 's# -Xclang -include-pch -Xclang [^ ]*cmake_pch[^ ]* -Xclang -include -Xclang [^ ]*cmake_pch[^ ]*##g; s# -include [^ ]*cmake_pch\.hxx##g; s# -fpch-preprocess##g; s# -Winvalid-pch##g; s# -Xclang -fno-pch-timestamp##g' \
  "$build_dir/compile_commands.json" >"$work/compile_commands.json"

# "<object> <file of ours>" for every file that the compiler read from this tree.
ninja -C "$build_dir" -t deps | awk -v tree="$build_dir/include/troupe/" -v root="$root/" '
  /^[^ ].*: #deps/ { object = $1; sub(/:$/, "", object); next }
  /^ / { if (index($1, tree) == 1) print object, root substr($1, length(tree) + 1)
         else if (index($1, root) == 1 && index($1, "/cmake_pch") == 0) print object, $1
         else if (substr($1, 1, 1) != "/") next }' | sort -u >"$work/deps"

# "<source> <object>" for each of our sources once.
awk -v root="$root/" -v build="$build_dir/" '
  /"command":/ { command = $0 }
  /"file":/ {
    file = $0; sub(/.*"file": "/, "", file); sub(/".*/, "", file)
    if (index(file, root) != 1 || index(file, build) == 1 || seen[file]++) next
    if (index(file, root "tests/") == 1) next
    match(command, / -o [^ ]+/); print file, substr(command, RSTART + 4, RLENGTH - 4)
  }' "$work/compile_commands.json" >"$work/sources"

tidy_one() {
  local source=$1 object=$2 key
  key=$({
    echo "$version"
    cat "$root/.clang-tidy" "$source"
    grep -F -- "-c $source\"" "$work/compile_commands.json" | sed "s#$build_dir#B#g; s#$root#S#g"
    awk -v o="$object" '$1 == o { print $2 }' "$work/deps" | xargs -r cat
  } | sha256sum | cut -d ' ' -f 1)
  [[ ! -e $cache/$key ]] || return 0
  if "$tool" --quiet -p "$work" --header-filter='/include/troupe/' "$source" >"$work/$key.out" 2>"$work/$key.err"; then
    : >"$cache/$key"
  else
    printf -- '-- %s\n' "${source#"$root"/}" >&2
    cat "$work/$key.out" >&2
    grep -E 'error:' "$work/$key.err" >&2 || true
    return 1
  fi
}
export -f tidy_one
export version root build_dir cache tool work

status=0
xargs -r -P "$(nproc)" -n 2 bash -c 'tidy_one "$@"' tidy <"$work/sources" || status=$?
rm -rf "$work"
((status == 0)) || {
  echo "check_tidy: clang-tidy has findings" >&2
  [[ $version != *"version $deciding."* ]]
}
