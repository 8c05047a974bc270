#!/usr/bin/env bash
# analyze.sh [--full]: clang-tidy (.clang-tidy) over the product's sources; any finding fails. The path-sensitive
# analyzer takes seconds a file: without --full it runs over the folders that read bytes of strangers only, and the
# other files get clang's warnings and the syntactic checks.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/build.sh release sr_proto # the headers that protoc-c makes
mapfile -t deep < <(git ls-files 'src/json/*.c' 'src/net/*.c' 'src/store/*.c' 'src/dialect/*.c' 'src/translate/*.c' 'src/config/bind/*.c' \
    'src/model/safetensors*.c' 'src/text/utf8.c')
mapfile -t all < <(git ls-files 'src/*.c' 'bench/*.c')
[ "${1-}" != --full ] || deep=("${all[@]}")
mapfile -t quick < <(printf '%s\n' "${all[@]}" | grep -vxFf <(printf '%s\n' "${deep[@]}") || true)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

tidy() { # CHECKS FILE...
    local checks=$1
    shift
    [ $# -gt 0 ] || return 0
    if ! printf '%s\0' "$@" | xargs -0 -n 4 -P "$(nproc)" clang-tidy -p build --quiet --checks="$checks" \
        --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*' >"$log" 2>/dev/null; then
        grep -E 'error|warning|note' "$log" >&2
        exit 1
    fi
}

tidy '' "${deep[@]}"
tidy '-clang-analyzer-*' "${quick[@]}"
echo "${#deep[@]} files analyzed, ${#quick[@]} checked, nothing found"
