//! Delay, loss and marks as one congestion signal (RFC 8698 section 4.2), at either side.

use super::config::{BUILD_UP, LOSS_PENALTY, MARK_PENALTY, NadaConfig, RatioClock, TAPS};
use super::equation::{penalty, perceived, smoothed};
use super::losses::LossHistory;
use super::window::{Totals, Window};
use crate::estimators::{BaseDelay, EarlyFilter, LongerRoute, RecentMin};
use seaway_units::{DataSize, TimeDelta, Timestamp, Transit};

/// A packet that arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    pub(super) at: Timestamp,
    pub(super) sequence: u64,
    pub(super) size: DataSize,
    pub(super) marked: bool,
    pub(super) transit: Transit,
    pub(super) rtt: Option<TimeDelta>,
}

/// What a rate update needs to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Signal {
    /// `x_curr`, ms.
    pub(super) delay: f64,
    /// `rmode` is 0.
    pub(super) ramp_up: bool,
    /// `r_recv`, bit/s.
    pub(super) receive_rate: f64,
}

/// Base delay is the least of the present and the former ten minutes (RFC 8698 section 5.1.1 asks for "tens of
/// minutes"; the way out after a change of route is [`LongerRoute`]). Not less: a flow alone keeps a queue of x_ref * RMAX / r by its own law, which a
/// shorter minimum takes for the path. At 3 Mbit/s, RMAX 13.5 Mbit/s and 100 ms of room, two buckets of 30 s leave a queue of 58 to 64 ms
/// and lose 0.6 to 1.8 % (round trip 60 ms); ten minutes leave 48 ms and lose nothing (160 ms).
const BASE_BUCKET: TimeDelta = TimeDelta::from_secs(600);
/// A higher queueing delay is taken for an error and left out, ms.
const LONGEST_DELAY: f64 = 60_000.0;
/// More missing at once than a 16-bit number can express (RFC 3550 section 5.1).
const LONGEST_GAP: u64 = 65_535;

/// Packets in a row that came after a higher number before the flow goes on from them (ours; RFC 3550 appendix A.1 has two).
const MOST_BEHIND: u32 = 64;

/// Gathers packets and gives the signal.
#[derive(Debug, Clone)]
pub(super) struct Aggregator {
    config: NadaConfig,
    early: EarlyFilter,
    base: BaseDelay<2>,
    route: LongerRoute,
    delays: RecentMin<TAPS>,
    window: Window,
    losses: LossHistory,
    next: Option<u64>,
    /// Packets in a row below `next`.
    behind: u32,
    /// When the newest packet arrived.
    newest_at: Timestamp,
    /// `p_loss` and `p_mark`.
    loss_ratio: f64,
    mark_ratio: f64,
}

impl Aggregator {
    pub(super) const fn new(config: NadaConfig) -> Self {
        Self {
            config,
            early: EarlyFilter::new(),
            base: BaseDelay::new(BASE_BUCKET),
            route: LongerRoute::new(config.stands()),
            delays: RecentMin::new(),
            window: Window::new(),
            losses: LossHistory::new(),
            next: None,
            behind: 0,
            newest_at: Timestamp::ZERO,
            loss_ratio: 0.0,
            mark_ratio: 0.0,
        }
    }

    /// A packet arrived now. One that comes after a higher number is discarded and stays a loss (RFC 8698
    /// section 5.1.2).
    pub(super) fn on_packet(&mut self, packet: &Observed) {
        let raw = self.queueing(packet.at, packet);
        self.count(packet.at, raw, packet);
    }

    /// A packet that left at `packet.at` is known to have arrived by now. On the sender's clock it did so when
    /// its queueing delay had passed: the constant part of the way only shifts the window.
    pub(super) fn on_matched(&mut self, now: Timestamp, packet: &Observed) {
        let raw = self.queueing(now, packet);
        self.count((packet.at + raw).min(now), raw, packet);
    }

    /// The delay above the base. Overtaken packets say nothing of the route: they are of the one before.
    fn queueing(&mut self, now: Timestamp, packet: &Observed) -> TimeDelta {
        let transit = self.early.confirmed(packet.transit);
        let queueing = self.base.update(now, transit);
        let in_order = self.next.is_none_or(|next| packet.sequence >= next);
        let base = self.base.get().filter(|_| in_order);
        let Some(base) = base.and_then(|base| self.route.confirmed(now, transit, base)) else {
            return queueing;
        };
        self.base.reset();
        self.early = EarlyFilter::new();
        self.base.update(now, base);
        self.base.update(now, transit)
    }

