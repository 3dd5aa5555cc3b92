#!/usr/bin/env bash
# Checks the arrows between our own modules (docs/architecture.md): a module includes only what the
# table below lets it. CAF and other third parties are checked by the build, which hides them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# config/defaults.hpp is numbers only, and every module takes its numbers from there.
declare -A may_include=(
  [text]="text"
  [config]="config"
  [messages]="messages"
  [backends]="backends|text"
  [persistence]="persistence|text"
  [actors]="actors|messages|backends|persistence|text|config"
  [frontends]="frontends|messages|config|text"
)
without_caf=(text backends persistence)

failed=0
for module in "${!may_include[@]}"; do
  [[ -d $module ]] || continue
  if grep -rnE --include='*.[ch]pp' '^[ \t]*#[ \t]*include "' "$module" |
    grep -vE "include \"troupe/(${may_include[$module]})/|include \"troupe/config/defaults\.hpp\""; then
    echo "check_includes: $module/ may include only troupe/(${may_include[$module]})/, written in full" >&2
    failed=1
  fi
done
for module in "${without_caf[@]}"; do
  [[ -d $module ]] || continue
  if grep -rnE --include='*.[ch]pp' 'include [<"]caf/' "$module"; then
    echo "check_includes: no CAF in $module/" >&2
    failed=1
  fi
done
exit "$failed"
