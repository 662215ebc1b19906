//! Between what a QUIC transport passes to its congestion controller and what ours take, without either transport.

use crate::arrivals::{Arrivals, holding_time};
use crate::open::{Open, OpenPackets};
use seaway_control::{PacketId, Subflow};
use seaway_session::{BandwidthEstimator, Departure, PacketArrival, PacketResult};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// The IP (v4) and UDP headers, which a transport does not count.
pub(crate) const HEADERS: DataSize = DataSize::from_bytes(28);
/// Packets over which the pace is averaged: a controller may send up to three back to back and pause for them.
const PACE_SPAN: usize = 3;
/// A rate controller bounds no flight. This much more than a round trip's octets may be open, so that a path that has gone
/// silent stops its sender.
const LONGEST_QUEUE: TimeDelta = TimeDelta::from_millis(250);
/// Before the first sample (RFC 9002 section 6.2.2).
const INITIAL_RTT: TimeDelta = TimeDelta::from_millis(333);

/// A controller, the packets whose fate is open, and the pace of the last few.
#[derive(Debug)]
pub(crate) struct Bridge {
    estimator: BandwidthEstimator,
    open: OpenPackets,
    arrivals: Arrivals,
    /// The packets that the acknowledgement at hand names.
    acknowledged: Vec<Open>,
    /// The transport's smoothed round-trip time before that acknowledgement; `None` between two.
    before: Option<TimeDelta>,
    /// Packets that the transport declared lost, by their departure.
    lost: VecDeque<(Timestamp, PacketId)>,
    /// An acknowledgement that may have been held.
    held_back: Option<HeldBack>,
    /// The path showed congestion marks since the last report.
    marked: bool,
    /// The transport had no more to send when it last looked.
    is_limited: bool,
    smoothed_rtt: Option<TimeDelta>,
    /// Time that each of the last packets takes, s, and its bits.
    paced: [(f64, f64); PACE_SPAN],
    /// A rate paces; a window leaves the pace to the transport.
    has_pace: bool,
    payload: u16,
}

/// An acknowledgement of one packet alone. A peer makes one for every two packets (RFC 9000 section 13.2.2), or after a time,
/// so this one was held; how long is known with the next one.
#[derive(Debug)]
struct HeldBack {
    packet: Open,
    at: Timestamp,
    /// The transport's smoothed round-trip time before it.
    before: TimeDelta,
}

impl Bridge {
    pub(crate) fn new(estimator: BandwidthEstimator, has_pace: bool, payload: u16) -> Self {
        Self {
            estimator,
            open: OpenPackets::default(),
            arrivals: Arrivals::default(),
            acknowledged: Vec::new(),
            before: None,
            lost: VecDeque::new(),
            held_back: None,
            marked: false,
            is_limited: false,
            smoothed_rtt: None,
            paced: [(0.0, 0.0); PACE_SPAN],
            has_pace,
            payload,
        }
    }

    /// The largest payload over UDP.
    pub(crate) const fn payload(&self) -> u16 {
        self.payload
    }

    pub(crate) const fn set_payload(&mut self, payload: u16) {
        self.payload = payload;
    }

    /// A packet left with so many octets over UDP.
    pub(crate) fn on_sent(&mut self, now: Timestamp, number: Option<u64>, size: u64) {
        self.run_timers(now);
        let backlog = if self.is_limited { DataSize::ZERO } else { DataSize::from_bytes(size) };
        let departure = Departure { backlog, ..Departure::new(DataSize::from_bytes(size) + HEADERS) };
        let marking = self.estimator.marking(now, &departure);
        let (bits, seconds) = self.next_packet(departure.size);
        self.paced.rotate_left(1);
        self.paced[PACE_SPAN - 1] = (bits, seconds);
        let id = self.estimator.on_sent(now, &departure, marking);
        if let Some(forgotten) = self.open.push(now, number, size, id) {
            self.estimator.on_report(now, &[lost(forgotten.id)], TimeDelta::ZERO);
        }
    }

