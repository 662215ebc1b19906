//! Divides the target among media, retransmissions and repair packets: docs/models/protection.md.
//!
//! Where a retransmission arrives before the deadline it is the cheapest repair: it costs what was lost. What no later round
//! could repair any more is sent several times in the last one. Where no round fits, or where it costs more, repair packets
//! follow each picture.

use crate::config::AdaptiveRepair;
use seaway_control::{PacketId, PacketReport};
use seaway_units::{DataSize, Probability, TimeDelta, Timestamp};

/// A picture may fail with this probability.
const RESIDUAL: f64 = 1e-4;
/// Chernoff's bound on it for repair packets, which is about ten times the probability itself.
const BOUND: f64 = 1e-3;
/// Loss below this is left to single retransmissions.
const LEAST_LOSS: f64 = 0.002;
/// Independent losses of a third of the packets come in shorter runs.
const LONG_BURST: f64 = 1.5;
/// More rounds than these count as these.
const MOST_ROUNDS: u32 = 3;
/// Copies of a packet in the last round at most.
const MOST_COPIES: u32 = 4;
/// Repair packets a media packet at most.
const MOST_FEC: f64 = 1.5;
/// What is reserved for repair, over what it takes in the mean: more at once must not wait for the next picture.
const HEADROOM: f64 = 1.1;
/// Repair takes at most this part of the target.
const MOST_RESERVED: f64 = 0.6;
/// Retransmission is chosen where it costs less than this part of what repair packets cost, since it depends on every delay;
/// and instead of repair packets that are being sent, less than the second.
const CHEAPER: f64 = 0.5;
const MUCH_CHEAPER: f64 = 0.4;
/// A receiver takes a gap for reordering this long, and requests again after the round-trip time and a fifth of it, as
/// [`RepairRequests`](crate::RepairRequests) does by default.
const REORDER: TimeDelta = TimeDelta::from_millis(10);
const ROUND: f64 = 1.2;
/// Beside repair packets a packet is also sent again where that costs less than this part of them: a burst may take both a picture's
/// last packets and what repairs them.
const INSURANCE: f64 = 0.1;
/// Packets that the estimates remember.
const MEMORY: f64 = 256.0;
/// A division that differs by less is not passed on.
const STEP: f64 = 0.01;
/// Between two computations of the division.
const INTERVAL: TimeDelta = TimeDelta::from_millis(50);

/// The division of the target of one sender.
#[derive(Debug)]
pub(super) struct RepairPolicy {
    /// `None`: requests are served as they come, and the channel's loss is reserved for them.
    adaptive: Option<AdaptiveRepair>,
    retransmits: bool,
    loss: LossEstimate,
    spent: Spent,
    /// Packets of a picture in the mean, the time to the next, and the mean time in which one leaves.
    picture: f64,
    interval: TimeDelta,
    spread: TimeDelta,
    rtt: Option<TimeDelta>,
    channel_loss: f64,
    computed: Option<Timestamp>,
    /// Repair packets for each media packet, and what independent losses need of them.
    fec: f64,
    least_fec: f64,
    mode: Mode,
    /// After a change to retransmission, until when repair packets go on.
    fec_until: Option<Timestamp>,
    /// Parts of repair packets that are owed.
    owed: f64,
}

/// What repairs most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Retransmission,
    Fec,
}

/// A picture that left.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentPicture {
    pub(super) packets: u64,
    /// From it to the next.
    pub(super) interval: TimeDelta,
    /// From when it was handed over until its last packet left.
    pub(super) took: TimeDelta,
}

/// How a request for retransmission is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Service {
    /// How often the packet is sent.
    pub(super) copies: u8,
    /// So many packets leave between two copies, so that one burst of losses does not take both.
    pub(super) spacing: u64,
}

/// A request: when the packet's frame was handed over, and how often the packet was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) since: Timestamp,
    pub(super) sent: u8,
    /// It will not be served again.
    pub(super) is_last: bool,
}

impl RepairPolicy {
    pub(super) fn new(adaptive: Option<AdaptiveRepair>, retransmits: bool) -> Self {
        Self {
            adaptive,
            retransmits,
            loss: LossEstimate::default(),
            spent: Spent::default(),
            picture: 1.0,
            interval: TimeDelta::from_millis(40),
            spread: TimeDelta::ZERO,
            rtt: None,
            channel_loss: 0.0,
            computed: None,
            fec: 0.0,
            least_fec: 0.0,
            mode: Mode::Retransmission,
            fec_until: None,
            owed: 0.0,
        }
    }

    /// What comes later than this is of no use from now on.
    pub(super) fn set_deadline(&mut self, deadline: TimeDelta) {
        self.adaptive.iter_mut().for_each(|adaptive| adaptive.deadline = deadline);
    }

