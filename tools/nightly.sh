#!/usr/bin/env bash
# nightly.sh: what takes too long for .ci/run. Goes on after a failure, writes every step with its time and its
# result to docs/nightly.md, and fails when a step failed. Logs: build/nightly/.
set -uo pipefail
cd "$(dirname "$0")/.."
export MAKEFLAGS=--no-print-directory SEMROUTE_FAULT_ALL=1 SEMROUTE_STORE_OPERATIONS=10000 FUZZ_SECONDS=${FUZZ_SECONDS:-60}
logs=build/nightly
mkdir -p "$logs"
rows=() failures=0

step() { # LOG NAME COMMAND...
    local out=$logs/$1.log name=$2 begin=$SECONDS result=passed
    shift 2
    echo "== $name ($(date -u +%H:%M:%S))"
    if ! "$@" >"$out" 2>&1; then
        result=FAILED
        failures=$((failures + 1))
        tail -40 "$out"
    fi
    local last
    last=$(grep -E '^(100% tests|[0-9]+% tests|[0-9]+ passed|[0-9]+ failed|[0-9]+ fuzz targets|[0-9]+ files)' "$out" | tail -1)
    rows+=("| $name | $((SECONDS - begin)) s | $result | ${last//=/} |")
}

step lint "lint, the whole static analysis" make lint-full
step clang "unit tests, built by clang" make test-clang
step asan "unit tests, address and undefined-behaviour sanitizers, every failed allocation" make test-asan
step tsan "unit tests, all, thread sanitizer" make test-tsan
step door "Envoy's door under load, thread sanitizer" make test-door-tsan
step fuzz "fuzzing, $FUZZ_SECONDS s a target" make fuzz
step soak "mixed traffic, reloads and faults for two minutes" make soak SECONDS=120
step matrix "every combination behind the real Envoy" make test-full
step dynamo "in front of the real Dynamo frontend" make test-dynamo
if [ -d ../shared/data ]; then
    step quality "error rates of the shipped models" make quality
fi
step test "make test, every failed allocation" make test

{
    echo "# The long tests"
    echo
    echo "Written by \`make nightly\`; what each step runs is in \`tools/nightly.sh\`."
    echo
    echo "$(date -u +%Y-%m-%d), commit $(git rev-parse --short=12 HEAD), $(nproc) cores, $(gcc --version | head -1), $(clang --version | head -1)."
    echo
    echo "| Step | Time | Result | The runner's last line |"
    echo "|---|---|---|---|"
    printf '%s\n' "${rows[@]}"
} >docs/nightly.md
cat docs/nightly.md
[ "$failures" -eq 0 ]
