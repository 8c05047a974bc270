#!/bin/sh
# Accuracy of the built binary on the development files; checks it against Python too where training/.venv is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ -x "$here/.venv/bin/python" ]; then
    exec "$here/.venv/bin/python" "$here/dev_figures.py" --reference "$@"
fi
exec python3 "$here/dev_figures.py" "$@"
