#!/usr/bin/env bash
# copy_tree.sh DIR: the sources of the checkout and its models, without what building them left.
set -euo pipefail
cd "$(dirname "$0")/.."
source packaging/version.sh
mkdir -p "$1"
if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -z
else
    find . -path ./build -prune -o -type f -print0
fi | tar --create --null --files-from=- --file=- | tar --extract --directory="$1" --file=-
for model in all-MiniLM-L6-v2 multilingual-e5-small; do
    [ ! -d "models/$model" ] || cp -rL "models/$model" "$1/models/"
done
sed -i "s/^set(SR_VERSION_DEFAULT .*)/set(SR_VERSION_DEFAULT $version)/" "$1/CMakeLists.txt"
