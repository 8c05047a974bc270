#!/bin/sh
# Accuracy of the built binary on the development files, held to models/domain-linear/dev.json. Needs python3 alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/dev_figures.py" "$@"
