//! The encoder before `seawaysink`: where it is, and how its rate is set.

use gst::prelude::*;

/// Encoders by the name of their factory: the property with the rate, and how many bit/s its unit has.
const ENCODERS: [(&str, &str, u64); 10] = [
    ("x264enc", "bitrate", 1000),
    ("openh264enc", "bitrate", 1),
    ("vah264enc", "bitrate", 1000),
    ("vah264lpenc", "bitrate", 1000),
    ("vaapih264enc", "bitrate", 1000),
    ("nvh264enc", "bitrate", 1000),
    ("nvv4l2h264enc", "bitrate", 1),
    ("qsvh264enc", "bitrate", 1000),
    ("vtenc_h264", "bitrate", 1000),
    ("mfh264enc", "bitrate", 1000),
];
/// Elements between the encoder and the sink, at most.
const DEEPEST: usize = 32;

/// An encoder whose rate can be set.
#[derive(Debug)]
pub(crate) struct Encoder {
    element: gst::glib::WeakRef<gst::Element>,
    property: &'static str,
    unit: u64,
}

impl Encoder {
    /// The nearest one upstream of `pad`, along elements with one input.
    pub(crate) fn upstream_of(pad: &gst::Pad) -> Option<Self> {
        let mut pad = pad.clone();
        for _ in 0..DEEPEST {
            let element = pad.peer()?.parent_element()?;
            if let Some(encoder) = Self::of(&element) {
                return Some(encoder);
            }
            if let Some(bin) = element.downcast_ref::<gst::Bin>() {
                return bin.iterate_recurse().into_iter().flatten().find_map(|element| Self::of(&element));
            }
            let inputs = element.sink_pads();
            let [input] = &inputs[..] else { return None };
            pad = input.clone();
        }
        None
    }

    fn of(element: &gst::Element) -> Option<Self> {
        let name = element.factory()?.name();
        let (_, property, unit) = ENCODERS.into_iter().find(|(factory, ..)| *factory == name)?;
        element.find_property(property)?;
        Some(Self { element: element.downgrade(), property, unit })
    }

    /// Sets its rate, in bit/s.
    pub(crate) fn set_bitrate(&self, bps: u64) {
        let Some(element) = self.element.upgrade() else { return };
        let rate = (bps / self.unit).max(1);
        // Its type is signed for some.
        element.set_property_from_str(self.property, &rate.min(i32::MAX as u64).to_string());
    }
}
