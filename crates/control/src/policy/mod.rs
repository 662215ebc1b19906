//! From the controller's target to each encoder's share.

mod direct;
mod pd;

pub use direct::Direct;
pub use pd::{Pd, PdConfig};

use crate::options;
use crate::options::{OptionGroup, OptionTable, Options, find_named};
use crate::packet::StreamId;
use crate::spec::{ControlSpec, SpecError};
use seaway_units::{Bitrate, DataSize, Probability, TimeDelta, Timestamp};
use std::fmt;

/// Splits the target among encoders and their repair. Samples on its own timer.
///
/// Driven by the [contract](crate#the-driving-contract).
pub trait TargetPolicy: fmt::Debug + Send + Sync {
    /// The controller's target changed, or the part of it that repair needs.
    fn on_target(&mut self, now: Timestamp, target: Bitrate, reserved: Probability);
    /// An encoder says what it could use and what still waits to be sent of it.
    fn on_demand(&mut self, now: Timestamp, stream: StreamId, demand: Demand);
    /// The instant named by [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, now: Timestamp);
    /// When it wants to be woken.
    fn poll_timeout(&self) -> Option<Timestamp>;
    /// What `stream` may use now.
    fn share(&self, stream: StreamId) -> Share;
    /// The send queue that the policy steers, in time of media at full rate. Where there is one nothing grows stale
    /// in it, and what it cannot hold is refused. `None`: the queue is the session's own.
    fn queue(&self) -> Option<TimeDelta> {
        None
    }
}

/// What one encoder could use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Its part relative to the others; above zero.
    pub weight: f32,
    /// It cannot go below.
    pub min: Bitrate,
    /// It has no use for more.
    pub max: Bitrate,
    /// What waits in the send queue of it.
    pub backlog: DataSize,
    /// What waits for less than this at the encoder's part is the frame that is being sent.
    pub standing: TimeDelta,
    /// What waits beyond that is to drain in this time.
    pub drain: TimeDelta,
    /// That takes at most this part of what it may have, 0 to 1.
    pub most_drained: f64,
}

impl Demand {
    /// An encoder that could use `max`, of weight 1, of which nothing waits. A frame leaves within 70 ms as a rule, and
    /// what waits for longer drains in 250 ms.
    pub const fn new(max: Bitrate) -> Self {
        let (standing, drain) = (TimeDelta::from_millis(70), TimeDelta::from_millis(250));
        Self {
            weight: 1.0,
            min: Bitrate::ZERO,
            max,
            backlog: DataSize::ZERO,
            standing,
            drain,
            most_drained: 1.0,
        }
    }
}

/// What one encoder may use, wire headers included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// For the coded frames.
    pub media: Bitrate,
    /// For retransmission and error correction beside them.
    pub repair: Bitrate,
}

/// What there is to say of a policy.
#[derive(Debug, Clone, Copy)]
pub struct PolicyInfo {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// The document it follows.
    pub source: &'static str,
    /// What can be set.
    pub options: OptionGroup,
    build: fn(&Options<'_>) -> Result<Box<dyn TargetPolicy>, SpecError>,
}

const DRAIN: OptionTable<bool> = options! { |drains: &mut bool, value|
    "drain" = "on", "on or off",
        "take the backlog of an encoder off its share; off: the controller's own rules alone":
        *drains = value.switch()?;
};

/// Every policy there is.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        name: "direct",
        source: "the target as it is, split by weight",
        options: DRAIN.group,
        build: |options| {
            let drains = options.read(&DRAIN, true)?;
            Ok(Box::new(if drains { Direct::new() } else { Direct::without_drain() }))
        },
    },
    PolicyInfo {
        name: "pd",
        source: "S002 section 3.4",
        options: PdConfig::OPTIONS.group,
        build: |options| Ok(Box::new(Pd::new(options.read(&PdConfig::OPTIONS, PdConfig::default())?))),
    },
];

/// Makes the policy that `spec` names.
///
/// # Errors
/// An unknown name or option, or a value out of its range: says what was found and what would be valid.
pub fn build(spec: &ControlSpec) -> Result<Box<dyn TargetPolicy>, SpecError> {
    let info = find_named(POLICIES, |info| info.name, "policy", &spec.name)?;
    (info.build)(&Options::new(spec, info.name, &[info.options])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name() {
        let error = |text: &str| build(&text.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(error("pt"), "\"pt\": no such policy; did you mean pd?");
        assert!(error("direct(a=1)").contains("drain"));
        assert!(build(&"direct(drain=off)".parse().unwrap()).is_ok());
        assert!(error("pd(interval=1 ms)").contains("out of range"));
        assert!(build(&"pd(buffer=2 s, floor=0)".parse().unwrap()).is_ok());
        assert!(build(&"direct".parse().unwrap()).is_ok());
    }
}
