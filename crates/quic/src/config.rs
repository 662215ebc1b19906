//! What a transport makes its controllers from.

use crate::bridge::Bridge;
use crate::error::Error;
use seaway_control::{ControlSpec, FlowConfig, Kind, Registry};
use seaway_session::{BandwidthEstimator, Limits};
use seaway_units::{Bitrate, DataSize, Ecn};
use std::fmt;

/// A controller by name, with its limits: the factory that a transport's configuration takes.
///
/// With the features `quinn` and `noq` it is a `ControllerFactory` of that crate.
#[derive(Clone)]
pub struct ControllerConfig {
    registry: Registry,
    spec: ControlSpec,
    kind: Kind,
    pub(crate) limits: Limits,
}

impl ControllerConfig {
    /// The built-in controller that `spec` names, with its options, such as `seaway` or `nada`. It begins at 1 Mbit/s and stays
    /// between 100 kbit/s and 1 Gbit/s.
    ///
    /// # Errors
    /// There is none of that name, an option is wrong, or it needs more than acknowledgements contain.
    pub fn new(spec: &str) -> Result<Self, Error> {
        Self::with_registry(Registry::builtin(), spec)
    }

    /// The controller that `spec` names in this registry, which may have controllers of other crates.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_registry(registry: Registry, spec: &str) -> Result<Self, Error> {
        let spec: ControlSpec = spec.parse()?;
        registry.check(&spec)?;
        let requirements = registry.requirements(&spec)?;
        let why = match () {
            () if requirements.buffer => "it goes by the receiver's playout buffer, which is not reported",
            () if requirements.subflows => "it opens several connections, and this is one",
            () => {
                let info = registry.controllers().iter().find(|info| info.name == spec.name);
                let kind = info.map_or(Kind::Rate, |info| info.kind);
                let (min, max) = (Bitrate::from_kbps(100), Bitrate::from_mbps(1000));
                let limits = Limits { min, start: Bitrate::from_mbps(1), max };
                return Ok(Self { registry, spec, kind, limits });
            }
        };
        Err(Error::Unfit { name: spec.name, why })
    }

    /// The rates to stay between, and the one to begin with. `max` is what the application can use: a sender of media
    /// gives the rate of its best rendition, with headers. Rates count whole IP datagrams.
    #[must_use]
    pub fn limits(mut self, min: Bitrate, start: Bitrate, max: Bitrate) -> Self {
        self.limits = Limits { min, start, max };
        self
    }

    /// A controller for a path whose packets carry at most `payload` octets over UDP.
    pub(crate) fn bridge(&self, payload: u16) -> Bridge {
        let packet = DataSize::from_bytes(u64::from(payload)) + crate::bridge::HEADERS;
        // Both transports send ECT(0) until a path proves not to carry it.
        let flow = FlowConfig { packet, ecn: Ecn::Ect0 };
        let pair = self.registry.build(&self.spec, flow).expect("the specification was checked");
        let estimator = BandwidthEstimator::with_reported_losses(pair, self.limits);
        Bridge::new(estimator, self.kind == Kind::Rate, payload)
    }
}

impl fmt::Debug for ControllerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spec, limits, .. } = self;
        f.debug_struct("ControllerConfig").field("spec", spec).field("limits", limits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acknowledgements_cannot_serve_is_refused() {
        for (spec, why) in [("buffer-type1", "playout buffer"), ("multfrc", "several"), ("gcx", "gcc")] {
            let error = ControllerConfig::new(spec).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let error = ControllerConfig::new("seaway(weight=-1)").unwrap_err();
        assert!(matches!(error, Error::Spec(_)), "{error}");
    }

    #[test]
    fn every_other_controller_runs() {
        for info in Registry::builtin().controllers() {
            match ControllerConfig::new(info.name) {
                Ok(config) => assert!(config.bridge(1200).window() >= 2400, "{}", info.name),
                Err(error) => assert!(matches!(error, Error::Unfit { .. }), "{error}"),
            }
        }
    }
}
