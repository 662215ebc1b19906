#!/bin/sh
# Speed beside the peers, in one run: speed.sh MASTERS WORK [ROUNDS]
# Makes 1200 pictures of 704x480 at 4 Mbit/s. Everything runs in turn, ROUNDS times (5); printed is the least time of the
# CPU in user space, and cycles where perf is there.
# Build the example first: cargo build --release -p seaway-mpeg --example shape_file
root=$(cd "$(dirname "$0")/../.." && pwd)
shape="$root/target/release/examples/shape_file"
stream="$2/speed.m2v"
results="$2/speed.txt"
mkdir -p "$2"
if [ ! -f "$stream" ]; then
  for clip in crew city; do
    ffmpeg -nostdin -v error -y -i "$1/${clip}_4cif.mp4" -vf "crop=704:480,setpts=N/30/TB" -r 30 -frames:v 600 \
      -c:v mpeg2video -b:v 4000k -maxrate 4000k -bufsize 1835008 -g 15 -bf 2 -threads 1 -f mpeg2video "$2/$clip.part"
  done
  cat "$2/crew.part" "$2/city.part" > "$stream"
fi
: > "$results"
measure() {
  label=$1
  shift
  if perf stat -e user_time true 2>/dev/null; then
    perf stat -x, -e cycles:u,user_time "$@" 2>&1 >/dev/null |
      awk -F, -v label="$label" '/cycles/ {c = $1 / 1e9} /user_time/ {s = $1 / 1e9} END {printf "%s\t%.3f\t%.3f\n", label, s, c}'
  else
    /usr/bin/time -f "$label	%U	0" "$@" 2>&1 >/dev/null | tail -1
  fi >> "$results"
}
round() {
  measure "libmpeg2 decode" mpeg2dec -o null "$stream"
  for method in memoryless rate-based window requantize causal; do
    measure "seaway $method 0.8" "$shape" "$stream" /dev/null "$method" 0.8
  done
  for ratio in 0.9 0.7; do
    measure "seaway memoryless $ratio" "$shape" "$stream" /dev/null memoryless "$ratio"
  done
  for ratio in 0.9 0.8 0.7 0.5; do
    rate=$(awk -v ratio="$ratio" 'BEGIN {print 4000 * ratio}')
    measure "seaway auto $ratio" "$shape" "$stream" /dev/null auto "$ratio"
    measure "FFmpeg fast transcode $ratio" ffmpeg -nostdin -v error -y -threads 1 -i "$stream" -c:v mpeg2video \
      -b:v "${rate}k" -maxrate "${rate}k" -bufsize 1835008 -g 15 -bf 2 -threads 1 -f mpeg2video /dev/null
    measure "FFmpeg transcode, no B $ratio" ffmpeg -nostdin -v error -y -threads 1 -i "$stream" -c:v mpeg2video \
      -b:v "${rate}k" -threads 1 -f mpeg2video /dev/null
  done
  measure "FFmpeg decode" ffmpeg -nostdin -v error -threads 1 -i "$stream" -f null -
}
for _ in $(seq "${3:-5}"); do
  round
done
awk -F '\t' '!($1 in seconds) {order[++count] = $1; seconds[$1] = $2; cycles[$1] = $3}
  $2 < seconds[$1] {seconds[$1] = $2} $3 < cycles[$1] {cycles[$1] = $3}
  END {for (i = 1; i <= count; i++) printf "%-30s %6.3f s %6.2f G cycles\n", order[i], seconds[order[i]], cycles[order[i]]}' "$results"
