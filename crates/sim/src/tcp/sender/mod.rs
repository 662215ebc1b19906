//! The sending end.

mod config;

pub use config::{SenderConfig, SenderStatistics};

use super::congestion::{Acked, Adjustment, Cause, Echo, Pacing, WindowAdjustment};
use super::recovery::{Ack, Recovery, RecoveryEvent};
use super::rto::{LazyTimer, RetransmissionTimeout};
use super::segment::{HEADERS, SackBlocks, Segment, SegmentKind};
use super::send_state::SendState;
use seaway_link::Packet;
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};

/// Sends one transfer after the other, each over a connection of its own.
///
/// # Driving contract
/// Inputs are [`handle_segment`](Self::handle_segment), [`handle_timeout`](Self::handle_timeout), [`open`](Self::open),
/// [`set_quiet`](Self::set_quiet) and [`close`](Self::close). After an input, call [`poll_transmit`](Self::poll_transmit)
/// until it returns `None`.
#[derive(Debug, Clone)]
pub struct Sender {
    config: SenderConfig,
    connection: u32,
    phase: Phase,
    send: SendState,
    recovery: Recovery,
    adjustment: Adjustment,
    rto: RetransmissionTimeout,
    timer: LazyTimer,
    /// The segment whose round trip is timed, and when it was sent.
    timed: Option<(u64, Timestamp)>,
    last_sent: Option<Timestamp>,
    /// Payload of the last segment of the transfer.
    last_length: u32,
    /// The lowest segment at the last timeout: the next one for the same leaves the threshold alone.
    timed_out: Option<u64>,
    /// One above what was on its way when the window was last reduced for a mark.
    reduced_to: Option<u64>,
    owes_cwr: bool,
    /// Before this nothing leaves, where sending is paced.
    next_departure: Option<Timestamp>,
    /// The time that segments took which left at once, and how many did.
    together: (TimeDelta, u32),
    /// The pacer held back a segment.
    is_held: bool,
    round_trip: Option<TimeDelta>,
    statistics: SenderStatistics,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There is no connection.
    Closed,
    /// Waits for the answer to a SYN; `is_due` where one has to be sent.
    Opening {
        is_due: bool,
        sent: Option<Timestamp>,
        timeouts: u32,
    },
    Open,
}

impl Sender {
    /// A sender without a connection.
    pub fn new(config: SenderConfig) -> Self {
        Self {
            config,
            connection: 0,
            phase: Phase::Closed,
            send: SendState::new(config.initial_window(), 0),
            recovery: Recovery::new(config.effective_recovery()),
            adjustment: Adjustment::new(config.congestion, config.payload()),
            rto: RetransmissionTimeout::new(config.min_rto),
            timer: LazyTimer::default(),
            timed: None,
            last_sent: None,
            last_length: config.payload().as_bytes() as u32,
            timed_out: None,
            reduced_to: None,
            owes_cwr: false,
            next_departure: None,
            together: (TimeDelta::ZERO, 0),
            is_held: false,
            round_trip: None,
            statistics: SenderStatistics::default(),
        }
    }

    /// What it has done so far.
    pub const fn statistics(&self) -> SenderStatistics {
        self.statistics
    }

    /// How it works.
    pub const fn config(&self) -> &SenderConfig {
        &self.config
    }

    /// The congestion window in segments.
    pub const fn congestion_window(&self) -> f64 {
        self.send.cwnd
    }

    /// The smoothed round-trip time of the present connection.
    pub fn smoothed_rtt(&self) -> Option<TimeDelta> {
        self.rto.smoothed()
    }

    /// The sample of the round-trip time that the last input gave, once.
    pub const fn take_round_trip(&mut self) -> Option<TimeDelta> {
        self.round_trip.take()
    }

