//! How lost packets are repaired.

use seaway_session::{AdaptiveRepair, SenderConfig};
use seaway_units::TimeDelta;

/// How a sender repairs lost packets, inside the target of its controller (docs/models/protection.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repair {
    /// Not at all: the picture stands until the next key frame.
    Off,
    /// By retransmission, several times where no later one could arrive in time.
    Nack,
    /// By repair packets of forward error correction.
    Fec,
    /// By either, as the loss, the path and the latency demand.
    #[default]
    Adaptive,
}

impl Repair {
    /// Configures repair of a sender whose receiver shows a frame at most `latency` late.
    pub(super) fn apply(self, latency: TimeDelta, config: &mut SenderConfig) {
        let fec = matches!(self, Self::Fec | Self::Adaptive);
        config.repair = config.repair.filter(|_| matches!(self, Self::Nack | Self::Adaptive));
        config.adaptive = (self != Self::Off).then_some(AdaptiveRepair { deadline: latency, fec });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_session::{Format, Limits};
    use seaway_units::Bitrate;

    #[test]
    fn each_has_its_means() {
        let rate = Bitrate::from_mbps(1);
        let limits = Limits { min: rate, start: rate, max: rate };
        let means = |repair: Repair| {
            let mut config = SenderConfig::new(1, "fixed".parse().unwrap(), limits, Format::H264);
            repair.apply(TimeDelta::from_millis(200), &mut config);
            (config.repair.is_some(), config.adaptive.map(|adaptive| adaptive.fec))
        };
        assert_eq!(means(Repair::Off), (false, None));
        assert_eq!(means(Repair::Nack), (true, Some(false)));
        assert_eq!(means(Repair::Fec), (false, Some(true)));
        assert_eq!(means(Repair::default()), (true, Some(true)));
    }
}
