#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS: runs every fuzz target for that long, starting from its kept corpus. New inputs go to
# BUILD/corpus, a crash to BUILD/crashes, and the run fails.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 seconds=$2 targets=0
mkdir -p "$build/crashes"
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    fresh=$build/corpus/$name
    mkdir -p "$fresh"
    log=$build/$name.log
    if ! "$build/tests/$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="$build/crashes/$name-" "$fresh" "tests/fuzz/corpus/${name#fuzz_}" >"$log" 2>&1; then
        tail -40 "$log" >&2
        echo "fuzz: $name failed; the input is under $build/crashes" >&2
        exit 1
    fi
    echo "$name: $(grep -Eo 'Done [0-9]+ runs.*' "$log" | tail -1)"
    targets=$((targets + 1))
done
echo "$targets fuzz targets, no crash"