    /// Whether there is no connection: none was opened yet, or all of its data has been acknowledged.
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Opens a new connection and transfers `amount` of payload by it; without end where `None`. A connection that
    /// is still there is given up.
    pub fn open(&mut self, amount: Option<DataSize>) {
        let full = self.config.payload().as_bytes();
        let (segments, last_length) = match amount.map(DataSize::as_bytes) {
            None => (u64::MAX, full),
            Some(bytes) => (bytes.div_ceil(full), bytes - bytes.saturating_sub(1) / full * full),
        };
        let Self { config, connection, statistics, .. } = *self;
        let is_quiet = self.send.is_quiet;
        *self = Self {
            connection: connection + 1,
            statistics,
            last_length: last_length as u32,
            send: SendState { is_quiet, ..SendState::new(config.initial_window(), segments) },
            phase: match config.handshake {
                true => Phase::Opening { is_due: true, sent: None, timeouts: 0 },
                false => Phase::Open,
            },
            ..Self::new(config)
        };
    }

    /// Whether the application has nothing new to send for the time being. Segments in flight are still recovered.
    pub const fn set_quiet(&mut self, is_quiet: bool) {
        self.send.is_quiet = is_quiet;
    }

    /// Whether the application has nothing new to send.
    pub const fn is_quiet(&self) -> bool {
        self.send.is_quiet
    }

    /// Gives up the connection: sends no more.
    pub fn close(&mut self) {
        self.phase = Phase::Closed;
        self.timer.stop();
    }

    fn on_syn_ack(&mut self, now: Timestamp) {
        let Phase::Opening { sent, timeouts, .. } = self.phase else { return };
        self.phase = Phase::Open;
        self.timer.stop();
        match (timeouts, sent) {
            (0, Some(sent)) => self.on_round_trip(now.since(sent)),
            _ => self.rto.after_syn_timeout(),
        }
        // RFC 6928 section 2: one lost SYN may be an accident.
        if timeouts > 1 {
            self.send.cwnd = 1.0;
        }
    }

    fn on_round_trip(&mut self, sample: TimeDelta) {
        self.rto.on_sample(sample);
        self.round_trip = Some(sample);
    }

    fn on_ack(&mut self, now: Timestamp, next: u64, echo: bool, sacked: &SackBlocks) {
        if next < self.send.una || next > self.send.high {
            self.statistics.invalid += u64::from(next > self.send.high);
            return;
        }
        let was_limited = self.send.is_window_limited();
        let newly = next - self.send.una;
        if newly > 0 {
            self.on_new_ack(now, next);
        }
        let is_reduced = self.reduced_to.is_some_and(|to| self.send.una < to);
        if self.config.ecn {
            self.on_echo(now, newly, echo);
        }
        let ack = Ack { now, newly, sacked, is_reduced };
        let outcome = self.recovery.on_ack(ack, &mut self.send, &mut self.adjustment);
        self.after_ack(now, newly, outcome);
        self.follow_model();
        let may_grow =
            outcome == RecoveryEvent::Open && newly > 0 && was_limited && !(echo && self.config.ecn);
        if may_grow {
            self.grow(now, newly);
        }
        if self.send.una == self.send.end {
            self.close();
        }
    }

    /// Gives the window to a model of the path, where the rules have one.
    fn follow_model(&mut self) {
        let Some(delivery) = self.recovery.take_delivery() else { return };
        if let Some(window) = self.adjustment.on_delivery(&delivery, self.send.cwnd) {
            (self.send.cwnd, self.send.ssthresh) = (window, window);
        }
    }

    fn on_new_ack(&mut self, now: Timestamp, next: u64) {
        self.send.una = next;
        self.send.next = self.send.next.max(next);
        if let Some((number, sent)) = self.timed
            && number < next
        {
            self.timed = None;
            self.on_round_trip(now.since(sent));
        }
    }

