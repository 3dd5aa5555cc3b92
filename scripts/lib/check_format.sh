#!/usr/bin/env bash
# Checks that our sources are formatted as .clang-format says; `check_format.sh --fix` formats them.
# Versions of clang-format differ in details, so only the one of Debian 12 (14) decides; another
# one reports and passes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

deciding=14
tool=$(command -v "clang-format-$deciding" || command -v clang-format) || {
  echo "check_format: there is no clang-format here (scripts/setup --test installs it)" >&2
  exit 1
}
mapfile -t files < <(find actors apps backends bench cmake config examples frontends messages \
  persistence tests text \( -name '*.cpp' -o -name '*.hpp' \) 2>/dev/null | sort)
((${#files[@]})) || exit 0

if [[ ${1:-} == --fix ]]; then
  exec "$tool" -i "${files[@]}"
fi
wrong=()
for file in "${files[@]}"; do
  "$tool" --dry-run --Werror "$file" 2>/dev/null || wrong+=("$file")
done
((${#wrong[@]})) || exit 0
"$tool" --dry-run --ferror-limit=1 "${wrong[@]}" >&2 || true
printf 'check_format: not formatted: %s\n' "${wrong[@]}" >&2
echo "check_format: scripts/lib/check_format.sh --fix formats them" >&2
[[ $("$tool" --version) != *"version $deciding."* ]] # fails only with the version that decides