    /// A packet that left at `sent` is acknowledged at `now`. `smoothed` is the transport's round-trip time before this
    /// acknowledgement.
    pub(crate) fn on_acknowledged(
        &mut self,
        now: Timestamp,
        sent: Timestamp,
        number: Option<u64>,
        size: u64,
        smoothed: TimeDelta,
    ) {
        if self.before.replace(smoothed).is_none() {
            self.release(now, smoothed);
        }
        self.acknowledged.extend(self.open.acknowledge(sent, number, size));
    }

    /// An acknowledgement was read to its end; `limited` says that the application had no more to send.
    pub(crate) fn on_end_of_acknowledgement(&mut self, now: Timestamp, limited: bool) {
        self.is_limited = limited;
        self.run_timers(now);
        let mut packets = std::mem::take(&mut self.acknowledged);
        packets.sort_by_key(|open| open.id);
        match (self.before.take(), packets.as_slice()) {
            (Some(before), &[packet]) => self.held_back = Some(HeldBack { packet, at: now, before }),
            _ => self.report(now, now, &packets),
        }
        packets.clear();
        self.acknowledged = packets;
    }

    /// Reports the acknowledgement that was held back, now that the round-trip time after it is known.
    fn release(&mut self, now: Timestamp, after: TimeDelta) {
        let Some(HeldBack { packet, at, before }) = self.held_back.take() else { return };
        let held = holding_time(at.since(packet.sent), before, after);
        self.report(now, at - held, &[packet]);
    }

    /// Reports packets, the newest of which arrived `at`, and those that the transport has given up without a word.
    fn report(&mut self, now: Timestamp, at: Timestamp, packets: &[Open]) {
        let sent: Vec<_> = packets.iter().map(|open| (open.sent, open.size)).collect();
        let arrivals =
            self.arrivals.of(at, &sent).into_iter().map(|at| RemoteTimestamp::from_nanos(at.as_nanos()));
        let mut results: Vec<_> =
            packets.iter().zip(arrivals).map(|(open, at)| received(open.id, Some(at))).collect();
        if let Some(PacketResult { arrival: Some(arrival), .. }) = results.last_mut() {
            arrival.ecn = if std::mem::take(&mut self.marked) { Ecn::Ce } else { Ecn::NotEct };
        }
        while let Some(open) = self.open.pop_silent(now) {
            results.push(received(open.id, None));
        }
        if let Some((sent, _)) = sent.last() {
            let sample = at.since(*sent);
            self.smoothed_rtt = Some(self.smoothed_rtt.map_or(sample, |known| (known * 7 + sample) / 8));
        }
        if !results.is_empty() {
            self.estimator.on_report(now, &results, now.since(at));
        }
    }

    /// The transport declares a packet lost, by its number.
    pub(crate) fn on_lost(&mut self, now: Timestamp, number: u64, size: u64) {
        let lost = self.open.lose(number, size);
        self.report_lost(now, lost.as_slice());
    }

    /// The transport declares octets lost, in packets that left by `latest`.
    pub(crate) fn on_octets_lost(&mut self, now: Timestamp, latest: Timestamp, octets: u64) {
        let lost = self.open.lose_octets(latest, octets);
        self.report_lost(now, &lost);
    }

    fn report_lost(&mut self, now: Timestamp, packets: &[Open]) {
        self.run_timers(now);
        let results: Vec<_> = packets.iter().map(|open| lost(open.id)).collect();
        self.forget_losses(now);
        self.lost.extend(packets.iter().map(|open| (open.sent, open.id)));
        if !results.is_empty() {
            self.estimator.on_report(now, &results, TimeDelta::ZERO);
        }
    }

    /// All packets that the transport declared lost lately were only late.
    pub(crate) fn on_spurious_losses(&mut self, now: Timestamp) {
        self.forget_losses(now);
        let results: Vec<_> = self.lost.drain(..).map(|(_, id)| received(id, None)).collect();
        if !results.is_empty() {
            self.estimator.on_report(now, &results, TimeDelta::ZERO);
        }
    }

