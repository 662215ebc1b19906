#!/bin/sh
# A release for Linux, in target/packages: a tar with a static binary, and a Debian package of the same files.
#     release/make.sh [x86_64|aarch64]
# cargo-zigbuild and zig, which links against musl, are found on PATH. For another machine than this one the binary writes its pages and
# completions under QEMU (Debian package qemu-user-static).
set -eu
cd "$(dirname "$0")/.."
machine=${1:-x86_64}
case $machine in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *)
        echo "release: no such machine: $machine; there are x86_64 and aarch64" >&2
        exit 2
        ;;
esac
emulator=
test "$machine" = "$(uname -m)" || emulator=qemu-$machine-static
test -z "$emulator" || command -v "$emulator" >/dev/null || {
    echo "release: $emulator is not installed" >&2
    exit 1
}
target=$machine-unknown-linux-musl
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
commit=$(git rev-parse --short=12 HEAD)
test -z "$(git status --porcelain)" || commit=$commit.modified
export SEAWAY_VERSION="$version+$commit"
# The same bytes whenever it is made.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
built=${CARGO_TARGET_DIR:-target}/$target/release/seaway

cargo-zigbuild zigbuild --release --locked -p seaway-cli --target "$target"
name=seaway-$version-$machine-linux
tree=target/packages/$name
# One version at a time.
rm -rf target/packages/seaway-*-"$machine"-linux* target/packages/seaway_*_"$architecture".deb
install -D -m 755 "$built" "$tree/bin/seaway"
$emulator "$tree/bin/seaway" generate "$tree/share"
install -D -m 644 release/seaway-recv.service "$tree/lib/systemd/system/seaway-recv.service"
install -D -m 644 release/Containerfile "$tree/Containerfile"
install -D -m 644 -t "$tree/share/doc/seaway" README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C target/packages -cf - "$name" \
    | gzip -9n >"target/packages/$name.tar.gz"
echo "target/packages/$name.tar.gz"

if command -v dpkg-deb >/dev/null; then
    package=target/packages/deb-$architecture
    rm -rf "$package"
    mkdir -p "$package/DEBIAN" "$package/usr"
    cp -a "$tree/bin" "$tree/lib" "$tree/share" "$package/usr/"
    gzip -9n "$package"/usr/share/man/man1/*.1
    (cd "$package/usr/share/doc/seaway" && gzip -9n CHANGELOG.md)
    mkdir "$package/usr/share/zsh/vendor-completions"
    mv "$package/usr/share/zsh/site-functions/_seaway" "$package/usr/share/zsh/vendor-completions/"
    rmdir "$package/usr/share/zsh/site-functions"
    size=$(du -sk "$package/usr" | cut -f 1)
    sed "s/@VERSION@/$SEAWAY_VERSION/; s/@ARCHITECTURE@/$architecture/; s/@SIZE@/$size/" release/control \
        >"$package/DEBIAN/control"
    dpkg-deb --root-owner-group --build "$package" "target/packages/seaway_${version}_$architecture.deb" >/dev/null
    rm -r "$package"
    echo "target/packages/seaway_${version}_$architecture.deb"
fi
