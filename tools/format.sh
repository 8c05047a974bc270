#!/usr/bin/env bash
# Formats every C file with the tree's .clang-format; with --check only says which would change.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.c' '*.h' '*.cc')
if [ "${1:-}" = --check ]; then
    printf '%s\0' "${files[@]}" | xargs -0 -n 200 -P "$(nproc)" clang-format --dry-run -Werror
    echo "${#files[@]} files formatted as agreed"
else
    clang-format -i "${files[@]}"
fi
