#!/usr/bin/env bash
# tarball.sh: one folder that runs on any x86-64 or aarch64 Linux with glibc 2.36 or newer, as a .tar.gz in
# build/packages: the program with its libraries linked in where Debian has static archives, the other libraries beside
# it, models, licences and a bill of materials. Nothing but glibc is taken from the machine that it runs on.
set -euo pipefail
cd "$(dirname "$0")/.."
source packaging/version.sh
name=semroute-$version-linux-$(uname -m)
out=$PWD/build/packages
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name
tree=build/portable

mkdir -p "$out"
log=$out/tarball.log
export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
if ! { cmake -S . -B $tree -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DSR_STATIC_LIBRARIES=ON \
    "-DCMAKE_INSTALL_RPATH=\$ORIGIN/../lib/semroute" && ninja -C $tree semroute &&
    cmake --install $tree --strip --component program --prefix "$root" &&
    cmake --install $tree --component models --prefix "$root"; } >"$log" 2>&1; then
    tail -40 "$log" >&2
    exit 1
fi

# A model's folder may be a link in the checkout; the archive has what it points to.
for model in "$root"/share/semroute/models/*; do
    [ ! -L "$model" ] || { cp -rL "$model" "$model.copy" && rm "$model" && mv "$model.copy" "$model"; }
done

glibc='^(linux-vdso|ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv)\.so'
mkdir -p "$root/lib/semroute" "$root/licenses"
ldd $tree/semroute | awk '$2 == "=>" {print $1, $3}' | while read -r file path; do
    [[ $file =~ $glibc ]] || cp -L "$path" "$root/lib/semroute/$file"
done
cp LICENSE README.md CHANGELOG.md SECURITY.md "$root/"
cp packaging/semroute.yaml "$root/semroute.yaml"
python3 packaging/sbom.py $tree/semroute "$version" "$epoch" --licenses "$root/licenses" >"$root/semroute.cdx.json"
cp "$root/semroute.cdx.json" "$out/semroute-$version.cdx.json"
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" --directory="$work" "$name" | gzip -n -6 >"$out/$name.tar.gz"
echo "$name.tar.gz"
