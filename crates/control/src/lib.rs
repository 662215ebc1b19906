//! Sans-I/O rate control: every controller behind one trait.
//!
//! A controller is two halves. The sending half ([`RateController`]) decides how much the network may be
//! given; the receiving half ([`FeedbackSource`]) turns arrivals into reports. What travels between them is
//! matched by crate `session` with what was sent, so that a controller sees one language whatever stood on
//! the wire. A [`TargetPolicy`] splits the target among encoders.
//!
//! # The driving contract
//!
//! It is the same for every machine in this workspace:
//!
//! * time arrives as an argument and never runs back;
//! * after an input (`on_*`, `handle_*`), drain every `poll_*` until it is empty;
//! * `poll_timeout` is a pure reading: asking twice gives one answer, and `handle_timeout` is due then;
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
pub mod lda;
pub mod multfrc;
pub mod nada;
mod options;
mod packet;
pub mod policy;
mod registry;
pub mod scream;
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
pub use options::{OptionError, OptionGroup, OptionInfo, OptionTable, Options, Setter, Value, nearest};
pub use packet::{Content, Lane, Marking, PacketId, ProbeId, SentPacket, StreamId};
pub use policy::{Demand, Share, TargetPolicy};
pub use registry::Registry;
pub use signal::LocalSignal;
pub use spec::{ControlSpec, SpecError};
