#!/usr/bin/env bash
# The static analyzer (clang-tidy, checks in .clang-tidy) over the product's sources; any finding fails.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/build.sh release sr_proto # the headers that protoc-c makes
mapfile -t files < <(git ls-files 'src/*.c' 'bench/*.c')
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! printf '%s\0' "${files[@]}" | xargs -0 -n 8 -P 2 clang-tidy -p build --quiet --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*' >"$log" 2>/dev/null; then
    grep -E 'error|warning|note' "$log" >&2
    exit 1
fi
echo "${#files[@]} files analyzed, nothing found"