    /// The timer runs on from an acknowledgement of new data (RFC 6298 section 5.3), and from a fast retransmission: its
    /// acknowledgement takes a round trip from there, as Linux and ns-2 have it. A timer that ran on from before the
    /// duplicates would expire first wherever the least timeout is little more than the round trip.
    fn after_ack(&mut self, now: Timestamp, newly: u64, outcome: RecoveryEvent) {
        self.statistics.recoveries += u64::from(outcome == RecoveryEvent::Entered);
        let keeps_timer = matches!(outcome, RecoveryEvent::Recovering { keeps_timer: true });
        if (newly == 0 || keeps_timer) && outcome != RecoveryEvent::Entered {
            return;
        }
        if self.send.flight() == 0 {
            self.timer.stop();
        } else {
            self.timer.set(now + self.rto.get());
        }
    }

    fn grow(&mut self, now: Timestamp, newly: u64) {
        let send = &mut self.send;
        if send.in_slow_start() {
            // At most a segment an acknowledgement (RFC 5681 section 3.1, equation 2).
            send.cwnd += 1.0;
        } else {
            let acked = Acked { now, segments: newly, srtt: self.rto.smoothed().unwrap_or_default() };
            send.cwnd = self.adjustment.grow(send.cwnd, acked);
        }
    }

    /// Reduces the window for a mark, once for what is on its way (RFC 3168 section 6.1.2).
    fn on_echo(&mut self, now: Timestamp, newly: u64, is_marked: bool) {
        let srtt = self.rto.smoothed().unwrap_or_default();
        let send = &mut self.send;
        self.adjustment.on_echo(Echo {
            now,
            next: send.una,
            segments: newly,
            is_marked,
            sent: send.high,
            srtt,
        });
        // The acknowledgement of the very last of it may still carry the echo.
        let is_done = self.reduced_to.is_some_and(|to| send.una <= to);
        if !is_marked || is_done || self.recovery.is_active() {
            return;
        }
        let load = send.load(send.flight() + newly);
        send.ssthresh = self.adjustment.reduce(send.cwnd, load, Cause::Mark);
        send.cwnd = send.cwnd.min(send.ssthresh);
        self.reduced_to = Some(send.high);
        self.owes_cwr = true;
        self.statistics.mark_reductions += 1;
    }

    fn on_timeout(&mut self, now: Timestamp) {
        self.statistics.timeouts += 1;
        self.rto.back_off();
        if let Phase::Opening { is_due, timeouts, .. } = &mut self.phase {
            (*is_due, *timeouts) = (true, *timeouts + 1);
            return;
        }
        let send = &mut self.send;
        if self.timed_out != Some(send.una) {
            // In recovery the flight counts what has long left the network; the window does not.
            let flight = send.load(send.flight()).min(send.cwnd);
            send.ssthresh = self.adjustment.reduce(send.cwnd, flight, Cause::Timeout);
        }
        self.timed_out = Some(send.una);
        self.timed = None;
        self.recovery.on_timeout(now, send);
        self.timer.set(now + self.rto.get());
    }

    fn poll_syn(&mut self, now: Timestamp) -> Option<SegmentKind> {
        let Phase::Opening { is_due: is_due @ true, sent, .. } = &mut self.phase else { return None };
        (*is_due, *sent) = (false, Some(now));
        self.timer.set(now + self.rto.get());
        Some(SegmentKind::Syn)
    }

    fn poll_data(&mut self, now: Timestamp) -> Option<(SegmentKind, Ecn)> {
        if self.phase != Phase::Open {
            return None;
        }
        self.is_held = self.next_departure.is_some_and(|at| now < at);
        if self.is_held {
            return None;
        }
        self.restart_after_idle(now);
        let highest = self.send.high;
        let number = self.recovery.next_segment(&mut self.send)?;
        let is_new = number >= highest;
        self.note_sent(now, number, is_new);
        let is_last = number + 1 == self.send.end;
        let length = if is_last { self.last_length } else { self.config.payload().as_bytes() as u32 };
        let cwr = is_new && std::mem::take(&mut self.owes_cwr);
        let ecn = match (self.config.ecn && is_new, self.config.congestion.is_scalable()) {
            // Section 6.1.5: what is sent again is not marked capable.
            (false, _) => Ecn::NotEct,
            (true, true) => Ecn::Ect1,
            (true, false) => Ecn::Ect0,
        };
        Some((SegmentKind::Data { number, length, is_last, cwr }, ecn))
    }

