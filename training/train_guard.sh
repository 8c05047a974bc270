#!/bin/sh
# The English guard after its adapters are there: the linear jailbreak model, the fusion, what 0.7 means, the licences, system
# prompts and long texts (these after train_multilingual.sh with the same WORK), and the tables of docs/quality that depend on
# them. One command, resumable: a step that ended has a file in WORK/done, and slow steps keep what they read. About an hour on two
# idle cores, then about 40 minutes of tables on one.
#
#   training/train_guard.sh [DATA] [WORK] [--left-out]      --left-out: only measure on families left out, ship nothing
#
# Constants of src/signal/guard/risk.h are not written by these programs: calibrate_system.py and calibrate_long.py print what to
# put there; then remove WORK/done/long and WORK/done/tables and call it again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=${1:-$here/../../shared/data}
work=${2:-$here/.work}
mode=${3:-}
py=$here/.venv-neural/bin/python
mkdir -p "$work/done"
cd "$here"
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive

# step NAME COMMAND...: once
step() {
    name=$1
    shift
    [ -f "$work/done/$name" ] && return 0
    echo "$name"
    "$@"
    touch "$work/done/$name"
}

if [ "$mode" = --left-out ]; then
    step left_out_groups "$py" left_out_groups.py --data "$data" --out "$work/left_out_groups.json"
    step left_out_without "$py" left_out_groups.py --data "$data" --texts --out "$work/left_out_without.json"
    step guard_families "$py" guard_families.py --data "$data" --work "$work/families"
    exit 0
fi
step groups "$py" left_out_groups.py --data "$data" --final "$work/linear" --scores "$work/groups.npz"
step build_before ../tools/build.sh release semroute
step margins "$py" guard_margins.py --trunk ../models/all-MiniLM-L6-v2 --data "$data" --work "$work/guard"
step guard "$py" calibrate_guard.py --data "$data" --work "$work/guard" --scores "$work/groups.npz" --linear "$work/linear" --out "$work/left_out.npz"
step left_out_linear "$py" left_out_linear.py --data "$data" --work "$work/multilingual"
step legal "$py" guard_legal.py --data "$data" --work "$work/legal"
step build_after ../tools/build.sh release semroute
step system "$py" calibrate_system.py --data "$data" --scores "$work/left_out.npz"
step long .venv-torch/bin/python calibrate_long.py --data "$data" --work "$work/long" --second "$work/multilingual"
step longer .venv-torch/bin/python guard_second_longer.py --data "$data" --work "$work/long" --second "$work/multilingual"
step evaluate "$py" evaluate_neural.py --trunk ../models/all-MiniLM-L6-v2 --data "$data"
step card "$py" neural_card.py
step tables ./figures_all.sh "$data"