    /// A transport forgets its losses in about two probe timeouts (RFC 9002 section 6.2.1).
    fn forget_losses(&mut self, now: Timestamp) {
        let span = self.rtt() * 3;
        while self.lost.front().is_some_and(|(sent, _)| *sent + span < now) {
            self.lost.pop_front();
        }
    }

    /// The path marked packets; the transport does not say which or how many. One of the next report counts for them.
    pub(crate) const fn on_marked(&mut self) {
        self.marked = true;
    }

    /// What media and its repair may use together, in whole IP datagrams.
    pub(crate) fn target(&self) -> Bitrate {
        self.estimator.controller().target().rate
    }

    /// Payload octets that may be open.
    pub(crate) fn window(&self) -> u64 {
        let allowance = self.estimator.controller().allowance(Subflow(0));
        let window = match (allowance.window, self.pace()) {
            (Some(room), _) => self.open.octets() + self.payload_of(room.as_bytes_f64()),
            (None, Some(pace)) => pace.size_in(self.rtt() + LONGEST_QUEUE).as_bytes(),
            (None, None) => u64::from(u32::MAX),
        };
        window.max(2 * u64::from(self.payload))
    }

    /// The window by which a transport that paces a window over the smoothed round-trip time sends at the pace: at most
    /// [`window`](Self::window). Two packets more than that wait for a delayed acknowledgement.
    pub(crate) fn paced_window(&self) -> u64 {
        let least = 2 * u64::from(self.payload);
        let paced = self.pace().map(|pace| pace.size_in(self.rtt()).as_bytes() + least);
        paced.map_or(self.window(), |paced| paced.min(self.window()).max(least))
    }

    /// Payload per second, averaged over the last packets.
    pub(crate) fn pace(&self) -> Option<Bitrate> {
        if !self.has_pace {
            return None;
        }
        let size = DataSize::from_bytes(u64::from(self.payload)) + HEADERS;
        let next = self.next_packet(size);
        let last = &self.paced[1..];
        let (bits, seconds) =
            last.iter().chain([&next]).fold((0.0, 0.0), |sum, packet| (sum.0 + packet.0, sum.1 + packet.1));
        let rate = (bits / seconds.max(1e-9)).min(1e12);
        Some(Bitrate::from_bps(8 * self.payload_of(rate / 8.0)))
    }

    /// The bits of a packet and how long it takes at the present allowance, s.
    fn next_packet(&self, size: DataSize) -> (f64, f64) {
        let allowance = self.estimator.controller().allowance(Subflow(0));
        let bits = size.as_bytes_f64() * 8.0;
        (bits, bits / allowance.rate.as_bps_f64().max(1.0) + allowance.gap.as_secs_f64())
    }

    /// Of octets of whole datagrams, the payload.
    fn payload_of(&self, octets: f64) -> u64 {
        let payload = f64::from(self.payload);
        (octets * payload / (payload + HEADERS.as_bytes_f64())) as u64
    }

    fn rtt(&self) -> TimeDelta {
        self.smoothed_rtt.unwrap_or(INITIAL_RTT)
    }

    /// A transport has no timers for its controller: those that are due run with the next input.
    fn run_timers(&mut self, now: Timestamp) {
        if self.estimator.poll_timeout().is_some_and(|due| due <= now) {
            self.estimator.handle_timeout(now);
        }
        let controller = self.estimator.controller_mut();
        // Probes are not sent: a transport has no padding for them. Decisions are not read.
        while controller.poll_probe(now).is_some() {}
        while controller.poll_decision().is_some() {}
    }
}

const fn received(id: PacketId, at: Option<RemoteTimestamp>) -> PacketResult {
    PacketResult { id, arrival: Some(PacketArrival { at, ecn: Ecn::NotEct }) }
}