    /// How packets fared.
    pub(super) fn on_reports(&mut self, reports: &[PacketReport]) {
        if self.adaptive.is_some() {
            for report in reports {
                self.loss.on_report(report);
            }
        }
    }

    /// The signals of the controller and of the path.
    #[inline]
    pub(super) fn on_path(&mut self, now: Timestamp, rtt: Option<TimeDelta>, channel_loss: Probability) {
        self.channel_loss = channel_loss.get();
        let Some(adaptive) = self.adaptive else { return };
        self.rtt = rtt;
        if self.computed.is_none_or(|computed| now.since(computed) >= INTERVAL) {
            self.computed = Some(now);
            if adaptive.fec {
                self.choose(now, adaptive.deadline);
            }
        }
    }

    /// A picture left whole. Gives how many repair packets are to follow.
    pub(super) fn on_picture(&mut self, picture: SentPicture) -> u64 {
        let SentPicture { packets, interval, took } = picture;
        self.picture += (packets as f64 - self.picture) / 16.0;
        self.interval = interval;
        self.spread += (took - self.spread) / 16;
        let fec = if self.mode == Mode::Retransmission && self.is_too_slow(took) {
            self.fec_over(packets as f64)
        } else {
            0.0
        };
        self.owed += self.fec.max(fec) * packets as f64;
        let whole = self.owed.floor();
        self.owed -= whole;
        whole.min(self.fits(picture)) as u64
    }

    /// How many repair packets follow a picture before the next one, or as many as independent losses need: more of them are
    /// for bursts, where it does not help that the next picture waits. Those behind that one cover this one too.
    fn fits(&self, picture: SentPicture) -> f64 {
        let SentPicture { packets, interval, took } = picture;
        let packets = packets.max(1);
        let each = took / packets as i64;
        let room = if each > TimeDelta::ZERO { (interval - took).ratio(each) } else { f64::INFINITY };
        room.max((self.least_fec * packets as f64).ceil()).max(1.0)
    }

    #[inline]
    pub(super) fn on_media_sent(&mut self, size: DataSize) {
        if self.adaptive.is_some() {
            self.spent.media(size);
        }
    }

    pub(super) fn on_repair_sent(&mut self, size: DataSize) {
        self.spent.repair(size);
    }

    /// How to serve a request now; `None`: not at all, as it would come too late or repair packets do its work.
    pub(super) fn serve(&self, now: Timestamp, request: Request) -> Option<Service> {
        let Some(adaptive) = self.adaptive else { return Some(Service { copies: 1, spacing: 0 }) };
        let left = adaptive.deadline - now.since(request.since);
        if left.is_negative() {
            return None;
        }
        if self.mode == Mode::Fec {
            let is_cheap = self.loss() < INSURANCE * self.fec;
            return is_cheap.then_some(Service { copies: 1, spacing: 0 });
        }
        // The receiver requests again only if the answer can be there in time by the same measure.
        let more_rounds = self.rtt.is_some_and(|rtt| left > round(rtt) + rtt.mul_f64(ROUND - 1.0));
        let copies =
            if more_rounds && !request.is_last { 1 } else { self.copies(u32::from(request.sent)) as u8 };
        let spacing = (2.0 * self.loss.burst()).ceil() as u64;
        Some(Service { copies, spacing })
    }

    /// A repair of a frame that was handed over before this is of no use.
    pub(super) fn useful_since(&self, now: Timestamp) -> Timestamp {
        let deadline = self.adaptive.map_or(u64::MAX, |adaptive| adaptive.deadline.as_nanos().unsigned_abs());
        Timestamp::from_nanos(now.as_nanos().saturating_sub(deadline))
    }

    /// True where packets are lost, and few rounds fit or a burst takes many packets at once: what waits to be sent takes
    /// the time of a round away.
    pub(super) fn is_pressed(&self) -> bool {
        let Some(adaptive) = self.adaptive.filter(|_| self.loss() > 0.0) else { return false };
        self.rounds(adaptive.deadline) < MOST_ROUNDS || self.loss.burst() > LONG_BURST
    }

    /// The part of the target that repair needs.
    #[inline]
    pub(super) fn reserved(&self) -> Probability {
        match self.adaptive {
            Some(_) => self.reserved_for_plan(),
            None if self.retransmits => Probability::clamped(self.channel_loss),
            None => Probability::ZERO,
        }
    }

    fn reserved_for_plan(&self) -> Probability {
        let loss = self.loss();
        let planned = if self.fec > 0.0 || !self.retransmits { self.fec } else { loss };
        let overhead = planned.max(self.spent.overhead()) * HEADROOM;
        let part = (overhead / (1.0 + overhead)).min(MOST_RESERVED);
        // In steps, so that encoders do not get a new target with each packet.
        Probability::clamped((part / STEP).round() * STEP)
    }

    /// The loss that repair is sized by: the controller's, or what is measured where that is more.
    fn loss(&self) -> f64 {
        let loss = self.loss.ratio.max(self.channel_loss);
        if loss < LEAST_LOSS { 0.0 } else { loss.min(0.5) }
    }

