#!/bin/sh
# Speed beside the peers, in one run: speed.sh MASTERS WORK
# Makes 1200 pictures of 704x480 at 4 Mbit/s and prints cycles in user space, or CPU seconds where perf is not there.
# Build the example first: cargo build --release -p seaway-mpeg --example shape_file
root=$(cd "$(dirname "$0")/../.." && pwd)
shape="$root/target/release/examples/shape_file"
stream="$2/speed.m2v"
mkdir -p "$2"
if [ ! -f "$stream" ]; then
  for clip in crew city; do
    ffmpeg -nostdin -v error -y -i "$1/${clip}_4cif.mp4" -vf "crop=704:480,setpts=N/30/TB" -r 30 -frames:v 600 \
      -c:v mpeg2video -b:v 4000k -maxrate 4000k -bufsize 1835008 -g 15 -bf 2 -threads 1 -f mpeg2video "$2/$clip.part"
  done
  cat "$2/crew.part" "$2/city.part" > "$stream"
fi
measure() {
  label=$1
  shift
  if perf stat true 2>/dev/null; then
    perf stat -x, -e cycles:u,instructions:u "$@" 2>&1 >/dev/null |
      awk -F, -v label="$label" '/cycles/ {c = $1 / 1e9} /instructions/ {i = $1 / 1e9}
        END {printf "%-28s %6.2f G cycles  %6.2f G instructions\n", label, c, i}'
  else
    /usr/bin/time -f "$(printf '%-28s' "$label") %U s" "$@" > /dev/null
  fi
}
measure "libmpeg2 decode" mpeg2dec -o null "$stream"
measure "FFmpeg decode" ffmpeg -nostdin -v error -threads 1 -i "$stream" -f null -
measure "FFmpeg transcode, no B" ffmpeg -nostdin -v error -y -threads 1 -i "$stream" -c:v mpeg2video -b:v 3200k \
  -threads 1 -f mpeg2video /dev/null
measure "FFmpeg fast transcode" ffmpeg -nostdin -v error -y -threads 1 -i "$stream" -c:v mpeg2video -b:v 3200k \
  -maxrate 3200k -bufsize 1835008 -g 15 -bf 2 -threads 1 -f mpeg2video /dev/null
for method in memoryless rate-based window requantize causal; do
  measure "seaway $method 0.8" "$shape" "$stream" /dev/null "$method" 0.8
done
for ratio in 0.9 0.8 0.7 0.5; do
  measure "seaway auto $ratio" "$shape" "$stream" /dev/null auto "$ratio"
done
