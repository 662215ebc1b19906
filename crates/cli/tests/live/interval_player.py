"""Plays a pipeline whose rtpbin `bin` gives transport-wide feedback every 50 ms: interval_player.py PIPELINE. SIGINT ends it."""

import signal
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

Gst.init(None)
pipeline = Gst.parse_launch(sys.argv[1])
session = pipeline.get_by_name("bin").emit("get-internal-session", 0)
session.set_property("twcc-feedback-interval", 50 * Gst.MSECOND)
loop = GLib.MainLoop()
GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGINT, loop.quit)
pipeline.set_state(Gst.State.PLAYING)
loop.run()
pipeline.set_state(Gst.State.NULL)