    /// How often a packet can be requested before its deadline, for the last packets of a picture: their gap shows with
    /// the next picture.
    fn rounds(&self, deadline: TimeDelta) -> u32 {
        let Some(rtt) = self.rtt.filter(|_| self.retransmits) else { return 0 };
        let rounds = (deadline - self.interval.max(self.spread)).ratio(round(rtt));
        rounds.clamp(0.0, f64::from(MOST_ROUNDS)) as u32
    }

    /// Copies in the last round of a packet that was sent so often before, so that a picture fails no more often than
    /// [`RESIDUAL`].
    fn copies(&self, sent: u32) -> u32 {
        let loss = self.loss();
        if loss == 0.0 {
            return 1;
        }
        let needed = (libm::log(RESIDUAL / self.picture.max(1.0)) / libm::log(loss)).ceil() as u32;
        needed.saturating_sub(sent).clamp(1, MOST_COPIES)
    }

    /// Repair packets where no round fits, or where retransmission would cost more. After a change to retransmission they
    /// go on for the pictures whose requests were not served.
    fn choose(&mut self, now: Timestamp, deadline: TimeDelta) {
        let rounds = self.rounds(deadline);
        let window = self.window(deadline);
        let fec = if self.loss() > 0.0 { self.fec_over(window) } else { 0.0 };
        self.least_fec = if self.loss() > 0.0 { self.fec_of(window, 1.0) } else { 0.0 };
        let bound = if self.mode == Mode::Fec { MUCH_CHEAPER } else { CHEAPER };
        let wanted = fec > 0.0 && (rounds == 0 || self.retransmission_alone(rounds) > fec * bound);
        if wanted {
            (self.mode, self.fec) = (Mode::Fec, fec);
        } else if self.mode == Mode::Fec {
            (self.mode, self.fec_until) = (Mode::Retransmission, Some(now + deadline));
        } else if self.fec_until.is_some_and(|until| until <= now) {
            (self.fec, self.fec_until) = (0.0, None);
        }
    }

    /// True where the last packets of a picture that took so long can be repaired by no retransmission.
    fn is_too_slow(&self, took: TimeDelta) -> bool {
        let Some(AdaptiveRepair { deadline, fec: true }) = self.adaptive else { return false };
        let left = deadline - took.max(self.interval) - REORDER;
        self.loss() > 0.0 && self.rtt.is_none_or(|rtt| left < rtt.mul_f64(ROUND))
    }

    /// What retransmission costs for each media packet: each round what was lost in the one before.
    fn retransmission_alone(&self, rounds: u32) -> f64 {
        let loss = self.loss();
        let before: f64 = (1..rounds).map(|round| libm::pow(loss, f64::from(round))).sum();
        before + libm::pow(loss, f64::from(rounds)) * f64::from(self.copies(rounds))
    }

    /// Media packets that repair packets cover: those of the pictures that may still be of use.
    fn window(&self, deadline: TimeDelta) -> f64 {
        let pictures = (deadline - self.interval).ratio(self.interval.max(TimeDelta::from_millis(1)));
        (self.picture * pictures.max(1.0)).min(crate::fec::WINDOW as f64)
    }

    /// Repair packets for each of the `window` media packets that they cover: as many as leave a residual by Chernoff's
    /// bound. Losses in bursts vary more: so many packets count as one.
    fn fec_over(&self, window: f64) -> f64 {
        self.fec_of(window, self.loss.dispersion(self.loss()))
    }

    /// The same where so many packets count as one.
    fn fec_of(&self, window: f64, trials: f64) -> f64 {
        let (loss, window) = (self.loss(), window.max(1.0));
        let suffices = |repairs: &f64| {
            let packets = window + repairs;
            let lost = repairs / packets;
            lost > loss && packets / trials * divergence(lost, loss) >= -libm::log(BOUND)
        };
        let most = (window * MOST_FEC).ceil() as u32;
        let repairs = (1..=most).map(f64::from).find(suffices);
        repairs.map_or(MOST_FEC, |repairs| repairs / window)
    }
}

/// From a request to the next one of the same packet.
fn round(rtt: TimeDelta) -> TimeDelta {
    rtt.mul_f64(ROUND) + REORDER
}

/// Kullback-Leibler divergence of a coin of probability `a` from one of `b`, in nats.
fn divergence(a: f64, b: f64) -> f64 {
    let term = |a: f64, b: f64| if a <= 0.0 { 0.0 } else { a * libm::log(a / b) };
    term(a, b) + term(1.0 - a, 1.0 - b)
}

/// The loss ratio and the length of bursts.
#[derive(Debug, Default)]
struct LossEstimate {
    ratio: f64,
    seen: f64,
    /// Losses, and runs of them, with forgetting.
    losses: f64,
    runs: f64,
    last_lost: Option<PacketId>,
}

