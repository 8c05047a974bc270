# Sourced in the checkout's root. Sets `version`, as the program prints it with `~` and `+` where Debian wants them, and
# `epoch`, the time of the sources in seconds.
version=$(git describe --tags --match 'v[0-9]*.[0-9]*.[0-9]*' 2>/dev/null | sed 's/^v//; s/-/+/; s/-/./g' || true)
[ -n "$version" ] || version=$(sed -n 's/^set(SR_VERSION_DEFAULT \(.*\))$/\1/p' CMakeLists.txt)
epoch=$(git log -1 --format=%ct 2>/dev/null || date +%s)
