#!/bin/sh
# The decoder beside FFmpeg: decoder.sh STREAM...
# Prints the PSNR of our frames against FFmpeg's, over whole streams; about 58 dB and more is the rounding of the
# inverse transform. Build the example first: cargo build --release -p seaway-mpeg --example decode_file
root=$(cd "$(dirname "$0")/../../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for stream in "$@"; do
  size=$(ffprobe -v error -select_streams v -show_entries stream=width,height -of csv=s=x:p=0 "$stream" | head -1)
  format=$(ffprobe -v error -select_streams v -show_entries stream=pix_fmt -of csv=p=0 "$stream" | head -1)
  "$root/target/release/examples/decode_file" "$stream" "$folder/ours.yuv" || exit 1
  ffmpeg -nostdin -v error -y -i "$stream" -fps_mode passthrough -f rawvideo "$folder/theirs.yuv"
  ours=$(stat -c %s "$folder/ours.yuv") theirs=$(stat -c %s "$folder/theirs.yuv")
  raw="-f rawvideo -pix_fmt $format -s $size"
  psnr=$(ffmpeg -nostdin -hide_banner $raw -i "$folder/ours.yuv" $raw -i "$folder/theirs.yuv" -lavfi psnr -f null - 2>&1 |
    grep -o 'PSNR.*')
  echo "$(basename "$stream"): $ours bytes of frames, FFmpeg $theirs, $psnr"
done