    /// A window that has not been used for a timeout says nothing about the path any more (RFC 5681 section 4.1).
    fn restart_after_idle(&mut self, now: Timestamp) {
        let is_idle = self.send.flight() == 0 && self.last_sent.is_some_and(|at| now - at > self.rto.get());
        if is_idle {
            self.send.cwnd = self.send.cwnd.min(self.config.initial_window());
        }
    }

    fn note_sent(&mut self, now: Timestamp, number: u64, is_new: bool) {
        self.statistics.segments += 1;
        self.last_sent = Some(now);
        self.recovery.on_sent(now, number);
        if self.config.congestion.is_paced() {
            self.pace(now);
        }
        if is_new {
            self.timed = self.timed.or(Some((number, now)));
        } else {
            self.statistics.resent += 1;
            // Karn: an acknowledgement does not name the copy it is for.
            self.timed = self.timed.filter(|(timed, _)| *timed != number);
        }
        let restarts = number == self.send.una && !is_new && self.recovery.restarts_timer();
        if restarts || !self.timer.is_running() {
            self.timer.set(now + self.rto.get());
        }
    }
}

impl Sender {
    /// At the pace of the model, or the window spread over the round trip; that twice as fast in slow start, where the window
    /// doubles in it.
    fn pace(&mut self, now: Timestamp) {
        /// What a wake-up may send at once (RFC 9331 section 4.3, item 6).
        const BURST: TimeDelta = TimeDelta::from_micros(250);
        let pacing = match (self.adjustment.pacing(), self.rto.smoothed()) {
            (Some(pacing), _) => pacing,
            (None, Some(srtt)) => {
                let haste = if self.send.in_slow_start() { 2.0 } else { 1.0 };
                Pacing { gap: srtt.mul_f64(1.0 / (haste * self.send.cwnd)), at_once: 1 }
            }
            (None, None) => return,
        };
        let (owed, sent) = self.together;
        self.together = (owed + pacing.gap, sent + 1);
        if self.together.1 >= pacing.at_once {
            let due = self.next_departure.map_or(now, |due| due.max(now - BURST));
            self.next_departure = Some(due + self.together.0);
            self.together = (TimeDelta::ZERO, 0);
        }
    }
}

impl Sender {
    /// A segment arrives.
    pub fn handle_segment(&mut self, now: Timestamp, segment: &Segment) {
        if segment.connection != self.connection || self.is_closed() {
            return;
        }
        match &segment.kind {
            SegmentKind::SynAck => self.on_syn_ack(now),
            SegmentKind::Ack { next, echo, sacked } if self.phase == Phase::Open => {
                self.on_ack(now, *next, *echo, sacked);
            }
            _ => {}
        }
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.timer.expires(now) {
            self.on_timeout(now);
        }
    }

    /// The next segment that leaves at `now`.
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<Packet<Segment>> {
        let (kind, ecn) = match self.poll_syn(now) {
            Some(syn) => (syn, Ecn::NotEct),
            None => self.poll_data(now)?,
        };
        let payload = match kind {
            SegmentKind::Data { length, .. } => DataSize::from_bytes(u64::from(length)),
            _ => DataSize::ZERO,
        };
        let segment = Segment { connection: self.connection, kind };
        Some(Packet::new(HEADERS + payload, ecn, segment))
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) and [`poll_transmit`](Self::poll_transmit) next.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let departure = self.next_departure.filter(|_| self.is_held && self.phase == Phase::Open);
        self.timer.wake_up().into_iter().chain(departure).min()
    }
}
