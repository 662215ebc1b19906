#!/bin/sh
# Checks a release: the tar's binary where there is nothing else (no library, no /proc, no /dev), and the Debian package in a root of
# its own. A binary for another machine runs under QEMU (Debian package qemu-user-static).
#     release/check.sh target/packages/seaway-0.2.0-x86_64-linux.tar.gz [target/packages/seaway_0.2.0_amd64.deb]
set -eu
root=$(mktemp -d)
receiver=
finish() {
    test -z "$receiver" || kill "$receiver" 2>/dev/null || true
    rm -rf "$root"
}
trap finish EXIT
fail() {
    echo "release: $1" >&2
    exit 1
}
tar -C "$root" -xzf "$1"
name=$(basename "$1" .tar.gz)
mkdir "$root/out" "$root/tmp"
machine=${name#seaway-*-}
machine=${machine%-linux}
emulator=
if [ "$machine" != "$(uname -m)" ]; then
    emulator=/tmp/qemu-$machine-static
    cp "$(command -v "qemu-$machine-static")" "$root$emulator" || fail "qemu-$machine-static is not installed"
fi
# Root of a namespace of one's own where one is not root.
inside() {
    if [ "$(id -u)" = 0 ]; then chroot "$root" $emulator "$@"; else unshare -r chroot "$root" $emulator "$@"; fi
}
seaway=/$name/bin/seaway

version=$(inside "$seaway" -V)
echo "$version"
case $version in
    "seaway "*+*) ;;
    *) fail "the version has no commit" ;;
esac

# The lab: a report that carries the version, and a folder of files.
report=$(inside "$seaway" sim clean --set duration=12s --json)
case $report in
    *"${version#seaway }"*) ;;
    *) fail "the report does not carry the version" ;;
esac
inside "$seaway" sim lossy-wifi --set duration=30s -o /out/run >/dev/null || test $? = 3 || fail "sim -o"
test -s "$root/out/run/summary.json" || fail "sim -o wrote no summary"
inside "$seaway" sim s004-best-case --set duration=70s --json >"$root/out/cell.json" || test $? = 3 || fail "a cell"

# The codec and the sockets: pictures are coded, sent, received and decoded. A machine that is too busy makes the run void (3), and
# its pictures still come.
displayed() {
    grep -Eq '"displayed": [1-9]' "$1" || fail "$2: no picture was shown"
}
inside "$seaway" demo --headless --duration 5s --json >"$root/out/demo.json" || test $? = 3 || fail "demo"
displayed "$root/out/demo.json" demo

# Two processes with a key on the loopback address.
port=$((20000 + $$ % 20000))
inside "$seaway" recv "rtp://127.0.0.1:$port" --key-file /out/key --json --duration 12s -o /out/got.mp4 \
    >"$root/out/recv.json" 2>"$root/out/recv.notes" &
receiver=$!
tries=0
until test -s "$root/out/key"; do
    tries=$((tries + 1))
    test $tries -lt 50 || fail "recv wrote no key: $(cat "$root/out/recv.notes")"
    sleep 0.2
done
inside "$seaway" send test:320x180@25 "rtp://127.0.0.1:$port" --key-file /out/key --duration 6s --json \
    >"$root/out/send.json" || test $? = 3 || fail "send"
wait "$receiver" || test $? = 3 || fail "recv: $(cat "$root/out/recv.notes")"
receiver=
displayed "$root/out/recv.json" recv
test -s "$root/out/got.mp4" || fail "recv recorded nothing"
echo "runs in an empty root"

# The Debian package: installed, run, and removed without a trace.
if test $# -gt 1; then
    if [ "$(id -u)" != 0 ]; then
        echo "release: SKIPPED, dpkg --root needs root"
        exit 0
    fi
    system=$root/system
    mkdir -p "$system/var/lib/dpkg/info" "$system/var/lib/dpkg/updates" "$system/var/lib/dpkg/triggers"
    : >"$system/var/lib/dpkg/status"
    if [ -n "$emulator" ]; then
        dpkg --root="$system" --add-architecture "$(dpkg-deb --field "$2" Architecture)"
        install -D "$root$emulator" "$system$emulator"
    fi
    dpkg --root="$system" --install "$2" >/dev/null
    for file in usr/bin/seaway usr/lib/systemd/system/seaway-recv.service usr/share/man/man1/seaway-send.1.gz \
        usr/share/bash-completion/completions/seaway usr/share/zsh/vendor-completions/_seaway \
        usr/share/fish/vendor_completions.d/seaway.fish usr/share/doc/seaway/LICENSE-MIT; do
        test -s "$system/$file" || fail "the package has no $file"
    done
    test "$(chroot "$system" $emulator /usr/bin/seaway -V)" = "$version" || fail "the package has another version"
    if command -v systemd-analyze >/dev/null; then
        # The unit as this machine's systemd reads it, with the program where it is now.
        sed "s#/usr/bin/seaway#$system/usr/bin/seaway#" "$system/usr/lib/systemd/system/seaway-recv.service" \
            >"$root/seaway-recv.service"
        systemd-analyze --man=no verify "$root/seaway-recv.service" || fail "systemd refuses the unit"
    fi
    dpkg --root="$system" --purge seaway >/dev/null
    test ! -e "$system/usr/bin/seaway" || fail "the package does not go"
    echo "installs and goes as a Debian package"
fi
