#!/bin/sh
# All figures of docs/quality/, made again by the built binary from the labelled development files: under 25 minutes on one
# core. Needs python3 alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=${1:-$here/../../shared/data}
if [ ! -d "$data" ]; then
    echo "$data: not there; give the folder of the labelled collections: training/figures_all.sh DIR" >&2
    exit 1
fi
failed=
for part in eval english languages context append obfuscation routing planted response cache; do
    python3 "$here/figures_$part.py" --data "$data" >/dev/null || failed="$failed $part"
    echo "$part: done"
done
python3 "$here/figures_summary.py" --data "$data"
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
