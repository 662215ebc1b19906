#!/usr/bin/env python3
"""How closely x264 follows its target, for the example of `--encoder`: by its own rate control, without load or network.

    x264.py CLIP…

Each clip, at 640x360 and 25 pictures a second in a loop, is coded at 1.5 Mbit/s for five seconds and at 800 kbit/s for ten, with buffers
(VBV) of several sizes, or those in $BUFFERS. Printed is what the seconds have by their target, but the first and the one after the step. With
`corrected` the rate is set as the example does with --correct; every second that begins with a picture counts in `any second`, but those of
the first second and those with the step or a picture of the second after it. Needs FFmpeg, GStreamer with x264enc, and its Python side.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../examples"))
from gstreamer_encoder import Correction, Encoder

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

PICTURES = 25  # a second
STEP, END = 5, 15  # seconds
RATES = 1500, 800  # kbit/s
ENCODER = "x264enc tune=zerolatency speed-preset=superfast key-int-max=250"


def coded(clip, settings, is_corrected):
    """Octets of each picture."""
    command = ["ffmpeg", "-v", "error", "-stream_loop", "-1", "-i", clip, "-vf", f"fps={PICTURES},scale=640:360,setsar=1,format=yuv420p"]
    source = subprocess.Popen([*command, "-frames:v", str(END * PICTURES), "-f", "yuv4mpegpipe", "-"], stdout=subprocess.PIPE)
    caps = "video/x-h264,stream-format=byte-stream,alignment=au"
    pipeline = Gst.parse_launch(
        f"fdsrc fd={source.stdout.fileno()} ! y4mdec ! {ENCODER} bitrate={RATES[0]} {settings} name=encoder ! {caps} ! fakesink name=sink"
    )
    element, taken, sizes = pipeline.get_by_name("encoder"), [0], []

    def before(_pad, _info):
        if taken[0] in (0, STEP * PICTURES):
            encoder.set_target(1000 * RATES[taken[0] > 0])
        taken[0] += 1
        return Gst.PadProbeReturn.OK

    def after(_pad, info):
        sizes.append(info.get_buffer().get_size())
        return Gst.PadProbeReturn.OK

    # Before the probe of the example, which sets the rate.
    element.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, before)
    encoder = Encoder(element, "bitrate={kbps}", Correction() if is_corrected else None)
    pipeline.get_by_name("sink").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, after)
    pipeline.set_state(Gst.State.PLAYING)
    end = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    source.wait()
    if end.type == Gst.MessageType.ERROR or len(sizes) != END * PICTURES:
        sys.exit(f"{clip}: {len(sizes)} pictures: {end.parse_error() if end.type == Gst.MessageType.ERROR else 'end'}")
    return sizes


def ratios(sizes, rate, begin, end, step):
    """What the seconds from `begin` to `end`, `step` pictures apart, have by their target."""
    every = range(begin * PICTURES, (end - 1) * PICTURES + 1, step)
    return [8 * sum(sizes[at : at + PICTURES]) / 1000 / rate for at in every]


def main():
    Gst.init(None)
    print("| clip | buffer, ms | rate | seconds within a tenth | least, most before the step | least, most after | any second |")
    print("| --- | ---: | --- | ---: | --- | --- | ---: |")
    for settings in os.environ.get("BUFFERS", "100 150 200 600 1000").split():
        for clip in sys.argv[1:]:
            for is_corrected in (False, True):
                sizes = coded(clip, f"vbv-buf-capacity={settings}", is_corrected)
                phases = (RATES[0], 1, STEP), (RATES[1], STEP + 1, END)
                parts = [ratios(sizes, *phase, PICTURES) for phase in phases]
                every = parts[0] + parts[1]
                sliding = [ratio for phase in phases for ratio in ratios(sizes, *phase, 1)]
                held = [sum(0.9 <= ratio <= 1.1 for ratio in of) for of in (every, sliding)]
                ends = " | ".join(f"{min(part):.2f}, {max(part):.2f}" for part in parts)
                name, how = os.path.basename(clip).split(".")[0], "corrected" if is_corrected else "set"
                print(
                    f"| {name} | {settings} | {how} | {held[0]} of {len(every)} | {ends} | {held[1] / len(sliding):.0%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