    fn count(&mut self, at: Timestamp, raw: TimeDelta, packet: &Observed) {
        if self.next.is_some_and(|next| packet.sequence < next) {
            self.behind += 1;
            if self.behind < MOST_BEHIND {
                return;
            }
            // So many are not overtaken: the highest number was none of this flow's.
            self.next = Some(packet.sequence);
        }
        self.behind = 0;
        let missing = self.next.map_or(0, |next| packet.sequence - next).min(LONGEST_GAP);
        self.next = Some(packet.sequence.saturating_add(1));
        self.newest_at = self.newest_at.max(at);
        if missing > 0 {
            self.losses.on_missing(at, missing, packet.rtt);
        }
        self.losses.on_received();
        let raw = raw.as_millis_f64().min(LONGEST_DELAY);
        self.delays.push(raw);
        let totals = self.window.at(at);
        totals.missing += missing;
        totals.received += 1;
        totals.marked += u64::from(packet.marked);
        totals.bytes += packet.size.as_bytes();
        totals.delay = totals.delay.max(raw);
        if self.config.ratio_clock == RatioClock::Packet {
            self.smooth(&self.window.sum(at).0);
        }
    }

    /// The path changed.
    pub(super) const fn forget_base(&mut self) {
        self.base.reset();
        self.early = EarlyFilter::new();
        self.route.reset();
    }

    /// The signal when the newest packet arrived: at the sender, what is younger is not known yet.
    pub(super) fn newest_signal(&mut self) -> Option<Signal> {
        self.signal(self.newest_at)
    }

    /// The signal now, `None` where nothing arrived within the window.
    pub(super) fn signal(&mut self, now: Timestamp) -> Option<Signal> {
        let (totals, span) = self.window.sum(now);
        if totals.received == 0 {
            return None;
        }
        if self.config.ratio_clock == RatioClock::Report {
            self.smooth(&totals);
        }
        let queueing = self.delays.get().unwrap_or(0.0);
        let (interval, since) = (self.losses.interval(self.config.expiry), self.losses.since_loss());
        let delay = perceived(queueing, self.config.warp_threshold, interval, since)
            + penalty(self.mark_ratio, MARK_PENALTY)
            + penalty(self.loss_ratio, LOSS_PENALTY);
        Some(Signal {
            delay,
            ramp_up: totals.missing == 0 && totals.delay < BUILD_UP,
            // The first report cannot be younger than its interval; a jump of the clock could make it so.
            receive_rate: totals.bytes as f64 * 8.0 / span.max(0.1),
        })
    }

    fn smooth(&mut self, totals: &Totals) {
        let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let (missing, received) = (totals.missing, totals.received);
        self.loss_ratio = smoothed(self.loss_ratio, ratio(missing, missing + received));
        self.mark_ratio = smoothed(self.mark_ratio, ratio(totals.marked, received));
    }

    pub(super) const fn loss_ratio(&self) -> f64 {
        self.loss_ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::FlowConfig;
    use crate::nada::config::Variant;
    use seaway_units::{Ecn, RemoteTimestamp};

    fn aggregator() -> Aggregator {
        let flow = FlowConfig { packet: DataSize::from_bytes(1000), ecn: Ecn::Ect1 };
        Aggregator::new(NadaConfig::new(Variant::Rfc8698, flow))
    }

    /// Packet `sequence` of one every 10 ms, delayed by `delay` ms.
    fn packet(sequence: u64, delay: i64, marked: bool) -> Observed {
        let sent = Timestamp::ZERO + TimeDelta::from_millis(1000 + 10 * sequence as i64);
        let at = sent + TimeDelta::from_millis(30 + delay);
        let transit = RemoteTimestamp::from_nanos(at.as_nanos()).transit_from(sent);
        Observed { at, sequence, size: DataSize::from_bytes(1000), marked, transit, rtt: None }
    }

    #[test]
    fn clean_path_ramps_up() {
        let mut aggregator = aggregator();
        (0..100).for_each(|sequence| aggregator.on_packet(&packet(sequence, 0, false)));
        let signal = aggregator.signal(packet(99, 0, false).at).unwrap();
        assert_eq!((signal.delay, signal.ramp_up), (0.0, true));
        assert!((signal.receive_rate / 800e3 - 1.0).abs() < 0.03, "{signal:?}");
    }

    /// RFC 8698 section 4.2: every raw delay of the window counts for the mode, the least of 15 for the signal.
    #[test]
    fn one_late_packet_ends_ramp_up_but_is_filtered() {
        let mut aggregator = aggregator();
        (0..60).for_each(|sequence| {
            let delay = if sequence == 50 { 10 } else { 0 };
            aggregator.on_packet(&packet(sequence, delay, false));
        });
        let signal = aggregator.signal(packet(59, 0, false).at).unwrap();
        assert_eq!((signal.delay, signal.ramp_up), (0.0, false));
    }

    #[test]
    fn gaps_are_losses_and_reordered_packets_stay_lost() {
        let mut aggregator = aggregator();
        for sequence in [0, 1, 2, 4, 3, 5, 6, 7, 8, 9] {
            aggregator.on_packet(&packet(sequence, 0, sequence == 9));
        }
        let signal = aggregator.signal(packet(9, 0, false).at).unwrap();
        let loss = penalty(0.1 * 0.1, LOSS_PENALTY);
        let mark = penalty(0.1 / 9.0, MARK_PENALTY);
        assert!((signal.delay - loss - mark).abs() < 1e-9, "{signal:?}");
        assert!(!signal.ramp_up);
    }
}
