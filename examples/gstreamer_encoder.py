#!/usr/bin/env python3
"""An encoder of GStreamer for `seaway send --encoder` (docs/field-guide.md, section "Another encoder").

usage: gstreamer_encoder.py ENCODER PROPERTY [SOURCE], such as
       gstreamer_encoder.py "x264enc tune=zerolatency" "bitrate={kbps}"
       gstreamer_encoder.py v4l2h264enc "extra-controls=controls,video_bitrate={bps}" v4l2src
"""
import os, sys, threading
import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

Gst.init(None)
name, value = sys.argv[2].split("=", 1)
source = sys.argv[3] if len(sys.argv) > 3 else "fdsrc fd=0 ! y4mdec"
coded = "video/x-h264,stream-format=byte-stream,alignment=au"
pipeline = Gst.parse_launch(f"{source} ! videoconvert ! {sys.argv[1]} name=encoder ! h264parse config-interval=-1 ! {coded} ! fdsink")
encoder = pipeline.get_by_name("encoder")

def follow():
    for line in open(os.environ["SEAWAY_TARGET"]):
        match line.split():
            case ["bitrate", bps]:
                Gst.util_set_object_arg(encoder, name, value.format(bps=bps, kbps=max(1, int(bps) // 1000)))
            case ["key-frame"]:
                request = Gst.Structure.new_from_string("GstForceKeyUnit,all-headers=(boolean)true")
                encoder.get_static_pad("src").send_event(Gst.Event.new_custom(Gst.EventType.CUSTOM_UPSTREAM, request))

threading.Thread(target=follow, daemon=True).start()
pipeline.set_state(Gst.State.PLAYING)
end = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
pipeline.set_state(Gst.State.NULL)
sys.exit(end.parse_error()[0].message if end.type == Gst.MessageType.ERROR else 0)
