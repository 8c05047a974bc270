#!/usr/bin/env bash
# build.sh PRESET TARGET: configures when needed, builds, and stays quiet unless something goes wrong.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 target=$2
dir=build
[ "$preset" = release ] || dir=build/$preset
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -f "$dir/build.ninja" ] && ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
if [ -t 1 ]; then
    exec ninja -C "$dir" "$target"
fi
if ! ninja -C "$dir" "$target" >"$log" 2>&1; then
    grep -v '^\[[0-9]*/[0-9]*\] \(Building\|Linking\)' "$log" >&2
    exit 1
fi
