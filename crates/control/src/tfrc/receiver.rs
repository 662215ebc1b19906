//! The receiving half of TFRC (RFC 5348 section 6).

use super::config::{Config, Profile};
use super::equation::TimeoutEstimator;
use super::loss_events::{Change, LossEvents};
use crate::estimators::{ArrivalRate, LossDiscriminator, RateWindow};
use crate::feedback::PeerReport;
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::packet::Subflow;
use seaway_units::{Bitrate, Ecn, Probability, TimeDelta, Timestamp};

/// Reports the loss event rate and the receive rate of each connection at RFC 5348's times: once a round-trip
/// time, and at once when a loss event begins.
#[derive(Debug, Clone)]
pub struct TfrcReceiver {
    subflows: Vec<SubflowReceiver>,
}

impl TfrcReceiver {
    /// For `subflows` connections; what arrives by another is ignored.
    pub fn new(config: Config, subflows: u8) -> Self {
        Self { subflows: (0..subflows).map(|_| SubflowReceiver::new(config)).collect() }
    }
}

impl FeedbackSource for TfrcReceiver {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        if let Some(subflow) = self.subflows.get_mut(usize::from(arrival.subflow.0)) {
            subflow.on_arrival(now, arrival);
        }
    }

    fn on_channel_loss(&mut self, lost: &Arrival) {
        if let Some(subflow) = self.subflows.get_mut(usize::from(lost.subflow.0)) {
            subflow.on_channel_loss(lost.sequence);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        for subflow in &mut self.subflows {
            subflow.handle_timeout(now);
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.subflows.iter().filter_map(SubflowReceiver::poll_timeout).min()
    }

    fn has_report(&self, _now: Timestamp) -> bool {
        self.subflows.iter().any(SubflowReceiver::has_report)
    }

    fn poll_report(&mut self, _now: Timestamp) -> Option<(Subflow, PeerReport)> {
        let due = |(index, subflow): (usize, &mut SubflowReceiver)| {
            Some((Subflow(index as u8), subflow.take_report()?))
        };
        self.subflows.iter_mut().enumerate().find_map(due)
    }
}

/// The receiving half of one connection. It also runs at the sender, fed with the fate of packets.
#[derive(Debug, Clone)]
pub(crate) struct SubflowReceiver {
    config: Config,
    losses: LossEvents,
    discriminator: Option<LossDiscriminator>,
    window: RateWindow,
    timeout: TimeoutEstimator,
    /// The sender's estimate on the packet with the highest number, seconds.
    rtt: Option<f64>,
    timer: Option<Timestamp>,
    /// The round-trip time at the last expiry (`R_(m-1)`).
    timer_rtt: f64,
    /// The loss event rate last reported.
    reported: f64,
    /// Something arrived since the last report.
    fresh: bool,
    /// The last expiry had nothing to report.
    silent: bool,
    /// A loss event began since the last report.
    new_event: bool,
    /// Highest receive rate so far, segments a second.
    best: f64,
    ce_packets: u32,
    pending: Option<PeerReport>,
}

/// Least receive rate for the first loss interval, segments a round-trip time (RFC 5348 section 6.3.1).
const LEAST_FIRST: f64 = 0.5;
/// A round-trip time below this would have reports outnumber packets.
const LEAST_RTT: f64 = 100e-6;
/// A round-trip time above this, seconds, is taken for an error.
const LONGEST_RTT: f64 = 60.0;

impl SubflowReceiver {
    pub(crate) fn new(config: Config) -> Self {
        Self::with_losses(config, LossEvents::new(config.discount_floor(), config.small_packets))
    }

    /// Begins anew, in the same memory: the connection was closed and another opened.
    pub(crate) fn reopen(&mut self) {
        self.losses.clear(self.config.discount_floor());
        let losses = std::mem::take(&mut self.losses);
        *self = Self::with_losses(self.config, losses);
    }

    /// Without memory of its own, to stand in for another for a moment.
    pub(crate) fn hollow(config: Config) -> Self {
        Self::with_losses(config, LossEvents::default())
    }

    fn with_losses(config: Config, losses: LossEvents) -> Self {
        Self {
            config,
            losses,
            discriminator: config.discriminate.map(LossDiscriminator::new),
            window: RateWindow::new(),
            timeout: config.timeout_estimator(),
            rtt: None,
            timer: None,
            timer_rtt: 0.0,
            reported: 0.0,
            fresh: false,
            silent: false,
            new_event: false,
            best: 0.0,
            ce_packets: 0,
            pending: None,
        }
    }

    /// A link says that the channel lost packet `sequence`.
    pub(crate) fn on_channel_loss(&mut self, sequence: u64) {
        if let Some(scheme) = &mut self.discriminator {
            scheme.on_notice(sequence);
        }
    }

    pub(crate) fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        let change = self.take(now, arrival);
        self.after_arrival(now, change);
    }

    /// A packet outside the sequence that losses are found in: it counts in the receive rate, and a congestion
    /// mark on it falls on the newest packet of the sequence.
    pub(crate) fn on_outsider(&mut self, now: Timestamp, arrival: &Arrival) {
        self.catch_up(now);
        self.window.count_bytes(arrival.size);
        self.fresh = true;
        let mut change = Change::default();
        if arrival.ecn == Ecn::Ce {
            self.ce_packets = self.ce_packets.saturating_add(1);
            let rtt = self.rtt.unwrap_or(f64::INFINITY);
            let first_interval =
                first_interval(&self.config, &mut self.window, self.best, self.rtt, self.timeout, now);
            change = self.losses.on_mark(now, rtt, || first_interval);
            self.new_event |= change.event;
        }
        if self.window.last_mark().is_some() {
            self.after_arrival(now, change);
        }
    }

    pub(crate) const fn poll_timeout(&self) -> Option<Timestamp> {
        self.timer
    }

    /// A report is due.
    pub(crate) const fn has_report(&self) -> bool {
        self.pending.is_some()
    }

    /// The report that is due, once.
    pub(crate) const fn take_report(&mut self) -> Option<PeerReport> {
        self.pending.take()
    }

    /// Reports where the arrival gives reason to (RFC 5348 section 6.1).
    fn after_arrival(&mut self, now: Timestamp, change: Change) {
        let Some(rtt) = self.rtt else {
            // Until a packet carries the round-trip time, each is answered (RFC 5348 section 6.1).
            self.report(now, ArrivalRate::default());
            return;
        };
        if self.window.last_mark().is_none() {
            self.report(now, ArrivalRate::default());
            self.restart(now, rtt);
            return;
        }
        let overdue = self.silent && self.config.profile == Profile::Rfc5348;
        if self.timer.is_none() {
            self.timer = Some(now + TimeDelta::from_secs_f64(rtt));
        }
        let worse = change.event && self.losses.rate(now, self.rtt) > self.reported;
        if overdue || worse || change.undone {
            self.expire(now);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        if self.timer.is_some_and(|due| due <= now) {
            self.expire(now);
        }
    }

    /// The first packet is `sequence`.
    pub(crate) fn begin_at(&mut self, now: Timestamp, sequence: u64) {
        self.losses.begin_at(now, sequence);
    }

    /// Packets lost in a loss event on average.
    pub(crate) fn losses_per_event(&self) -> f64 {
        self.losses.losses_per_event()
    }

    /// Counts a packet and looks for losses, without any report.
    pub(crate) fn take(&mut self, now: Timestamp, arrival: &Arrival) -> Change {
        self.catch_up(now);
        let carried = arrival.rtt.filter(|_| self.losses.is_newest(arrival.sequence));
        if let Some(rtt) = carried {
            let rtt = rtt.as_secs_f64().clamp(LEAST_RTT, LONGEST_RTT);
            self.rtt = Some(rtt);
            self.timeout.update(rtt);
        }
        self.window.count(arrival.size);
        self.fresh = true;
        let (marked, sequence) = (arrival.ecn == Ecn::Ce, arrival.sequence);
        let discriminator = self.discriminator.as_mut();
        let on_channel = discriminator.is_some_and(|scheme| scheme.on_arrival(now, sequence, arrival.sent));
        if on_channel {
            self.losses.excuse_before(now, sequence);
        }
        self.ce_packets = self.ce_packets.saturating_add(u32::from(marked));
        let (window, config) = (&mut self.window, &self.config);
        let (rtt, timeout, best) = (self.rtt, self.timeout, self.best);
        let first_interval = || first_interval(config, window, best, rtt, timeout, now);
        let change =
            self.losses.on_arrival(now, sequence, marked, self.rtt.unwrap_or(f64::INFINITY), first_interval);
        self.new_event |= change.event;
        change
    }

    /// The feedback timer expired, or was made to (RFC 5348 section 6.2).
    fn expire(&mut self, now: Timestamp) {
        let rtt = self.rtt.unwrap_or(self.timer_rtt);
        self.silent = !self.fresh;
        if self.silent {
            // The next packet starts the timer again, so nothing runs while nothing arrives.
            self.restart(now, rtt);
            self.timer = None;
        } else {
            let window = match self.config.profile {
                Profile::Rfc5348 => self.timer_rtt,
                Profile::Rfc3448 => rtt,
            };
            let rate = self.window.measure(now, window).unwrap_or_default();
            self.report(now, rate);
            self.restart(now, rtt);
        }
    }

    /// Marks the last expiry, at least a round-trip time ago, of a timer that ran on through silence.
    fn catch_up(&mut self, now: Timestamp) {
        let Some(mark) = self.window.last_mark().filter(|_| self.silent && self.timer.is_none()) else {
            return;
        };
        let expiries = (now.since(mark).as_secs_f64() / self.timer_rtt).floor() - 1.0;
        if expiries >= 1.0 {
            self.window.mark(mark + TimeDelta::from_secs_f64(expiries * self.timer_rtt));
        }
    }

    fn restart(&mut self, now: Timestamp, rtt: f64) {
        self.window.mark(now);
        self.timer_rtt = rtt;
        self.timer = Some(now + TimeDelta::from_secs_f64(rtt));
    }

    fn report(&mut self, now: Timestamp, rate: ArrivalRate) {
        self.best = self.best.max(self.config.segments(rate));
        let report = self.state(now, rate);
        self.reported = report.loss_event_rate.map_or(0.0, Probability::get);
        self.pending = Some(report);
        self.fresh = false;
        self.new_event = false;
    }

    fn state(&self, now: Timestamp, rate: ArrivalRate) -> PeerReport {
        PeerReport {
            loss_event_rate: Some(Probability::clamped(self.losses.rate(now, self.rtt))),
            new_loss_event: self.new_event,
            receive_rate: Some(Bitrate::from_bytes_per_second(rate.bytes)),
            ce_packets: Some(self.ce_packets),
            ..PeerReport::default()
        }
    }

    /// What a report would say now, where no report is sent: the sending half calls this at each feedback.
    pub(crate) fn sample(&mut self, now: Timestamp) -> PeerReport {
        let rtt = self.rtt.unwrap_or(0.0);
        let rate = self.window.measure(now, rtt).unwrap_or_default();
        self.best = self.best.max(self.config.segments(rate));
        // Four marks a round-trip time measure it to a quarter, however often feedback comes.
        if self.window.last_mark().is_none_or(|mark| now.since(mark).as_secs_f64() >= rtt / 4.0) {
            self.window.mark(now);
        }
        let report = self.state(now, rate);
        self.new_event = false;
        report
    }
}

/// The interval assumed before the first loss event: what the equation says at the rate the network is known
/// to carry, `best` or what `window` measures now, segments a second (RFC 5348 section 6.3.1).
fn first_interval(
    config: &Config,
    window: &mut RateWindow,
    best: f64,
    rtt: Option<f64>,
    timeout: TimeoutEstimator,
    now: Timestamp,
) -> f64 {
    let present = rtt.and_then(|rtt| window.measure(now, rtt)).unwrap_or_default();
    let present = config.segments(present);
    let target = match config.profile {
        Profile::Rfc5348 => best.max(present),
        Profile::Rfc3448 => present,
    };
    let (rtt, t_rto) = rtt.map_or((1.0, 4.0), |rtt| (rtt, timeout.get(rtt)));
    1.0 / config.equation.loss_event_rate(target.max(LEAST_FIRST / rtt), rtt, t_rto)
}
