#!/bin/sh
# models/neural-multilingual: adapters and a head for the guard, others for the domain. One command, resumable, about three hours and a
# half on two idle cores with AVX-512 BF16, and 12 GB. Makes training/.venv-torch (torch 2 of PyPI, 5 GB of packages), since Debian's torch has
# no fast bfloat16 here. While left_out/multilingual has log odds by the present CHOICES of multilingual_guard.py, the guard's part is
# not trained: only its mixture with the linear tier is made again. Remove that folder to train it.
#
#   training/train_multilingual.sh [DATA] [WORK]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=${1:-$here/../../shared/data}
work=${2:-$here/.work}/multilingual
py=$here/.venv-torch/bin/python
[ -x "$py" ] || python3 -m venv "$here/.venv-torch"
"$here/.venv-torch/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements-torch.txt"
mkdir -p "$work"
cd "$here"
# train PROGRAM OPTIONS...; batches of many shapes: glibc's allocator grows to 10 GB a process with them
allocator=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1)
train() {
    LD_PRELOAD=$allocator MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1,narenas:1,oversize_threshold:0,thp:always \
        "$py" "$@" --work "$work" --data "$data"
}
export OMP_NUM_THREADS=2
train multilingual_guard.py --threads 2 --groups   # the states of the frozen layers
train multilingual_domain.py --threads 2 --parts
export OMP_NUM_THREADS=1
train multilingual_guard.py --groups 0 3 4 &
train multilingual_guard.py --groups 1 2
wait
train multilingual_domain.py --parts 0 1 &
train multilingual_domain.py --parts held 2
wait
export OMP_NUM_THREADS=2
train multilingual_guard.py --threads 2
train multilingual_domain.py --threads 2
"$py" guard_second.py --work "$work" --data "$data"
"$py" held_domain.py --data "$data" --out "$work/held_domain.npz"
"$py" domain_second.py --linear "$work/held_domain.npz" --work "$work" --data "$data"
