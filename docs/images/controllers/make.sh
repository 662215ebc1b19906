#!/bin/sh
# The pictures of docs/controllers: each controller in the scenario `phases`. Run by `make plots`.
set -e
seaway=${1:-target/release/seaway}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in $($seaway list controls | awk '/^[a-z]/ { print $1 }'); do
	set -- --set "flow.video.control=$name"
	case $name in
	buffer-*) set -- "$@" --set 'flow.video.receiver={ buffer = "256 kB", consume = "2 Mbit/s", start_level = 0.2 }' ;;
	fixed) set -- --set 'flow.video.control=fixed(rate=2 Mbit/s)' ;;
	esac
	$seaway sim phases "$@" --json -o "$folder/$name" >/dev/null
	cp "$folder/$name/plot.svg" "docs/images/controllers/$name.svg"
done
