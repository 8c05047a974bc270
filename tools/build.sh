#!/usr/bin/env bash
# build.sh PRESET TARGET...: configures when needed, builds, and stays quiet unless something goes wrong. Installs
# nothing: when configuring fails it names the Debian packages that are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
dir=build
[ "$preset" = release ] || dir=build/$preset
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The objects of other checkouts and of other build folders serve here too (cmake/ccache.cmake).
export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}

if [ ! -f "$dir/build.ninja" ] && ! cmake --preset "$preset" >"$log" 2>&1; then
    tools/setup.sh --missing || exit 1
    cat "$log" >&2
    exit 1
fi
if [ -t 1 ]; then
    exec ninja -C "$dir" "$@"
fi
if ! ninja -C "$dir" "$@" >"$log" 2>&1; then
    grep -v '^\[[0-9]*/[0-9]*\] \(Building\|Linking\)' "$log" >&2
    exit 1
fi
