#!/usr/bin/env python3
"""An encoder of GStreamer for `seaway send --encoder` (docs/field-guide.md, section "Another encoder").

usage: gstreamer_encoder.py [--correct] ENCODER PROPERTY [SOURCE], such as
       gstreamer_encoder.py --correct "x264enc tune=zerolatency vbv-buf-capacity=100" "bitrate={kbps}"
       gstreamer_encoder.py v4l2h264enc "extra-controls=controls,video_bitrate={bps}" v4l2src

With --correct the rate is set before each picture, and corrected by what the pictures had more or less than the target.
"""
import os, sys, threading
import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst


class Correction:
    """The rate to set so that the output has the target: it rises by what pictures lack of it, within half a second."""

    SPAN, LEAST, MOST = 0.5, 0.8, 1.4  # seconds, and parts of the target

    def __init__(self):
        self.factor = 1

    def add(self, seconds, target, bits):
        self.factor += (seconds - bits / max(1, target)) / self.SPAN
        self.factor = min(self.MOST, max(self.LEAST, self.factor))

    def rate(self, target):
        return round(target * self.factor)


class Encoder:
    """The element, and the property that sets its rate."""

    def __init__(self, element, assignment, correction=None):
        self.element, self.correction, self.target = element, correction, None
        self.name, self.value = assignment.split("=", 1)
        if correction:
            element.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, self.before)
            element.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, self.after)

    def set_target(self, bps):
        self.target = bps
        if not self.correction:
            self.set(bps)

    def set(self, bps):
        Gst.util_set_object_arg(self.element, self.name, self.value.format(bps=bps, kbps=max(1, bps // 1000)))

    def before(self, _pad, _info):
        if self.target is not None:
            self.set(self.correction.rate(self.target))
        return Gst.PadProbeReturn.OK

    def after(self, _pad, info):
        picture = info.get_buffer()
        if self.target is not None and picture.duration != Gst.CLOCK_TIME_NONE:
            self.correction.add(picture.duration / Gst.SECOND, self.target, 8 * picture.get_size())
        return Gst.PadProbeReturn.OK

    def request_key_frame(self):
        request = Gst.Structure.new_from_string("GstForceKeyUnit,all-headers=(boolean)true")
        self.element.get_static_pad("src").send_event(Gst.Event.new_custom(Gst.EventType.CUSTOM_UPSTREAM, request))

    def follow(self, lines):
        for line in lines:
            match line.split():
                case ["bitrate", bps]:
                    self.set_target(int(bps))
                case ["key-frame"]:
                    self.request_key_frame()


def main(arguments):
    correction = Correction() if arguments[:1] == ["--correct"] else None
    arguments = arguments[1:] if correction else arguments
    if len(arguments) not in (2, 3):
        return __doc__
    Gst.init(None)
    name, assignment, *source = arguments
    coded = "video/x-h264,stream-format=byte-stream,alignment=au"
    begin = source[0] if source else "fdsrc fd=0 ! y4mdec"
    pipeline = Gst.parse_launch(f"{begin} ! videoconvert ! {name} name=encoder ! h264parse config-interval=-1 ! {coded} ! fdsink")
    encoder = Encoder(pipeline.get_by_name("encoder"), assignment, correction)
    threading.Thread(target=lambda: encoder.follow(open(os.environ["SEAWAY_TARGET"])), daemon=True).start()
    pipeline.set_state(Gst.State.PLAYING)
    end = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    return end.parse_error()[0].message if end.type == Gst.MessageType.ERROR else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
