#!/bin/sh
# Everything about the neural classifier and the linear jailbreak model, in order; resumable. About two hours on two idle cores.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=${1:-$here/../../shared/data}
work=${2:-$here/.work}
py=$here/.venv-neural/bin/python
mkdir -p "$work"
cd "$here"
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
[ -f "$work/margins.npz" ] || "$py" train_jailbreak_linear.py --data "$data" --sources --margins "$work/margins.npz"
[ -f "$work/domain.npz" ] || "$py" held_domain.py --data "$data" --out "$work/domain.npz"
"$py" train_neural.py --trunk .venv-neural/trunk --data "$data" --work "$work/neural"
"$py" calibrate_neural.py --trunk .venv-neural/trunk --data "$data" --linear-margins "$work/margins.npz" --linear-domain "$work/domain.npz"
../tools/build.sh release semroute   # its libraries compute the token states
for trunk in english multilingual; do
    "$py" pii_heads.py --trunk $trunk --data "$data" --work "$work/pii" --left-out --write
done
"$py" pii_heads.py --page
./train_guard.sh "$data" "$work"
