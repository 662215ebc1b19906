#!/usr/bin/env python3
"""How closely x264 follows its target, for the example of `--encoder`: by its own rate control, without load or network.

    x264.py CLIP…

Each clip, at 640x360 and 25 pictures a second in a loop, is coded at 1.5 Mbit/s for five seconds and at 800 kbit/s for ten, with buffers
(VBV) of several sizes, or those in $BUFFERS. Printed is what the seconds have by their target, but the first and the one after the step. With
`set` the rate is set again each second, as `send` does. Needs FFmpeg, GStreamer with x264enc, and its Python side.
"""

import os
import subprocess
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

PICTURES = 25  # a second
STEP, END = 5, 15  # seconds
RATES = 1500, 800  # kbit/s
ENCODER = "x264enc tune=zerolatency speed-preset=superfast key-int-max=250"


def coded(clip, settings, again):
    """Octets of each second."""
    command = ["ffmpeg", "-v", "error", "-stream_loop", "-1", "-i", clip, "-vf", f"fps={PICTURES},scale=640:360,setsar=1,format=yuv420p"]
    source = subprocess.Popen([*command, "-frames:v", str(END * PICTURES), "-f", "yuv4mpegpipe", "-"], stdout=subprocess.PIPE)
    caps = "video/x-h264,stream-format=byte-stream,alignment=au"
    pipeline = Gst.parse_launch(
        f"fdsrc fd={source.stdout.fileno()} ! y4mdec ! {ENCODER} bitrate={RATES[0]} {settings} name=encoder ! {caps} ! fakesink name=sink"
    )
    encoder, taken, sizes = pipeline.get_by_name("encoder"), [0], []

    def before(_pad, _info):
        if taken[0] == STEP * PICTURES or (again and taken[0] % PICTURES == 0):
            encoder.set_property("bitrate", RATES[taken[0] >= STEP * PICTURES] + taken[0] // PICTURES % 2 * again)
        taken[0] += 1
        return Gst.PadProbeReturn.OK

    def after(_pad, info):
        sizes.append(info.get_buffer().get_size())
        return Gst.PadProbeReturn.OK

    encoder.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, before)
    pipeline.get_by_name("sink").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, after)
    pipeline.set_state(Gst.State.PLAYING)
    end = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    source.wait()
    if end.type == Gst.MessageType.ERROR or len(sizes) != END * PICTURES:
        sys.exit(f"{clip}: {len(sizes)} pictures: {end.parse_error() if end.type == Gst.MessageType.ERROR else 'end'}")
    return [sum(sizes[at : at + PICTURES]) for at in range(0, len(sizes), PICTURES)]


def main():
    Gst.init(None)
    print("| clip | buffer, ms | rate set | seconds within a tenth | least, most before the step | least, most after |")
    print("| --- | ---: | --- | ---: | --- | --- |")
    for settings in os.environ.get("BUFFERS", "100 200 600 1000").split():
        for clip in sys.argv[1:]:
            for again in (0, 1):
                seconds = coded(clip, f"vbv-buf-capacity={settings}", again)
                parts = [
                    [8 * size / 1000 / rate for size in seconds[begin:end]]
                    for rate, begin, end in ((RATES[0], 1, STEP), (RATES[1], STEP + 1, END))
                ]
                every = parts[0] + parts[1]
                held = sum(0.9 <= ratio <= 1.1 for ratio in every)
                ends = " | ".join(f"{min(part):.2f}, {max(part):.2f}" for part in parts)
                name = os.path.basename(clip).split(".")[0]
                print(f"| {name} | {settings} | {'set' if again else 'once'} | {held} of {len(every)} | {ends} |", flush=True)


if __name__ == "__main__":
    main()