const fn lost(id: PacketId) -> PacketResult {
    PacketResult { id, arrival: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ControllerConfig;
    use proptest::prelude::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn bridge(spec: &str) -> Bridge {
        ControllerConfig::new(spec).unwrap().bridge(1200)
    }

    /// `fixed` paces at 1 Mbit/s of IP datagrams: of 1228 octets 1200 are payload. A round trip of 100 ms and 250 ms more may
    /// be open.
    #[test]
    fn pace_and_window_are_those_of_the_payload() {
        let mut bridge = bridge("fixed(rate=1 Mbit/s)");
        let payload = 1e6 * 1200.0 / 1228.0;
        let pace = bridge.pace().unwrap().as_bps_f64();
        assert!((pace - payload).abs() < 10.0, "{pace}");
        for number in 0..2 {
            bridge.on_sent(at(0), Some(number), 1200);
        }
        for number in 0..2 {
            bridge.on_acknowledged(at(100), at(0), Some(number), 1200, TimeDelta::from_millis(333));
        }
        bridge.on_end_of_acknowledgement(at(100), false);
        assert_eq!(bridge.window(), (payload / 8.0 * 0.35) as u64);
        assert_eq!(bridge.paced_window(), (payload / 8.0 * 0.1) as u64 + 2400);
    }

    /// The acknowledgement of a single packet waits for the next one, which shows that it was held for 20 ms.
    #[test]
    fn what_was_held_is_no_delay() {
        let mut bridge = bridge("fixed(rate=1 Mbit/s)");
        bridge.on_sent(at(0), Some(0), 1200);
        bridge.on_sent(at(50), Some(1), 1200);
        let millis = TimeDelta::from_millis;
        bridge.on_acknowledged(at(70), at(0), Some(0), 1200, millis(50));
        bridge.on_end_of_acknowledgement(at(70), false);
        assert_eq!(bridge.estimator.last_rtt(), None);
        bridge.on_acknowledged(at(101), at(50), Some(1), 1200, millis(50));
        assert_eq!(bridge.estimator.last_rtt(), Some(millis(50)));
    }

    /// A packet that is declared lost and arrives after all is late.
    #[test]
    fn spurious_losses_are_taken_back() {
        let mut bridge = bridge("seaway");
        for number in 0..5 {
            bridge.on_sent(at(number), Some(number), 1200);
        }
        bridge.on_lost(at(60), 0, 1200);
        bridge.on_octets_lost(at(60), at(1), 1200);
        assert_eq!((bridge.estimator.counts().lost, bridge.estimator.counts().late), (2, 0));
        bridge.on_spurious_losses(at(70));
        assert_eq!((bridge.estimator.counts().lost, bridge.estimator.counts().late), (2, 2));
        assert_eq!(bridge.open.octets(), 3600);
    }

    proptest! {
        /// Whatever a transport reports, in whatever order, every controller leaves it a window.
        #[test]
        fn there_is_always_a_window(
            spec in prop::sample::select(&["seaway", "nada", "gcc", "scream", "tfrc", "window"][..]),
            steps in prop::collection::vec((0_u8..7, 0_u64..40, 1_u64..3000, 0_u64..60), 1..300),
        ) {
            let mut bridge = bridge(spec);
            let mut now = at(0);
            for (step, number, size, wait) in steps {
                now += TimeDelta::from_millis(wait as i64);
                let sent = at(number * 20);
                match step {
                    0 | 1 => bridge.on_sent(now, (step == 0).then_some(number), size),
                    2 => bridge.on_acknowledged(now, sent, Some(number), size, TimeDelta::from_millis(wait as i64)),
                    3 => bridge.on_end_of_acknowledgement(now, number % 2 == 0),
                    4 => bridge.on_lost(now, number, size),
                    5 => bridge.on_octets_lost(now, sent, size),
                    _ => bridge.on_spurious_losses(now),
                }
                prop_assert!(bridge.window() >= 2400 && bridge.paced_window() >= 2400);
                prop_assert!(bridge.paced_window() <= bridge.window());
                prop_assert!(bridge.pace().is_none_or(|pace| pace > Bitrate::ZERO));
            }
        }
    }
}
