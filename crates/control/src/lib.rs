//! Sans-I/O rate control: every controller behind one trait.
//!
//! ```
//! use seaway_control::{FlowConfig, LocalSignal, Registry, SentPacket};
//! use seaway_units::{Bitrate, DataSize, Ecn, Timestamp};
//!
//! let packet = DataSize::from_bytes(1200);
//! let flow = FlowConfig { packet, ecn: Ecn::NotEct };
//! let (mut sender, _receiver) = Registry::builtin().build(&"nada".parse()?, flow)?;
//! let (min, max) = (Bitrate::from_kbps(150), Bitrate::from_mbps(3));
//! let now = Timestamp::ZERO;
//! sender.on_signal(now, LocalSignal::Limits { min, start: min, max });
//! sender.on_sent(now, &SentPacket::new(0, packet));
//! assert_eq!(sender.target().rate, min, "NADA begins at the least rate");
//! // Without feedback the timer runs out.
//! sender.handle_timeout(sender.poll_timeout().unwrap());
//! # Ok::<(), seaway_control::SpecError>(())
//! ```
//!
//! A controller is two halves. The sending half ([`RateController`]) decides how much may be sent; the receiving half
//! ([`FeedbackSource`]) turns arrivals into reports. Crate `session` matches the reports with what was sent, so a
//! controller sees one form of feedback whatever the wire format. A [`TargetPolicy`] splits the target among encoders.
//! A controller of another crate is added with [`Registry::with`].
//!
//! # The driving contract
//!
//! It is the same for every machine in this workspace:
//!
//! * time arrives as an argument and never runs back;
//! * after an input (`on_*`, `handle_*`), drain every `poll_*` until it is empty;
//! * `poll_timeout` has no effect: two calls give the same answer, and `handle_timeout` is due then;
//! * an early or spurious `handle_timeout` changes nothing;
//! * what comes out depends on configuration, seed and inputs so far, and on nothing else.

mod allowance;
pub mod buffer_aware;
mod controller;
pub mod ctfrc;
mod decision;
pub mod estimators;
mod feedback;
mod feedback_source;
mod fixed;
pub mod gcc;
mod info;
mod lanes;
pub mod lda;
pub mod multfrc;
pub mod nada;
mod no_feedback;
mod options;
mod packet;
pub mod policy;
mod registry;
pub mod scream;
pub mod seaway;
mod signal;
mod spec;
pub mod tfrc;
pub mod utfrc;
pub mod vtp;
pub mod window;

pub use allowance::{Allowance, Probe, Target};
pub use controller::RateController;
pub use decision::{Decision, DecisionLog, Gauge};
pub use feedback::{BufferLevel, Congestion, Fate, Feedback, PacketReport, PeerReport};
pub use feedback_source::{Arrival, FeedbackSource};
pub use fixed::{Fixed, PeriodicFeedback};
pub use info::{ControllerInfo, ControllerPair, FlowConfig, Kind, Requirements, WeightOption, pair};
pub use lanes::MOST_LANES;
pub use options::{
    FEEDBACK_INTERVAL, OptionError, OptionGroup, OptionInfo, OptionTable, Options, Setter, Value, nearest,
};
pub use packet::{Content, Marking, PacketId, ProbeId, SentPacket, StreamId, Subflow};
pub use policy::{Demand, Share, TargetPolicy};
pub use registry::{Factory, Registry};
pub use signal::LocalSignal;
pub use spec::{ControlSpec, SpecError};
