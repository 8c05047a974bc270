#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS [TOTAL]: runs every fuzz target for SECONDS, or for its share of the TOTAL seconds that all
# take together, two at a time, starting from its kept corpus. New inputs go to BUILD/corpus, a crash to
# BUILD/crashes, and the run fails.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 seconds=$2 total=${3:-}
mkdir -p "$build/crashes"

one() { # BUILD SECONDS NAME
    local build=$1 seconds=$2 name=$3
    local fresh=$build/corpus/$name log=$build/$name.log
    mkdir -p "$fresh"
    if ! "$build/tests/$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="$build/crashes/$name-" "$fresh" "tests/fuzz/corpus/${name#fuzz_}" >"$log" 2>&1; then
        tail -40 "$log" >&2
        echo "fuzz: $name failed; the input is under $build/crashes" >&2
        return 1
    fi
    echo "$name: $(grep -Eo 'Done [0-9]+ runs.*' "$log" | tail -1)"
}
export -f one

names=$(basename -s .c tests/fuzz/fuzz_*.c)
if [ -n "$total" ]; then
    seconds=$((2 * total / $(wc -l <<<"$names")))
    [ "$seconds" -gt 0 ] || seconds=1
fi
xargs -P 2 -I{} bash -c 'one "$@"' _ "$build" "$seconds" {} <<<"$names"
echo "$(wc -l <<<"$names") fuzz targets, no crash"