impl LossEstimate {
    /// The first packets count little: a loss among ten is no loss ratio of a tenth.
    const PRIOR: f64 = 32.0;

    fn on_report(&mut self, report: &PacketReport) {
        use seaway_control::Fate;
        let weight = 1.0 / (self.seen + Self::PRIOR).min(MEMORY);
        match report.fate {
            Fate::Received { .. } => self.ratio -= self.ratio * weight,
            Fate::Lost => {
                self.ratio += (1.0 - self.ratio) * weight;
                self.on_loss(report.packet.id);
            }
            // It had been counted as lost.
            Fate::Late { .. } => self.ratio = (self.ratio - weight).max(0.0),
        }
        self.seen += 1.0;
    }

    fn on_loss(&mut self, id: PacketId) {
        let goes_on = self.last_lost.replace(id).is_some_and(|last| last.0 + 1 == id.0);
        let keep = 1.0 - 1.0 / 64.0;
        self.losses = self.losses * keep + 1.0;
        self.runs = self.runs * keep + if goes_on { 0.0 } else { 1.0 };
    }

    /// The mean length of a run of losses, in packets.
    fn burst(&self) -> f64 {
        if self.runs < 1.0 { 1.0 } else { (self.losses / self.runs).max(1.0) }
    }

    /// How much more the number of losses varies than for independent ones at this ratio: (1 + ρ)/(1 − ρ) in a
    /// Gilbert channel, whose correlation ρ follows from the mean length of its bursts.
    fn dispersion(&self, loss: f64) -> f64 {
        let leave = 1.0 / self.burst();
        let enter = loss * leave / (1.0 - loss);
        let correlation = (1.0 - leave - enter).clamp(0.0, 0.9);
        (1.0 + correlation) / (1.0 - correlation)
    }
}

/// What repair takes beside media, in octets with forgetting.
#[derive(Debug, Default)]
struct Spent {
    media: f64,
    repair: f64,
}

impl Spent {
    fn media(&mut self, size: DataSize) {
        let keep = 1.0 - 1.0 / MEMORY;
        self.media = self.media * keep + size.as_bytes() as f64;
        self.repair *= keep;
    }

    fn repair(&mut self, size: DataSize) {
        self.repair += size.as_bytes() as f64;
    }

