#!/usr/bin/env bash
# nightly.sh [STEP...]: what takes too long for .ci/run, as docs/nightly.md describes it; all steps, or those that are
# named. Goes on after a failure, writes every step with its time and its result to build/nightly/report.md, and fails
# when a step failed. Logs: build/nightly/STEP.log.
set -uo pipefail
cd "$(dirname "$0")/.."
export MAKEFLAGS=--no-print-directory SEMROUTE_FAULT_ALL=1 SEMROUTE_STORE_OPERATIONS=10000 FUZZ_SECONDS=${FUZZ_SECONDS:-60}
logs=build/nightly
mkdir -p "$logs"
rows=() failures=0 wanted=" $* " known=" "

step() { # NAME WHAT COMMAND...
    local name=$1 what=$2 out=$logs/$1.log begin=$SECONDS result=passed
    shift 2
    known+="$name "
    [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || return 0
    echo "== $name: $what ($(date -u +%H:%M:%S))"
    if ! "$@" >"$out" 2>&1; then
        result=FAILED
        failures=$((failures + 1))
        tail -40 "$out"
    fi
    local last
    last=$(grep -E '^(100% tests|[0-9]+% tests|[0-9]+ passed|[0-9]+ failed|[0-9]+ fuzz targets|[0-9]+ files|[0-9]+ answers|[0-9]+ times)' "$out" | tail -1)
    rows+=("| \`$name\` | $what | $((SECONDS - begin)) s | $result | ${last//=/} |")
}

step lint "the whole static analysis" make lint-full
step clang "unit tests, built by clang" make test-clang
step asan "unit tests, address and undefined-behaviour sanitizers, every failed allocation" make test-asan
step tsan "unit tests, all, thread sanitizer" make test-tsan
step door "Envoy's door under load, thread sanitizer" make test-door-tsan
step fuzz "fuzzing, $FUZZ_SECONDS s a target" make fuzz
step soak "mixed traffic, reloads and faults for two minutes; workers that join, leave and fail for two" \
    make soak SECONDS=120 POOL_SECONDS=120
step rate "10,000 requests a second that pass through for ten minutes, then 1,000 over workers that join, leave and fail for ten" \
    make rate POOL_SECONDS="${RATE_SECONDS:-600}"
step translate "translation between APIs beside LiteLLM" make bench-translate
step page "the live page under 500 requests a second for a minute" make test-page
step matrix "every combination behind the real Envoy" make test-full
step dynamo "in front of the real Dynamo frontend" make test-dynamo
step dynamo-trace "one trace through Dynamo's KV router and through semroute" make bench-dynamo
if [ -d ../shared/data ]; then
    step quality "error rates of the shipped models" make quality
fi
step test "make test, every failed allocation" make test

for name in "$@"; do
    if [[ $known != *" $name "* ]]; then
        echo "nightly: there is no step \`$name\`; the steps are:$known" >&2
        failures=$((failures + 1))
    fi
done
{
    echo "# The long tests, run $(date -u +%Y-%m-%d)"
    echo
    echo "Commit $(git rev-parse --short=12 HEAD), $(nproc) cores, $(gcc --version | head -1), $(clang --version | head -1)."
    echo
    echo "| Step | | Time | Result | The runner's last line |"
    echo "|---|---|---|---|---|"
    [ ${#rows[@]} -eq 0 ] || printf '%s\n' "${rows[@]}"
} >"$logs/report.md"
cat "$logs/report.md"
[ "$failures" -eq 0 ]
