#!/usr/bin/env bash
# deb.sh: Debian packages of the checkout, into build/packages: the program, its models, the library, its development
# files. Built from a copy, so that nothing is written between the sources. Needs what tools/debian-packages-release.txt
# names.
set -euo pipefail
cd "$(dirname "$0")/.."
source packaging/version.sh
out=$PWD/build/packages
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/semroute-$version

packaging/copy_tree.sh "$tree"
cp -r packaging/debian "$tree/debian"
cat >"$tree/debian/changelog" <<EOF
semroute ($version) bookworm; urgency=medium

  * See /usr/share/doc/semroute/CHANGELOG.md.

 -- semroute developers <semroute@localhost.invalid>  $(date -Ru -d "@$epoch")
EOF

mkdir -p "$out"
rm -f "$out"/*.deb
log=$out/deb.log
export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$tree SOURCE_DATE_EPOCH=$epoch DEB_BUILD_OPTIONS=nocheck
if ! (cd "$tree" && dpkg-buildpackage --build=binary --no-sign) >"$log" 2>&1; then
    tail -40 "$log" >&2
    exit 1
fi
mv "$work"/*.deb "$out/"
(cd "$out" && ls -1 -- *.deb)
