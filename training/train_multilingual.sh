#!/bin/sh
# models/neural-multilingual: the guard's adapters and head, then the domain head. One command, resumable, about three hours on
# two idle cores, and 16 GB. Makes training/.venv-torch (torch 2 of PyPI, 5 GB of packages): Debian's torch has no fast bfloat16 here.
# While left_out/multilingual has log odds by the present CHOICES of multilingual_guard.py, the guard's part is not trained: only its
# mixture with the linear tier is made again. Remove that folder to train it.
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
# batches of many shapes: glibc's allocator grows to 10 GB a process with them
allocator=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1)
guard() {
    LD_PRELOAD=$allocator MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1,narenas:1,oversize_threshold:0,thp:always \
        "$py" multilingual_guard.py --work "$work" --data "$data" "$@"
}
export OMP_NUM_THREADS=2
guard --groups --threads 2   # the states of the frozen layers
export OMP_NUM_THREADS=1
for group in 0 1 2; do guard --groups $group & done
wait
export OMP_NUM_THREADS=2
guard --threads 2
"$py" guard_second.py --work "$work" --data "$data"
"$py" multilingual_domain.py --work "$work" --data "$data"
