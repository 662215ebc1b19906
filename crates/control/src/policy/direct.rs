//! The target as it is, split by weight.

use super::{Demand, Share, TargetPolicy};
use crate::packet::StreamId;
use seaway_units::{Bitrate, Probability, Timestamp};

/// Gives every encoder its weighted part of the target, at once. What an encoder cannot use goes to the
/// others. Of each part, repair gets what is reserved for it. What waits of an encoder beyond a frame's worth is
/// taken off its share until it has drained: a target that falls finds frames that were coded for the old one.
#[derive(Debug, Clone)]
pub struct Direct {
    drains: bool,
    target: Bitrate,
    reserved: Probability,
    demands: Vec<(StreamId, Demand)>,
}

impl Direct {
    /// No target yet: every share is zero.
    pub const fn new() -> Self {
        Self { drains: true, target: Bitrate::ZERO, reserved: Probability::ZERO, demands: Vec::new() }
    }

    /// Leaves it to the controller's own rules to drain what waits, as its document describes them.
    pub fn without_drain() -> Self {
        Self { drains: false, ..Self::new() }
    }

    /// The demands of the encoders.
    pub(super) fn demands(&self) -> impl Iterator<Item = &Demand> {
        self.demands.iter().map(|(_, demand)| demand)
    }

    fn demand(&self, stream: StreamId) -> Option<&Demand> {
        self.demands.iter().find_map(|(id, demand)| (*id == stream).then_some(demand))
    }

    /// What drains a backlog that is more than stands at an encoder's part.
    fn drain(own: &Demand, part: Bitrate) -> Bitrate {
        if own.backlog.is_zero() {
            return Bitrate::ZERO;
        }
        let excess = own.backlog.saturating_sub(part.size_in(own.standing));
        if excess.is_zero() { Bitrate::ZERO } else { excess.over(own.drain).unwrap_or(Bitrate::ZERO) }
    }

    /// What an encoder may have of the target, whatever waits.
    fn part(&self, own: &Demand) -> Bitrate {
        let level = match self.demands[..] {
            // For one alone there is nothing to compare: what is too much for it is taken off below.
            [_] if own.weight == 1.0 => return self.target.min(own.max).max(own.min),
            [_] => self.target.as_bps_f64() / f64::from(own.weight),
            _ => self.level(),
        };
        Bitrate::from_bps_f64(level * f64::from(own.weight)).min(own.max).max(own.min)
    }

    /// What a weight of one is worth by a weighted max-min split: a stream that needs less than an equal part takes
    /// that and leaves.
    fn level(&self) -> f64 {
        let mut remaining = self.target.as_bps_f64();
        let mut weights: f64 = self.demands.iter().map(|(_, demand)| f64::from(demand.weight)).sum();
        let per_weight = |demand: &Demand| demand.max.as_bps_f64() / f64::from(demand.weight);
        let mut content: Vec<&Demand> = self.demands.iter().map(|(_, demand)| demand).collect();
        content.sort_by(|a, b| per_weight(a).total_cmp(&per_weight(b)));
        let mut left = content.len();
        for demand in content {
            let level = remaining / weights;
            if per_weight(demand) >= level {
                break;
            }
            remaining -= demand.max.as_bps_f64();
            weights -= f64::from(demand.weight);
            left -= 1;
        }
        // Where all are content there is more than enough.
        if left > 0 { remaining.max(0.0) / weights } else { f64::INFINITY }
    }
}

impl Default for Direct {
    fn default() -> Self {
        Self::new()
    }
}

impl TargetPolicy for Direct {
    fn on_target(&mut self, _now: Timestamp, target: Bitrate, reserved: Probability) {
        (self.target, self.reserved) = (target, reserved);
    }

    fn on_demand(&mut self, _now: Timestamp, stream: StreamId, demand: Demand) {
        let demand = Demand { weight: demand.weight.max(f32::MIN_POSITIVE), ..demand };
        match self.demands.iter_mut().find(|(id, _)| *id == stream) {
            Some((_, known)) => *known = demand,
            None => self.demands.push((stream, demand)),
        }
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn share(&self, stream: StreamId) -> Share {
        let Some(own) = self.demand(stream) else { return Share::default() };
        let part = self.part(own);
        let reserved = self.reserved;
        let repair = if reserved == Probability::ZERO { Bitrate::ZERO } else { part.mul_f64(reserved.get()) };
        let drain = if self.drains { Self::drain(own, part) } else { Bitrate::ZERO };
        if drain == Bitrate::ZERO {
            return Share { media: part - repair, repair };
        }
        let drain = drain.min((part - repair).mul_f64(own.most_drained));
        Share { media: (part - repair - drain).max(own.min.min(part - repair)), repair }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_units::DataSize;

    fn demand(weight: f32, max_kbps: u64) -> Demand {
        Demand { weight, ..Demand::new(Bitrate::from_kbps(max_kbps)) }
    }

    #[test]
    fn what_one_cannot_use_goes_to_the_others() {
        let mut policy = Direct::new();
        policy.on_demand(Timestamp::ZERO, StreamId(0), demand(1.0, 200));
        policy.on_demand(Timestamp::ZERO, StreamId(1), demand(1.0, 5000));
        policy.on_demand(Timestamp::ZERO, StreamId(2), demand(2.0, 5000));
        policy.on_target(Timestamp::ZERO, Bitrate::from_kbps(3200), Probability::clamped(0.1));
        let total = |id| policy.share(StreamId(id)).media + policy.share(StreamId(id)).repair;
        assert_eq!(total(0), Bitrate::from_kbps(200));
        assert_eq!(total(1), Bitrate::from_kbps(1000));
        assert_eq!(total(2), Bitrate::from_kbps(2000));
        assert_eq!(policy.share(StreamId(2)).repair, Bitrate::from_kbps(200));
        assert_eq!(policy.share(StreamId(9)), Share::default());
        policy.on_target(Timestamp::ZERO, Bitrate::from_mbps(50), Probability::ZERO);
        let media = [0, 1, 2].map(|id| policy.share(StreamId(id)).media);
        assert_eq!(media, [200, 5000, 5000].map(Bitrate::from_kbps));
    }

    #[test]
    fn a_backlog_is_taken_off_until_it_has_drained() {
        let mut policy = Direct::new();
        let target = Bitrate::from_mbps(2);
        policy.on_target(Timestamp::ZERO, target, Probability::ZERO);
        let media = |policy: &mut Direct, bytes| {
            let backlog = DataSize::from_bytes(bytes);
            policy.on_demand(Timestamp::ZERO, StreamId(0), Demand { backlog, ..demand(1.0, 5000) });
            policy.share(StreamId(0)).media
        };
        // 70 ms at 2 Mbit/s are 17 500 B; 12 500 B more drain in 250 ms at 0.4 Mbit/s.
        assert_eq!(media(&mut policy, 17_500), Bitrate::from_mbps(2));
        assert_eq!(media(&mut policy, 30_000), Bitrate::from_kbps(1600));
        assert_eq!(media(&mut policy, 1_000_000), Bitrate::ZERO);
        let mut policy = Direct::without_drain();
        policy.on_target(Timestamp::ZERO, target, Probability::ZERO);
        assert_eq!(media(&mut policy, 1_000_000), Bitrate::from_mbps(2));
    }
}
