//! The description of a controller, which is known before one is built.

use crate::controller::RateController;
use crate::feedback_source::FeedbackSource;
use crate::options::{OptionGroup, Options};
use crate::spec::SpecError;
use seaway_units::{DataSize, Ecn};

/// What a controller must know of its flow beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowConfig {
    /// The largest packet the flow sends, as a whole IP datagram.
    pub packet: DataSize,
    /// The codepoint its packets should carry, where the controller responds to congestion marks.
    pub ecn: Ecn,
}

/// Both halves of a controller.
pub type ControllerPair = (Box<dyn RateController>, Box<dyn FeedbackSource>);

/// Both halves, boxed.
pub fn pair(
    controller: impl RateController + 'static,
    source: impl FeedbackSource + 'static,
) -> ControllerPair {
    (Box::new(controller), Box::new(source))
}

/// How a controller limits its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It sets a rate.
    Rate,
    /// It sets how much may be in flight.
    Window,
}

/// What a controller needs from the session beside the reports of its receiving half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirements {
    /// The fate of each packet ([`Feedback::packets`](crate::Feedback::packets)); else that of the newest is enough.
    pub fates: bool,
    /// The sizes of frames and the send queue ([`LocalSignal::Frame`](crate::LocalSignal::Frame),
    /// [`LocalSignal::Backlog`](crate::LocalSignal::Backlog)).
    pub frames: bool,
    /// The level of a receiver's playout buffer ([`PeerReport::buffer`](crate::PeerReport::buffer)).
    pub buffer: bool,
    /// Room for a [tag](crate::Marking::tag) in each packet.
    pub tags: bool,
    /// More than one subflow.
    pub subflows: bool,
}

impl Requirements {
    /// The fate of each packet and the sizes of frames.
    pub const DEFAULT: Self = Self { fates: true, frames: true, buffer: false, tags: false, subflows: false };
}

/// The option that sets a flow's weight against others of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightOption {
    /// Its name.
    pub name: &'static str,
    /// The option and its value without which the weight has no meaning.
    pub requires: Option<(&'static str, &'static str)>,
}

/// A controller in the [registry](crate::Registry).
#[derive(Debug, Clone, Copy)]
pub struct ControllerInfo {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// The document it follows.
    pub source: &'static str,
    /// Its law was checked against a primary text.
    pub verified: bool,
    /// How it limits its sender.
    pub kind: Kind,
    /// What can be set.
    pub options: &'static [OptionGroup],
    /// The option that sets its weight, if it has one.
    pub weight: Option<WeightOption>,
    /// What it needs with these options.
    pub requirements: fn(&Options<'_>) -> Requirements,
    /// Makes both halves for a flow.
    pub build: fn(&Options<'_>, FlowConfig) -> Result<ControllerPair, SpecError>,
}

impl ControllerInfo {
    /// A rate controller without options and with [default](Requirements::DEFAULT) requirements.
    pub const fn new(
        name: &'static str,
        source: &'static str,
        build: fn(&Options<'_>, FlowConfig) -> Result<ControllerPair, SpecError>,
    ) -> Self {
        Self {
            name,
            source,
            verified: true,
            kind: Kind::Rate,
            options: &[],
            weight: None,
            requirements: |_| Requirements::DEFAULT,
            build,
        }
    }
}
