#!/usr/bin/env bash
# The C++ Actor Framework for this machine: finds an installed one, or a copy built earlier in the
# user's cache, or builds it from the upstream tarball that Debian carries as a source package.
# Used by scripts/setup and by CMake (cmake/TroupeCaf.cmake). Guarantees: the directory named by
# `prefix` exists only when complete; two callers at once build once; nothing else is left behind.
#
#   caf.sh prefix release|tsan   print the directory to be used as CAF_ROOT; fails if there is none
#   caf.sh ensure release|tsan   the same, built first where needed (progress on stderr)
set -euo pipefail

caf_version=0.18.7
caf_sha256=d5c3abe8fd67a729aab1baeece10367637d903ba335f4c79378bcadfbcd34552
caf_source_package=actor-framework
cache_dir="${XDG_CACHE_HOME:-$HOME/.cache}/troupe"

say() { printf '%s\n' "$*" >&2; }
die() {
  say "caf: $*"
  exit 1
}

# One word of /etc/os-release, empty where the file or the word is missing.
os_release() {
  # shellcheck disable=SC1091
  (. /etc/os-release 2>/dev/null && eval "printf %s \"\${$1:-}\"") || true
}

compiler() { printf %s "${CXX:-c++}"; }

# The sanitizer's run time belongs to the compiler, so only that variant is kept per compiler.
cached_prefix() {
  local variant=$1 name
  name="caf-$caf_version-$variant-static-$(os_release ID)$(os_release VERSION_ID)-$(uname -m)"
  if [[ $variant == tsan ]]; then
    # shellcheck disable=SC2046
    if $(compiler) --version 2>/dev/null | grep -qi clang; then name+=-clang; else name+=-gcc; fi
  fi
  printf %s "$cache_dir/$name"
}

# Prints the first prefix among the arguments that holds CAF >= 0.18.7.
installed_prefix() {
  local root file version
  for root in "$@"; do
    [[ -n $root ]] || continue
    for file in "$root"/lib{,64}/cmake/CAF/CAFConfigVersion.cmake \
      "$root"/lib/*/cmake/CAF/CAFConfigVersion.cmake; do
      [[ -f $file ]] || continue
      version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)").*/\1/p' "$file" | head -n 1)
      if [[ $(printf '%s\n' "$caf_version" "$version" | sort -V | head -n 1) == "$caf_version" ]]; then
        printf %s "$root"
        return 0
      fi
    done
  done
  return 1
}

# CAF_ROOT or an installed one serve every build except the one with ThreadSanitizer, which would
# report false races through a CAF it does not see into.
prefix() {
  local variant=$1 found
  if [[ $variant != tsan ]] && found=$(installed_prefix "${CAF_ROOT:-}" /usr/local /usr); then
    printf '%s\n' "$found"
    return 0
  fi
  found=$(cached_prefix "$variant")
  [[ -f $found/lib/cmake/CAF/CAFConfig.cmake ]] || return 1
  printf '%s\n' "$found"
}

