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

python_environment() {
    local stamp=tests/.venv/requirements.sha256
    local want
    want=$(sha256sum <tests/requirements.txt)
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && [ -x tests/.venv/bin/python ] && return 0
    echo "setup: making the Python test environment in tests/.venv"
    rm -rf tests/.venv
    python3 -m venv tests/.venv
    tests/.venv/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
    echo "$want" >"$stamp"
}

install_packages
python_environment
tools/fetch_model.sh