    /// Repair over media.
    fn overhead(&self) -> f64 {
        if self.media > 0.0 { self.repair / self.media } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::{Content, Fate, SentPacket, StreamId, Subflow};
    use seaway_units::Ecn;

    fn ms(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    const PICTURE: SentPicture =
        SentPicture { packets: 12, interval: TimeDelta::from_millis(40), took: TimeDelta::from_millis(35) };

    /// Pictures of twelve packets each 40 ms over a channel that loses `loss` in every way but the given one.
    fn policy(deadline: i64, rtt: i64, loss: f64, lost: impl Fn(u64) -> bool) -> RepairPolicy {
        let mut policy = RepairPolicy::new(Some(AdaptiveRepair { deadline: ms(deadline), fec: true }), true);
        for id in 0..4000 {
            let packet = SentPacket {
                id: PacketId(id),
                subflow: Subflow(0),
                sequence: id,
                size: DataSize::from_bytes(1200),
                content: Content::Media(StreamId(0)),
                probe: None,
                backlog: DataSize::ZERO,
            };
            let fate = if lost(id) { Fate::Lost } else { Fate::Received { at: None, ecn: Ecn::NotEct } };
            policy.on_reports(&[PacketReport { packet, sent: at(0), fate }]);
        }
        for _ in 0..100 {
            policy.on_picture(PICTURE);
        }
        policy.on_path(at(1000), Some(ms(rtt)), Probability::clamped(loss));
        policy
    }

    #[test]
    fn no_loss_costs_nothing() {
        let mut policy = policy(200, 300, 0.0, |_| false);
        assert_eq!((policy.on_picture(PICTURE), policy.reserved()), (0, Probability::ZERO));
    }

    #[test]
    fn pictures_are_larger_than_what_repair_packets_cover() {
        let mut policy = policy(200, 300, 0.0, |id| id.is_multiple_of(10));
        for millis in 0..100 {
            policy.on_picture(SentPicture { packets: 3000, ..PICTURE });
            policy.on_path(at(2000 + millis), Some(ms(300)), Probability::clamped(0.1));
        }
        assert!((0.1..0.6).contains(&policy.reserved().get()), "{}", policy.reserved());
    }

    /// Deadline 300 ms, round-trip time 50 ms: three rounds of 70 ms fit behind the 40 ms after which the last gap shows.
    #[test]
    fn short_paths_retransmit() {
        let policy = policy(300, 50, 0.0, |id| id.is_multiple_of(10));
        assert_eq!((policy.rounds(ms(300)), policy.fec), (3, 0.0));
        let reserved = policy.reserved().get();
        assert!((reserved - 0.09).abs() < 0.011, "0.1 of media are 0.09 of all: {reserved}");
        let served = |sent, millis| policy.serve(at(millis), Request { since: at(0), sent, is_last: false });
        assert_eq!(served(1, 60).map(|service| service.copies), Some(1), "three rounds are left");
        // ln(0.0001 / 12) / ln 0.1 = 5.08: six transmissions in all, four of them at once.
        assert_eq!(served(1, 240).map(|service| service.copies), Some(4), "the last round");
        assert_eq!(served(3, 240).map(|service| service.copies), Some(3), "the last of several rounds");
        assert_eq!(served(1, 301), None, "too late");
    }

    /// Deadline 150 ms, round-trip time 200 ms: no requested packet comes in time.
    #[test]
    fn long_paths_send_repair_packets() {
        let mut policy = policy(150, 200, 0.0, |id| id.is_multiple_of(10));
        // 2.75 pictures of 12 packets are 33 packets. With 17 repairs 50 packets of which 0.34 may be lost:
        // 50 (0.34 ln 3.4 + 0.66 ln 0.733) = 10.6 nats; -ln 0.001 = 6.9 needs 13.
        assert!((policy.fec - 13.0 / 33.0).abs() < 0.04, "{}", policy.fec);
        let sent: u64 = (0..100).map(|_| policy.on_picture(PICTURE)).sum();
        assert!(sent.abs_diff((policy.fec * 1200.0) as u64) <= 1, "{sent}");
        let (reserved, overhead) = (policy.reserved().get(), 1.1 * policy.fec);
        assert!(
            (reserved - overhead / (1.0 + overhead)).abs() < 0.006,
            "with a tenth of headroom: {reserved}"
        );
    }

    #[test]
    fn bursts_cost_more() {
        let alone = policy(150, 200, 0.0, |id| id.is_multiple_of(10));
        let bursts = policy(150, 200, 0.0, |id| id % 40 < 4);
        assert!((bursts.loss.burst() - 4.0).abs() < 0.1, "{}", bursts.loss.burst());
        assert!(bursts.fec > 1.5 * alone.fec, "{} {}", bursts.fec, alone.fec);
    }

    /// A picture of 12 packets that takes 30 of 40 ms leaves room for four; independent losses of this ratio need three of 33.
    #[test]
    fn the_next_picture_does_not_wait_for_what_bursts_need() {
        let mut policy = policy(150, 200, 0.0, |id| id % 200 < 4);
        let slow = SentPicture { took: ms(30), ..PICTURE };
        let quick = SentPicture { took: ms(12), ..PICTURE };
        assert!(policy.fec * 12.0 > 6.0, "{}", policy.fec);
        assert_eq!(policy.on_picture(slow), 4);
        assert!(policy.on_picture(quick) > 6);
        let whole = SentPicture { took: ms(40), ..PICTURE };
        assert_eq!(policy.on_picture(whole), (policy.least_fec * 12.0).ceil() as u64);
    }

    /// Beside repair packets a request is served where that costs little: at 2 % of loss in bursts, not at 10 % of independent loss.
    #[test]
    fn bursts_are_repaired_twice() {
        let request = Request { since: at(0), sent: 1, is_last: false };
        let bursts = policy(150, 200, 0.0, |id| id % 200 < 4);
        assert_eq!(bursts.serve(at(60), request), Some(Service { copies: 1, spacing: 0 }));
        let alone = policy(150, 200, 0.0, |id| id.is_multiple_of(10));
        assert_eq!((alone.mode, alone.serve(at(60), request)), (Mode::Fec, None));
    }

    #[test]
    fn what_the_controller_calls_the_channels_counts_too() {
        let policy = policy(150, 200, 0.1, |_| false);
        assert!(policy.fec > 0.2, "{}", policy.fec);
        let mut plain = RepairPolicy::new(None, true);
        plain.on_path(at(0), None, Probability::clamped(0.1));
        assert_eq!(plain.reserved(), Probability::clamped(0.1));
        assert_eq!(
            plain.serve(at(5000), Request { since: at(0), sent: 9, is_last: true }),
            Some(Service { copies: 1, spacing: 0 })
        );
        let mut off = RepairPolicy::new(None, false);
        off.on_path(at(0), None, Probability::clamped(0.1));
        assert_eq!(off.reserved(), Probability::ZERO, "nothing is repaired, nothing reserved");
    }

    /// A plan for pictures of twelve packets each 40 ms, after `loss` was measured exactly, and no bursts.
    fn exact(deadline: i64, rtt: i64, loss: f64) -> RepairPolicy {
        let mut policy = RepairPolicy::new(Some(AdaptiveRepair { deadline: ms(deadline), fec: true }), true);
        (policy.picture, policy.rtt, policy.loss.ratio) = (12.0, Some(ms(rtt)), loss);
        policy
    }

    /// Repair takes six tenths of the target at most, and repair packets are one and a half a media packet at most: at 50 % of loss
    /// 50 of 83 packets are 0.602, and 83 (0.602 ln 1.204 + 0.398 ln 0.796) is 1.7 nats of 6.9.
    #[test]
    fn repair_is_bounded() {
        let mut policy = exact(150, 200, 0.9);
        assert_eq!(policy.loss(), 0.5, "more is taken for so much");
        policy.on_path(at(1000), Some(ms(200)), Probability::ZERO);
        assert_eq!((policy.mode, policy.fec), (Mode::Fec, 1.5));
        // 1.1 * 1.5/2.65 would be 0.62.
        assert_eq!(policy.reserved().get(), 0.6);
        // Four copies in a last round, whatever it would take.
        let policy = exact(300, 50, 0.5);
        assert_eq!([1, 2, 9, 13, 14, 17, 200].map(|sent| policy.copies(sent)), [4, 4, 4, 4, 3, 1, 1]);
        assert_eq!(exact(300, 50, 0.0).copies(0), 1, "nothing is lost");
        assert_eq!(exact(300, 50, 0.0019).loss(), 0.0, "so little is left to single retransmissions");
        assert_eq!(exact(300, 50, 0.002).loss(), 0.002);
    }

    /// What is spent on repair is reserved, with a tenth more, in steps of a hundredth: 0.275/1.275 is 0.216.
    #[test]
    fn what_repair_takes_is_reserved() {
        let octets = DataSize::from_bytes;
        let mut policy = exact(300, 50, 0.0);
        policy.on_repair_sent(octets(100));
        assert_eq!(policy.reserved(), Probability::ZERO, "no media yet");
        policy.on_media_sent(octets(1000));
        policy.on_repair_sent(octets(250));
        // The first 100 were before the media, and are forgotten by a 256th: 349.6/1000 * 1.1 = 0.3846, of 1.3846.
        assert_eq!(policy.reserved(), Probability::clamped(0.28));
        let mut spent = Spent::default();
        spent.media(octets(1000));
        spent.repair(octets(500));
        assert_eq!(spent.overhead(), 0.5);
        spent.media(octets(1000));
        let keep = 255.0 / 256.0;
        assert!((spent.overhead() - 500.0 * keep / (1000.0 * keep + 1000.0)).abs() < 1e-12);
        // Without a plan it is the loss of the channel, and what is spent does not count.
        let mut plain = RepairPolicy::new(None, true);
        plain.on_media_sent(octets(1000));
        plain.on_repair_sent(octets(1000));
        assert_eq!(plain.reserved(), Probability::ZERO);
    }

    /// Rounds of 1.2 R and 10 ms behind the 40 ms after which the last gap of a picture shows, three at most.
    #[test]
    fn so_many_rounds_fit() {
        assert_eq!(round(ms(50)), ms(70));
        let rounds = |deadline, rtt| exact(deadline, rtt, 0.1).rounds(ms(deadline));
        assert_eq!(
            [(300, 50), (250, 50), (180, 50), (179, 50), (110, 50), (109, 50), (30, 50)]
                .map(|(d, r)| rounds(d, r)),
            [3, 3, 2, 1, 1, 0, 0]
        );
        // A picture that takes longer to leave than to the next one shows its gap later.
        assert_eq!(RepairPolicy { spread: ms(120), ..exact(300, 50, 0.1) }.rounds(ms(300)), 2);
        assert_eq!(RepairPolicy { retransmits: false, ..exact(300, 50, 0.1) }.rounds(ms(300)), 0);
        assert_eq!(RepairPolicy { rtt: None, ..exact(300, 50, 0.1) }.rounds(ms(300)), 0);
        // Each round what was lost in the one before, and the copies of the last: ln(0.0001/12)/ln 0.1 = 5.08.
        let policy = exact(300, 50, 0.1);
        for (rounds, cost) in [(1, 0.4), (2, 0.1 + 0.04), (3, 0.1 + 0.01 + 0.003)] {
            assert!((policy.retransmission_alone(rounds) - cost).abs() < 1e-12, "{rounds}");
        }
    }

    /// A request that the receiver can make again is served once, the last with copies; at 50 ms it needs 70 ms and 10 more.
    #[test]
    fn the_last_round_has_the_copies() {
        let policy = exact(300, 50, 0.1);
        let serve = |millis, is_last| policy.serve(at(millis), Request { since: at(0), sent: 1, is_last });
        let service = |copies| Some(Service { copies, spacing: 2 });
        assert_eq!([219, 220, 300].map(|millis| serve(millis, false)), [service(1), service(4), service(4)]);
        assert_eq!(serve(0, true), service(4), "it will not be served again");
        assert_eq!(serve(301, false), None);
        // Copies are so far apart that no burst takes two: twice three packets.
        let mut policy = policy;
        (policy.loss.losses, policy.loss.runs) = (30.0, 10.0);
        let served = policy.serve(at(0), Request { since: at(0), sent: 1, is_last: false });
        assert_eq!(served, Some(Service { copies: 1, spacing: 6 }));
    }

    /// A repair of a picture that is older than the deadline is of no use; without a plan all are.
    #[test]
    fn what_comes_too_late_is_of_no_use() {
        let mut policy = exact(150, 50, 0.0);
        assert_eq!([at(1000), at(100)].map(|now| policy.useful_since(now)), [at(850), at(0)]);
        policy.set_deadline(ms(400));
        assert_eq!(policy.useful_since(at(1000)), at(600));
        assert_eq!(RepairPolicy::new(None, true).useful_since(at(1000)), at(0));
    }

    #[test]
    fn a_path_is_pressed_where_few_rounds_fit_or_bursts_are_long() {
        assert!(!exact(300, 50, 0.1).is_pressed(), "three rounds");
        assert!(exact(180, 50, 0.1).is_pressed(), "two");
        assert!(!exact(180, 50, 0.0).is_pressed(), "nothing is lost");
        let mut bursts = exact(300, 50, 0.1);
        for (losses, is_pressed) in [(15.0, false), (16.0, true)] {
            (bursts.loss.losses, bursts.loss.runs) = (losses, 10.0);
            assert_eq!(bursts.is_pressed(), is_pressed);
        }
        assert!(!RepairPolicy { adaptive: None, ..bursts }.is_pressed());
    }

    /// A coin of one half from one of a quarter: ln 2/2 + ln(2/3)/2. And at the ends ln(1/0.75) and ln 4.
    #[test]
    fn divergence_of_coins() {
        for (a, expected) in [(0.5, 0.143_841), (0.0, 0.287_682), (1.0, 1.386_294), (0.25, 0.0)] {
            assert!((divergence(a, 0.25) - expected).abs() < 1e-6, "{a}");
        }
    }

    /// The first packet counts as one of 32, the next as one of 33 and so on up to 256; one that comes late was no loss.
    #[test]
    fn the_loss_ratio_begins_with_caution() {
        let mut estimate = LossEstimate::default();
        let mut report = |fate, id| {
            let packet = SentPacket { id: PacketId(id), ..SentPacket::new(0, DataSize::from_bytes(1200)) };
            estimate.on_report(&PacketReport { packet, sent: at(0), fate });
            (estimate.ratio, estimate.losses, estimate.runs)
        };
        let received = Fate::Received { at: None, ecn: Ecn::NotEct };
        assert_eq!(report(Fate::Lost, 1), (1.0 / 32.0, 1.0, 1.0));
        let (ratio, ..) = report(received, 2);
        assert!((ratio - 1.0 / 33.0).abs() < 1e-12);
        let (ratio, ..) = report(Fate::Late { at: None }, 1);
        assert!((ratio - (1.0 / 33.0 - 1.0 / 34.0)).abs() < 1e-12);
        let (ratio, ..) = report(Fate::Late { at: None }, 1);
        assert_eq!(ratio, 0.0, "never below none");
        for _ in 0..300 {
            report(received, 5);
        }
        let (ratio, losses, runs) = report(Fate::Lost, 6);
        assert_eq!((ratio, losses, runs), (1.0 / 256.0, 63.0 / 64.0 + 1.0, 63.0 / 64.0 + 1.0));
        // The packet behind it belongs to the same burst.
        let (_, losses, runs) = report(Fate::Lost, 7);
        assert_eq!((losses, runs), ((127.0 / 64.0) * (63.0 / 64.0) + 1.0, (127.0 / 64.0) * (63.0 / 64.0)));
        assert!((estimate.burst() - losses / runs).abs() < 1e-12);
    }

    /// Bursts of four at 10 % of loss: leave 1/4, enter 1/36, so that ρ is 0.722 and the losses vary 6.2 times as much.
    #[test]
    fn bursts_vary_more() {
        let dispersion =
            |losses, runs, loss| LossEstimate { losses, runs, ..LossEstimate::default() }.dispersion(loss);
        assert!((dispersion(40.0, 10.0, 0.1) - 6.2).abs() < 1e-9);
        assert_eq!(dispersion(10.0, 10.0, 0.1), 1.0, "no bursts");
        assert_eq!(dispersion(0.9, 0.5, 0.1), 1.0, "none known");
        assert!((dispersion(1000.0, 10.0, 0.01) - 19.0).abs() < 1e-9, "so much at most");
    }

    /// Repair packets cover the pictures that may still be of use: (150 - 40)/40 of 12 packets, one picture at least.
    #[test]
    fn repair_packets_cover_what_may_be_of_use() {
        let window = |deadline, interval, picture| {
            RepairPolicy { interval: ms(interval), picture, ..exact(deadline, 50, 0.1) }.window(ms(deadline))
        };
        assert_eq!(window(150, 40, 12.0), 33.0);
        assert_eq!(window(50, 40, 12.0), 12.0);
        assert_eq!(window(150, 0, 1.0), 150.0_f64.min(crate::fec::WINDOW as f64), "a millisecond at least");
        assert_eq!(window(150, 40, 1e6), crate::fec::WINDOW as f64);
    }

    /// The division is computed each 50 ms, and after a change to retransmission repair packets go on for a deadline.
    #[test]
    fn repair_packets_go_on_for_the_pictures_that_were_not_served() {
        let mut policy = exact(150, 200, 0.1);
        policy.on_path(at(1000), Some(ms(200)), Probability::ZERO);
        assert_eq!(policy.mode, Mode::Fec);
        let fec = policy.fec;
        // No loss any more: it changes with the next computation.
        policy.loss.ratio = 0.0;
        policy.on_path(at(1049), Some(ms(200)), Probability::ZERO);
        assert_eq!((policy.mode, policy.fec), (Mode::Fec, fec));
        policy.on_path(at(1050), Some(ms(200)), Probability::ZERO);
        assert_eq!((policy.mode, policy.fec, policy.fec_until), (Mode::Retransmission, fec, Some(at(1200))));
        policy.on_path(at(1199), Some(ms(200)), Probability::ZERO);
        assert_eq!(policy.fec, fec);
        policy.on_path(at(1249), Some(ms(200)), Probability::ZERO);
        assert_eq!((policy.fec, policy.fec_until), (0.0, None));
        // Where the configuration has no repair packets none are planned.
        let mut none = exact(150, 200, 0.1);
        none.adaptive.as_mut().expect("a plan").fec = false;
        none.on_path(at(1000), Some(ms(200)), Probability::ZERO);
        assert_eq!((none.mode, none.fec), (Mode::Retransmission, 0.0));
        assert_eq!(none.on_picture(SentPicture { took: ms(140), ..PICTURE }), 0);
    }

    /// Three rounds fit, but a picture took so long that its last packets cannot be requested: 300 - 231 - 10 ms are less than 60.
    #[test]
    fn a_slow_picture_gets_repair_packets_of_its_own() {
        let mut policy = exact(300, 50, 0.1);
        policy.on_path(at(1000), Some(ms(50)), Probability::ZERO);
        assert_eq!((policy.mode, policy.fec), (Mode::Retransmission, 0.0));
        assert_eq!(policy.on_picture(SentPicture { took: ms(230), ..PICTURE }), 0);
        assert!(policy.is_too_slow(ms(231)) && !policy.is_too_slow(ms(230)));
        assert!(policy.on_picture(SentPicture { took: ms(231), ..PICTURE }) > 0);
        assert!(
            !RepairPolicy { loss: LossEstimate::default(), ..policy }.is_too_slow(ms(299)),
            "nothing is lost"
        );
        assert!(RepairPolicy { rtt: None, ..exact(300, 50, 0.1) }.is_too_slow(ms(0)), "no round is known");
    }

    /// At 15 % and two rounds retransmission costs 0.15 + 4 * 0.0225 = 0.24 a packet; 24 repair packets for 48 cost 0.5. That is cheaper than
    /// a half, so it is chosen, and dearer than four tenths, so it does not take the place of repair packets that are being sent.
    #[test]
    fn the_cheaper_repair_is_chosen_and_kept() {
        let mut policy = exact(200, 50, 0.15);
        assert_eq!((policy.rounds(ms(200)), policy.fec_over(48.0)), (2, 0.5));
        assert!((policy.retransmission_alone(2) - 0.24).abs() < 1e-12);
        policy.choose(at(1000), ms(200));
        assert_eq!((policy.mode, policy.fec), (Mode::Retransmission, 0.0));
        policy.mode = Mode::Fec;
        policy.choose(at(1000), ms(200));
        assert_eq!((policy.mode, policy.fec), (Mode::Fec, 0.5));
        // At 35 % 43 repair packets for 33 suffice: 76 (0.5658 ln 1.6165 + 0.4342 ln 0.6680) = 7.3 nats.
        assert_eq!(exact(200, 50, 0.35).fec_of(33.0, 1.0), 43.0 / 33.0);
    }

    /// The size of a picture and the time in which it leaves follow by a sixteenth.
    #[test]
    fn means_of_pictures_follow_slowly() {
        let mut policy = exact(300, 50, 0.0);
        let picture = |packets, took| SentPicture { packets, interval: ms(33), took: ms(took) };
        policy.on_picture(picture(28, 160));
        assert_eq!((policy.picture, policy.spread, policy.interval), (13.0, ms(10), ms(33)));
        policy.on_picture(picture(45, 42));
        assert_eq!((policy.picture, policy.spread), (15.0, ms(12)));
    }
}