# Prints "URI KEYRING" of this machine's own Debian archive, from either form of apt source.
debian_archive() {
  local codename files=()
  codename=$(os_release VERSION_CODENAME)
  shopt -s nullglob
  files=(/etc/apt/sources.list.d/*.sources)
  if ((${#files[@]})); then
    awk -v want="$codename" '
      function flush(  n, i, parts) {
        if (types ~ /deb/ && tolower(enabled) != "no") {
          n = split(suites, parts, /[ \t]+/)
          for (i = 1; i <= n; i++)
            if (parts[i] == want || parts[i] ~ /^(stable|testing|unstable|sid)$/) {
              split(uris, parts, /[ \t]+/); print parts[1], (key ~ /^\// ? key : ""); exit
            }
        }
        types = uris = suites = key = enabled = ""
      }
      /^[ \t]*$/ || FNR == 1 { flush() }
      /^#/ { next }
      { value = $0; sub(/^[^:]*:[ \t]*/, "", value) }
      /^Types:/ { types = value } /^URIs:/ { uris = value } /^Suites:/ { suites = value }
      /^Signed-By:/ { key = value } /^Enabled:/ { enabled = value }
      END { flush() }' "${files[@]}" | grep -m 1 . && return 0
  fi
  files=(/etc/apt/sources.list /etc/apt/sources.list.d/*.list)
  cat "${files[@]}" 2>/dev/null | awk -v want="$codename" '
    $1 == "deb" {
      key = ""
      if (match($0, /signed-by=[^] ,]+/)) key = substr($0, RSTART + 10, RLENGTH - 10)
      sub(/^deb[ \t]+(\[[^]]*\][ \t]+)?/, "")
      if ($2 == want || $2 ~ /^(stable|testing|unstable|sid)$/) { print $1, key; exit }
    }' | grep -m 1 .
}

# Leaves the verified tarball in the cache and prints its path.
fetch_tarball() {
  local work=$1 tarball="$cache_dir/$caf_source_package-$caf_version.tar.gz" uri keyring apt found
  if [[ -f $tarball ]] && echo "$caf_sha256  $tarball" | sha256sum --check --status; then
    printf %s "$tarball"
    return 0
  fi
  command -v apt-get >/dev/null ||
    die "no apt-get here: install CAF >= $caf_version and set CAF_ROOT, or configure with" \
      "-DTROUPE_FETCH_CAF=ON"
  read -r uri keyring < <(debian_archive) ||
    die "found no Debian archive among this machine's apt sources; set CAF_ROOT, or configure with" \
      "-DTROUPE_FETCH_CAF=ON"
  [[ -n $keyring ]] || keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  apt="$work/apt"
  mkdir -p "$apt"/{lists/partial,cache/archives/partial,parts,download}
  printf 'deb-src [signed-by=%s] %s experimental main\n' "$keyring" "$uri" >"$apt/sources.list"
  local options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o "Dir::Etc::sourceparts=$apt/parts"
    -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o Acquire::Retries=3
    -o Acquire::Languages=none -o APT::Get::List-Cleanup=0)
  # A mirror may be frozen or late: the date does not matter for a file whose sum we know.
  options+=(-o Acquire::Check-Valid-Until=false)
  ((EUID)) || options+=(-o APT::Sandbox::User=root)
  say "caf: getting the source of $caf_version through apt"
  apt-get -q=2 "${options[@]}" update >&2 || die "apt could not read the experimental suite of $uri"
  (cd "$apt/download" &&
    apt-get -q=2 "${options[@]}" source --download-only --tar-only "$caf_source_package" >&2) ||
    die "apt could not get the source of $caf_source_package from $uri"
  found=$(find "$apt/download" -name '*.orig.tar.*' -print -quit)
  echo "$caf_sha256  $found" | sha256sum --check --status ||
    die "${found##*/} is not the tarball of CAF $caf_version (SHA-256 differs)"
  mv "$found" "$tarball"
  printf %s "$tarball"
}

# Shows every tenth part of a ninja run; the log has all of it.
show_progress() {
  awk '
    match($0, /^\[[0-9]+\/[0-9]+\]/) {
      split(substr($0, 2, RLENGTH - 2), n, "/"); part = int(10 * n[1] / n[2])
      if (part != last) { printf "caf: %d%% (%d of %d)\n", 10 * part, n[1], n[2]; fflush(); last = part }
    }' >&2
}

build() {
  local variant=$1 target tarball work log flags="-include cstdint" options=()
  target=$(cached_prefix "$variant")
  work=$(mktemp -d "$cache_dir/.work-XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  log="$target.log"
  tarball=$(fetch_tarball "$work")
  mkdir "$work/source"
  tar -xf "$tarball" -C "$work/source" --strip-components=1
  [[ $variant != tsan ]] || flags+=" -fsanitize=thread -g1"
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  say "caf: building $caf_version ($variant) once for this machine, a few minutes; log: $log"
  {
    CXXFLAGS='' cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_COMPILER="$(compiler)" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_INSTALL_LIBDIR=lib \
      -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCAF_ENABLE_IO_MODULE=ON \
      -DCAF_ENABLE_OPENSSL_MODULE=ON -DCAF_ENABLE_EXAMPLES=OFF -DCAF_ENABLE_TOOLS=OFF \
      -DCAF_ENABLE_TESTING=OFF "${options[@]}" &&
      cmake --build "$work/build" --parallel "$(nproc)" &&
      cmake --install "$work/build" --prefix "$work/install"
  } </dev/null 2>&1 | tee "$log" | show_progress || {
    tail -n 40 "$log" >&2
    die "the build of CAF $caf_version failed; the whole log is $log"
  }
  rm -rf "$target"
  mv "$work/install" "$target"
}

ensure() {
  local variant=$1
  if prefix "$variant"; then return 0; fi
  mkdir -p "$cache_dir"
  exec 9>"$cache_dir/.caf.lock"
  flock --nonblock 9 || {
    say "caf: another build of it is under way, waiting"
    flock 9
  }
  if prefix "$variant"; then return 0; fi
  rm -rf "$cache_dir"/.work-* # of a build that was killed: nobody else holds the lock
  build "$variant" 9>&9
  prefix "$variant"
}

case "${1:-} ${2:-}" in
"prefix release" | "prefix tsan") prefix "$2" ;;
"ensure release" | "ensure tsan") ensure "$2" ;;
*) die "usage: caf.sh prefix|ensure release|tsan" ;;
esac
