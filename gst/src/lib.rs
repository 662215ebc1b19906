//! A plugin for GStreamer: the element `seawaybwe` runs a rate controller of Seaway where `rtpgccbwe` runs Google's.

mod element;
mod estimate;

use gst::glib;

fn plugin_init(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    element::register(plugin)
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
