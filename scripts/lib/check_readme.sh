#!/usr/bin/env bash
# Checks that the C++ block of README.md is what stands between the `[readme]` markers of
# examples/embed.cpp, which the test suite compiles and runs; `check_readme.sh --fix` copies it over.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

example=$(awk '/^ *\/\/ \[readme\]$/ { inside = !inside; next } inside { sub(/^  /, ""); print }' examples/embed.cpp)
quoted=$(awk '/^```cpp$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md)
[[ -n $example ]] || {
  echo "check_readme: examples/embed.cpp has no [readme] markers" >&2
  exit 1
}
[[ $quoted != "$example" ]] || exit 0
if [[ ${1:-} == --fix ]]; then
  text=$(EXAMPLE=$example awk '/^```cpp$/ { print; print ENVIRON["EXAMPLE"]; inside = 1; next }
    /^```$/ { inside = 0 } !inside' README.md)
  printf '%s\n' "$text" >README.md
  exit 0
fi
diff <(printf '%s\n' "$example") <(printf '%s\n' "$quoted") >&2 || true
echo "check_readme: README.md does not quote examples/embed.cpp (check_readme.sh --fix does)" >&2
exit 1
