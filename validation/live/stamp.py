#!/usr/bin/env python3
"""Reads the stamps of docs/stamp.md from a recording, a stream or a camera, by FFmpeg: a CSV line a picture.

    stamp.py received.mp4                         the counter and the time of each stamp
    stamp.py -now -f x11grab -i :0                the same of a screen as it is now, with the time from glass to glass

Arguments that FFmpeg needs for its input go before it, as above. A picture without a readable stamp has an empty line.
"""

import binascii
import subprocess
import sys
import time

COLUMNS, ROWS = 16, 4  # cells; the stamp covers the right quarter and the upper eighth of the picture
CONTRAST = 40


def cell(first, length, index, count):
    """The middle half of a cell: the first sample, and the one after the last."""
    begin, end = first + index * length // count, first + (index + 1) * length // count
    margin = (end - begin) // 4
    return begin + margin, end - margin


def level(luma, width, height, bit):
    """The mean luma of the middle of the cell of a bit."""
    left, right = cell(width - width // 4, width // 4, bit % COLUMNS, COLUMNS)
    top, bottom = cell(0, height // 8, bit // COLUMNS, ROWS)
    total = sum(sum(luma[y * width + left : y * width + right]) for y in range(top, bottom))
    return total // ((right - left) * (bottom - top))


def read(luma, width, height):
    """Counter and milliseconds since 1970 modulo 2**32, or None."""
    levels = [level(luma, width, height, bit) for bit in range(COLUMNS * ROWS)]
    middle = (min(levels) + max(levels)) // 2
    if any(abs(level - middle) < CONTRAST // 2 for level in levels):
        return None
    word = int("".join("1" if level > middle else "0" for level in levels), 2).to_bytes(8, "big")
    if binascii.crc_hqx(word[:6], 0xFFFF) != int.from_bytes(word[6:], "big"):
        return None
    return int.from_bytes(word[:2], "big"), int.from_bytes(word[2:6], "big")


def age(millis, now):
    """Milliseconds since the stamp, within 24 days."""
    difference = (int(now * 1000) - millis) & 0xFFFFFFFF
    return difference - (1 << 32) if difference >= 1 << 31 else difference


def main(arguments):
    live = arguments[:1] == ["-now"]
    source = arguments[1:] if live else arguments
    if not source:
        sys.exit(__doc__)
    source = source if "-i" in source else source[:-1] + ["-i", source[-1]]
    # PGM says the size of each picture.
    command = ["ffmpeg", "-v", "error", *source, "-an", "-f", "image2pipe", "-c:v", "pgm", "-pix_fmt", "gray"]
    pipe = subprocess.Popen([*command, "-vf", "scale=out_range=tv", "-vsync", "0", "-"], stdout=subprocess.PIPE)
    print("picture,counter,millis,glass_to_glass_ms" if live else "picture,counter,millis")
    index = found = 0
    while pipe.stdout.readline().strip() == b"P5":
        width, height = map(int, pipe.stdout.readline().split())
        pipe.stdout.readline()
        luma = pipe.stdout.read(width * height)
        now, stamp = time.time(), read(luma, width, height)
        found += stamp is not None
        delay = [age(stamp[1], now)] if live and stamp else []
        print(",".join(map(str, [index, *(stamp or ()), *delay])), flush=live)
        index += 1
    if pipe.wait() or not found:
        sys.exit(f"{found} stamps in {index} pictures")


if __name__ == "__main__":
    main(sys.argv[1:])
