#!/usr/bin/env bash
# Formats every C file with the tree's .clang-format; with --check only says which would change.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.c' '*.h' '*.cc')
if [ "${1:-}" = --check ]; then
    clang-format --dry-run -Werror "${files[@]}"
    echo "${#files[@]} files formatted as agreed"
else
    clang-format -i "${files[@]}"
fi
