//! A plugin for GStreamer: `seawaybwe` runs a rate controller of Seaway where `rtpgccbwe` runs Google's; `seawaysink` and
//! `seawaysrc` send and receive encrypted sessions.

mod address;
mod element;
mod encoder;
mod estimate;
mod queue;
mod sending;
mod sink;
mod source;
mod timeline;
mod watch;

use gst::glib;

/// What sessions carry: whole access units in Annex B form.
fn coded_caps() -> gst::Caps {
    gst::Caps::builder("video/x-h264").field("stream-format", "byte-stream").field("alignment", "au").build()
}

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    element::register(plugin)?;
    sink::register(plugin)?;
    source::register(plugin)
}

gst::plugin_define!(
    seaway,
    env!("CARGO_PKG_DESCRIPTION"),
    plugin_init,
    env!("CARGO_PKG_VERSION"),
    "MIT/X11",
    env!("CARGO_PKG_NAME"),
    env!("CARGO_PKG_NAME"),
    "https://gstreamer.freedesktop.org",
    "2026-11-23"
);
