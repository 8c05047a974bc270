#!/usr/bin/env bash
# Installs what building and testing needs and is missing: Debian packages, and a Python environment under
# tests/.venv, and the neural model (tools/fetch_model.sh). Quick when nothing is missing. Without root it says
# exactly what to install.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=$(grep -hv '^#' tools/debian-packages.txt ${1:+tools/debian-packages-$1.txt})

install_packages() {
    if ! command -v dpkg-query >/dev/null; then
        echo "setup: this is no Debian system; install the equivalents of: $(echo $packages)" >&2
        return 0
    fi
    local missing=()
    local have
    have=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' $packages 2>/dev/null | sed -n 's/^ii *//p' || true)
    for package in $packages; do
        grep -qx "$package" <<<"$have" || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ]; then
        echo "setup: packages are missing and I am not root. Please run:" >&2
        echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    echo "setup: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    local log
    log=$(mktemp)
    if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -20 "$log" >&2
        echo "setup: apt-get failed; the lines above say why (whole log: $log)" >&2
        exit 1
    fi
    rm -f "$log"
}

# FOLDER/.venv from FOLDER/requirements.txt
python_environment() {
    local stamp=$1/.venv/requirements.sha256
    local want
    want=$(sha256sum <"$1/requirements.txt")
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && [ -x "$1/.venv/bin/python" ] && return 0
    echo "setup: making a Python environment in $1/.venv"
    rm -rf "$1/.venv"
    python3 -m venv "$1/.venv"
    "$1/.venv/bin/pip" install --quiet --disable-pip-version-check -r "$1/requirements.txt"
    echo "$want" >"$stamp"
}

install_packages
python_environment tests
if [ "${1:-}" = bench ]; then
    python_environment bench
fi
tools/fetch_model.sh
