//! Bars: thresholds that a controller must meet in a case.

mod acceptance;
mod network;
mod quantity;
mod real_loss;
mod traps;

pub(super) use network::Network;
pub(super) use quantity::Quantity;

use super::cases::Suite;
use std::fmt;

/// A row of a suite: networks with bars, which hold or are missed together.
#[derive(Debug)]
pub(super) struct Row {
    /// Its name on the page and in tables.
    pub(super) name: &'static str,
    /// Its subject, in a few words.
    pub(super) about: &'static str,
    pub(super) networks: Vec<Network>,
}

impl Row {
    fn new(name: &'static str, about: &'static str, networks: impl IntoIterator<Item = Network>) -> Self {
        Self { name, about, networks: networks.into_iter().collect() }
    }
}

/// The rows of a suite; none where the suite has no bars.
pub(super) fn rows(suite: Suite) -> Vec<Row> {
    match suite {
        Suite::Acceptance => acceptance::rows(),
        Suite::RealLoss => real_loss::rows(),
        Suite::Traps => traps::rows(),
        Suite::Rfc8867 | Suite::Rfc8869 | Suite::Curves => Vec::new(),
    }
}

/// A quantity and what it must keep. At least one bound is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bar {
    pub(super) quantity: Quantity,
    pub(super) least: Option<Bound>,
    pub(super) most: Option<Bound>,
    /// A controller that misses the bar, which proves that the bar has an effect.
    #[cfg_attr(not(test), expect(dead_code, reason = "the test of the bars runs it"))]
    pub(super) wrong: &'static str,
}

impl Bar {
    /// Whether `value` keeps the bar; `peer` gives what another controller reached. A value that is absent does not.
    pub(super) fn holds(&self, value: Option<f64>, peer: &dyn Fn(&str) -> Option<f64>) -> bool {
        let (Some(value), Some((least, most))) = (value, self.bounds(peer)) else { return false };
        least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most)
    }

    /// The bounds in numbers; `None` where a peer has none.
    pub(super) fn bounds(&self, peer: &dyn Fn(&str) -> Option<f64>) -> Option<(Option<f64>, Option<f64>)> {
        let number = |bound: Option<Bound>| match bound {
            None => Some(None),
            Some(Bound::Is(number)) => Some(Some(number)),
            Some(Bound::Peer(control, factor)) => Some(Some(peer(control)? * factor)),
        };
        Some((number(self.least)?, number(self.most)?))
    }

    /// The controllers that it compares with.
    pub(super) fn peers(&self) -> impl Iterator<Item = &'static str> + use<> {
        let peer = |bound| match bound {
            Bound::Peer(control, _) => Some(control),
            Bound::Is(_) => None,
        };
        self.least.into_iter().chain(self.most).filter_map(peer)
    }
}

/// One end of what is allowed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    /// In the quantity's unit.
    Is(f64),
    /// So many times what this controller reaches in the same network.
    Peer(&'static str, f64),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(number) => write!(f, "{number}"),
            Self::Peer(control, 1.0) => write!(f, "{control}'s"),
            Self::Peer(control, factor) => write!(f, "{factor} × {control}'s"),
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "≥ {least}"),
            (None, Some(most)) => write!(f, "≤ {most}"),
            (None, None) => Ok(()),
        }
    }
}

impl Quantity {
    /// A bar from below. `wrong` misses it.
    const fn at_least(self, least: f64, wrong: &'static str) -> Bar {
        Bar { quantity: self, least: Some(Bound::Is(least)), most: None, wrong }
    }

    /// A bar from above.
    const fn at_most(self, most: f64, wrong: &'static str) -> Bar {
        Bar { quantity: self, least: None, most: Some(Bound::Is(most)), wrong }
    }

    /// A bar from both sides.
    const fn within(self, least: f64, most: f64, wrong: &'static str) -> Bar {
        Bar { quantity: self, least: Some(Bound::Is(least)), most: Some(Bound::Is(most)), wrong }
    }

    /// At least so many times what `peer` reaches.
    const fn at_least_of(self, peer: &'static str, factor: f64, wrong: &'static str) -> Bar {
        Bar { quantity: self, least: Some(Bound::Peer(peer, factor)), most: None, wrong }
    }

    /// At most so many times what `peer` reaches.
    const fn at_most_of(self, peer: &'static str, factor: f64, wrong: &'static str) -> Bar {
        Bar { quantity: self, least: None, most: Some(Bound::Peer(peer, factor)), wrong }
    }
}

#[cfg(test)]
mod tests;
