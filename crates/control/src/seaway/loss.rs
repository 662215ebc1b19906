//! Does loss follow the rate? A test by sending less for a while.

use super::rate::whole;

/// Departures and losses by time of departure, over the last 8 s.
#[derive(Debug, Clone)]
pub(super) struct Fates {
    bins: [Fate; Self::BINS],
    head: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Fate {
    sent: f64,
    lost: f64,
}

/// Packets that left within a span, and how many of them were lost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Losses {
    pub(super) sent: f64,
    pub(super) lost: f64,
}

impl Losses {
    /// The share that was lost; 0 of nothing.
    pub(super) fn ratio(self) -> f64 {
        if self.sent > 0.0 { (self.lost / self.sent).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The standard error of the ratio where losses are independent.
    pub(super) fn deviation(self) -> f64 {
        (self.ratio() * (1.0 - self.ratio()) / self.sent.max(1.0)).sqrt()
    }
}

impl Fates {
    const BINS: usize = 80;
    const WIDTH: f64 = 0.1;

    pub(super) const fn new() -> Self {
        Self { bins: [Fate { sent: 0.0, lost: 0.0 }; Self::BINS], head: None }
    }

    fn slot(number: i64) -> usize {
        number.rem_euclid(Self::BINS as i64) as usize
    }

    fn bin(&mut self, t: f64) -> Option<&mut Fate> {
        let number = whole(t, Self::WIDTH);
        let head = self.head.unwrap_or(number);
        for passed in (head + 1).max(number - Self::BINS as i64 + 1)..=number {
            self.bins[Self::slot(passed)] = Fate::default();
        }
        let head = head.max(number);
        self.head = Some(head);
        (head - number < Self::BINS as i64).then(|| &mut self.bins[Self::slot(number)])
    }

    pub(super) fn on_sent(&mut self, t: f64) {
        if let Some(bin) = self.bin(t) {
            bin.sent += 1.0;
        }
    }

    /// The packet that left at `t` was lost.
    pub(super) fn on_lost(&mut self, t: f64) {
        if let Some(bin) = self.bin(t) {
            bin.lost += 1.0;
        }
    }

    /// The packet that left at `t` and was taken for lost came after all.
    pub(super) fn on_late(&mut self, t: f64) {
        if let Some(bin) = self.bin(t) {
            bin.lost = (bin.lost - 1.0).max(0.0);
        }
    }

    /// The bins that lie wholly between two instants, oldest first.
    fn bins(&self, from: f64, until: f64) -> impl Iterator<Item = &Fate> {
        let head = self.head.unwrap_or(0);
        let begin = |number: i64| number as f64 * Self::WIDTH;
        // One less and one more than it may be; rounding must not decide.
        let mut first = whole(from, Self::WIDTH).max(head - Self::BINS as i64 + 1);
        let mut end = (whole(until, Self::WIDTH) + 2).min(head + 1);
        while first < end && begin(first) < from - 1e-9 {
            first += 1;
        }
        while first < end && begin(end - 1) + Self::WIDTH > until + 1e-9 {
            end -= 1;
        }
        let (past, newest) = self.bins.split_at(Self::slot(first));
        newest.iter().chain(past).take(usize::try_from(end - first).unwrap_or(0))
    }

    pub(super) fn between(&self, from: f64, until: f64) -> Losses {
        self.bins(from, until).fold(Losses::default(), |sum, bin| Losses {
            sent: sum.sent + bin.sent,
            lost: sum.lost + bin.lost,
        })
    }

    /// Index of dispersion of the losses a bin: 1 where they are independent, the length of a burst where they are
    /// not. From successive differences, so that a slow change does not count.
    fn dispersion(&self, from: f64, until: f64) -> f64 {
        let (mut bins, mut changes, mut before) = (0.0, 0.0, None);
        for bin in self.bins(from, until) {
            bins += 1.0;
            if let Some(before) = before.replace(bin.lost) {
                changes += (bin.lost - before) * (bin.lost - before) / 2.0;
            }
        }
        let all = self.between(from, until);
        if bins < 5.0 || all.lost < 2.0 {
            return 1.0;
        }
        let mean = all.lost / bins;
        (changes / (bins - 1.0) / (mean * (1.0 - all.ratio().min(0.95)))).clamp(1.0, 40.0)
    }
}

/// Whether packets are lost where delay is long: then it is a queue's delay, and the queue overflows. The waits before
/// losses are compared with all waits; both fade over some seconds.
#[derive(Debug, Clone)]
pub(super) struct Overflow {
    all: Waits,
    before_losses: Waits,
    /// A packet arrived since the last loss: the losses of one burst belong to one wait.
    is_fresh: bool,
    faded: f64,
    until: f64,
    lasts: f64,
    finding: Finding,
}

/// What has been lost since the queue was last found to overflow, what of it came late after all, and what held before.
#[derive(Debug, Clone, Copy, Default)]
struct Finding {
    lost: u32,
    late: u32,
    until: f64,
    lasts: f64,
}

/// Sums of waits, of their squares, and their number.
#[derive(Debug, Clone, Copy, Default)]
struct Waits {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Waits {
    fn add(&mut self, wait: f64) {
        self.count += 1.0;
        self.sum += wait;
        self.squares += wait * wait;
    }

    fn fade(&mut self, factor: f64) {
        self.count *= factor;
        self.sum *= factor;
        self.squares *= factor;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }

    fn variance(&self) -> f64 {
        (self.squares / self.count.max(1.0) - self.mean() * self.mean()).max(0.0)
    }
}

impl Overflow {
    const FADES: f64 = 8.0;
    /// Less than one burst of losses says nothing.
    const FEWEST: f64 = 0.9;
    /// By how many standard errors the waits before losses must be longer, and by how many more for a single one: few come
    /// from the tail of the waits by chance.
    const SIGNIFICANT: f64 = 3.0;
    const MORE_FOR_ONE: f64 = 2.0;
    /// How long a finding holds, s: doubled each time it is made again.
    const SHORTEST: f64 = 300.0;
    const LONGEST: f64 = 600.0;

    pub(super) fn new() -> Self {
        let none = Waits::default();
        let (until, lasts) = (f64::NEG_INFINITY, Self::SHORTEST);
        let finding = Finding::default();
        Self { all: none, before_losses: none, is_fresh: false, faded: 0.0, until, lasts, finding }
    }

    /// Once a report, so that a burst after a long time without loss is compared with the waits of late.
    pub(super) fn fade(&mut self, t: f64) {
        let factor = libm::exp((self.faded - t).min(0.0) / Self::FADES);
        self.faded = t;
        self.all.fade(factor);
        self.before_losses.fade(factor);
    }

    pub(super) fn on_arrival(&mut self, wait: f64) {
        self.all.add(wait);
        self.is_fresh = true;
    }

    /// A packet is lost after one that waited for so long. Gives whether the queue overflows.
    pub(super) fn on_loss(&mut self, t: f64, wait: f64) -> bool {
        self.finding.lost += 1;
        if !std::mem::take(&mut self.is_fresh) {
            return false;
        }
        self.before_losses.add(wait);
        let lost = self.before_losses.count;
        let error = (self.all.variance() / lost).sqrt();
        let is_longer = self.before_losses.mean() - self.all.mean()
            > (Self::SIGNIFICANT + Self::MORE_FOR_ONE / lost) * error;
        if lost < Self::FEWEST || !is_longer {
            return false;
        }
        self.finding = Finding { lost: 1, late: 0, until: self.until, lasts: self.lasts };
        if t > self.until {
            let is_old = t > self.until + Self::LONGEST;
            self.lasts = if is_old { Self::SHORTEST } else { (2.0 * self.lasts).min(Self::LONGEST) };
        }
        self.until = t + self.lasts;
        true
    }

    /// A lost packet came late after all. Gives whether so did everything that the last finding rests on: it is taken back.
    pub(super) fn on_late(&mut self) -> bool {
        let Finding { lost, until, lasts, .. } = self.finding;
        self.finding.late += 1;
        let is_refuted = lasts > 0.0 && self.finding.late >= lost;
        if is_refuted {
            (self.until, self.lasts, self.finding) = (until, lasts, Finding::default());
        }
        is_refuted
    }

    pub(super) fn is_on(&self, t: f64) -> bool {
        t < self.until
    }
}

/// Tests whether less is lost when less is sent. What is lost all the same is the channel's, and slowing down would
/// not cure it.
#[derive(Debug, Clone)]
pub(super) struct LossTest {
    state: State,
    /// When the next test may begin.
    next: f64,
    /// From a test that found a lossy channel to the next.
    pause: f64,
    /// When the last test ended.
    ended: f64,
    followed: f64,
    /// The capacity may not grow before.
    pub(super) hold_until: f64,
    /// The share of packets that the channel loses.
    pub(super) channel: f64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Idle,
    /// Less is sent.
    Running {
        from: f64,
        before: Losses,
    },
    /// The fates of what was sent are awaited.
    Waiting {
        from: f64,
        until: f64,
        before: Losses,
    },
}

/// What a test found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    /// Less was lost by this share of the packets: the queue overflows.
    FollowsRate(f64),
    /// As much was lost.
    Channel,
}

impl LossTest {
    /// A test lasts for so long.
    const LENGTH: f64 = 0.4;
    /// Packets of this age are received or lost for good.
    const MATURE: f64 = 0.4;
    const SHORTEST_PAUSE: f64 = 2.0;
    const LONGEST_PAUSE: f64 = 30.0;
    /// By how many standard errors loss must be less, and by how many where it is what a test found to be the channel's.
    const ERRORS: f64 = 2.0;
    const ERRORS_IF_KNOWN: f64 = 3.0;
    /// More loss is tested.
    pub(super) const THRESHOLD: f64 = 0.015;
    /// Time constant by which a slow change of the channel's loss is followed.
    const FOLLOWS: f64 = 20.0;

    pub(super) const fn new() -> Self {
        Self {
            state: State::Idle,
            next: 0.0,
            pause: Self::SHORTEST_PAUSE,
            ended: -1.0,
            followed: 0.0,
            hold_until: 0.0,
            channel: 0.0,
        }
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// Gives up a test that runs: other loops decide the rate.
    pub(super) const fn abandon(&mut self) {
        self.state = State::Idle;
    }

    /// Losses of late beyond what the channel was found to lose.
    pub(super) fn is_unproven(&self, fates: &Fates, t: f64) -> bool {
        let recent = fates.between(t - 1.4, t - Self::MATURE);
        recent.sent > 20.0 && recent.ratio() > 1.3 * self.channel + 0.01
    }

    /// `loss` is the share of the mature packets of 6 s that were lost.
    pub(super) fn update(&mut self, t: f64, rtt: f64, loss: f64, fates: &Fates) -> Option<Verdict> {
        match self.state {
            State::Running { from, before } => {
                if t >= from + Self::LENGTH {
                    self.ended = from + Self::LENGTH;
                    self.state = State::Waiting { from, until: self.ended, before };
                }
                None
            }
            State::Waiting { from, until, before } => {
                if t < until + rtt + Self::MATURE {
                    return None;
                }
                self.state = State::Idle;
                self.conclude(t, loss, fates, from, until, before)
            }
            State::Idle => {
                self.maybe_begin(t, loss, fates);
                None
            }
        }
    }

    /// Between tests the channel's loss is followed slowly while it changes little, and is forgotten when it ends.
    fn follow(&mut self, t: f64, loss: f64) {
        let passed = (t - self.followed).clamp(0.0, 1.0);
        self.followed = t;
        if loss > 0.7 * self.channel && loss < 1.3 * self.channel {
            self.channel += (loss - self.channel) * passed / Self::FOLLOWS;
        }
        self.channel = self.channel.min(2.0 * loss);
    }

    fn maybe_begin(&mut self, t: f64, loss: f64, fates: &Fates) {
        let recent = fates.between(t - 1.4, t - Self::MATURE);
        if recent.sent > 30.0 && recent.ratio() > 2.0 * self.channel + 0.02 && t > self.ended + 1.0 {
            self.next = self.next.min(t);
            self.pause = Self::SHORTEST_PAUSE;
        }
        if loss < 0.002 {
            self.pause = Self::SHORTEST_PAUSE;
        }
        self.follow(t, loss);
        if loss > Self::THRESHOLD && t > self.next && t > 1.0 {
            let before = fates.between(t - 3.0 - Self::MATURE, t - Self::MATURE);
            self.state = State::Running { from: t, before };
        }
    }

    fn conclude(
        &mut self,
        t: f64,
        loss: f64,
        fates: &Fates,
        from: f64,
        until: f64,
        before: Losses,
    ) -> Option<Verdict> {
        let during = fates.between(from + 0.1, until);
        if during.sent < 5.0 || before.sent < 10.0 {
            self.next = t + 1.0;
            return None;
        }
        let (usual, less) = (before.ratio(), during.ratio());
        let variance =
            usual * (1.0 - usual) / before.sent + usual.max(1.0 / during.sent) * (1.0 - usual) / during.sent;
        let deviation = (variance * fates.dispersion(t - 6.0, from)).sqrt();
        // Of many tests of one channel a few seem to find less by chance.
        let is_known = usual < 1.3 * self.channel + 0.01;
        let errors = if is_known { Self::ERRORS_IF_KNOWN } else { Self::ERRORS };
        if usual - less > errors * deviation && usual - less > 0.02 {
            self.pause = Self::SHORTEST_PAUSE;
            self.hold_until = t + 2.0;
            self.next = t + 0.1;
            Some(Verdict::FollowsRate(usual - less))
        } else {
            self.next = t + self.pause;
            self.pause = (self.pause * 2.0).min(Self::LONGEST_PAUSE);
            self.channel = loss;
            Some(Verdict::Channel)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise its rate would last for ever.
    #[test]
    fn a_test_that_is_given_up_does_not_run() {
        let mut fates = Fates::new();
        for packet in 0..400 {
            fates.on_sent(f64::from(packet) / 100.0);
            if packet % 10 == 0 {
                fates.on_lost(f64::from(packet) / 100.0);
            }
        }
        let mut test = LossTest::new();
        assert_eq!(test.update(4.0, 0.05, 0.1, &fates), None);
        assert!(test.is_running());
        test.abandon();
        assert!(!test.is_running());
    }

    #[test]
    fn losses_at_long_waits_are_an_overflow() {
        let found = |loses: fn(u32) -> bool| {
            let mut overflow = Overflow::new();
            (0..2000).any(|packet| {
                // The wait swings between 0 and 9 ms.
                let wait = f64::from(packet % 10) / 1e3;
                overflow.fade(f64::from(packet) / 1e3);
                overflow.on_arrival(wait);
                loses(packet) && overflow.on_loss(f64::from(packet) / 1e3, wait)
            })
        };
        assert!(found(|packet| packet % 100 == 99));
        assert!(!found(|packet| packet % 21 == 0), "random");
        assert!(!found(|packet| packet % 100 == 90), "at short waits");
    }

    /// Two packets that are overtaken at a long delay are taken for lost, and come.
    #[test]
    fn losses_that_come_late_are_no_overflow() {
        let mut overflow = Overflow::new();
        for packet in 0..500 {
            overflow.fade(f64::from(packet) / 1e3);
            overflow.on_arrival(f64::from(packet % 10) / 1e3);
        }
        assert!(overflow.on_loss(0.5, 0.5) && !overflow.on_loss(0.5, 0.5) && overflow.is_on(0.6));
        assert!(!overflow.on_late() && overflow.is_on(0.6));
        assert!(overflow.on_late() && !overflow.is_on(0.6));
        assert!(!overflow.on_late());
    }

    #[test]
    fn a_burst_after_a_long_clean_time_is_no_overflow() {
        let mut overflow = Overflow::new();
        for packet in 0..60_000 {
            overflow.fade(f64::from(packet) / 100.0);
            overflow.on_arrival(f64::from(packet % 10) / 1e3);
        }
        assert!((0..8).all(|_| !overflow.on_loss(600.0, 0.005)));
    }

    /// 1000 packets a second of which every `n`th is lost; fewer are sent during a test.
    fn run(lost_every: impl Fn(bool) -> u64) -> Option<Verdict> {
        let (mut fates, mut test, mut count) = (Fates::new(), LossTest::new(), 0);
        for ms in 0..4000_u32 {
            let t = f64::from(ms) / 1e3;
            count += 1;
            fates.on_sent(t);
            if count % lost_every(test.is_running()) == 0 {
                fates.on_lost(t);
            }
            let loss = fates.between(t - 6.0, t - 0.4).ratio();
            if let Some(verdict) = test.update(t, 0.05, loss, &fates) {
                return Some(verdict);
            }
        }
        None
    }

    #[test]
    fn a_channels_loss_stays_and_an_overflow_goes() {
        assert_eq!(run(|_| 20), Some(Verdict::Channel));
        let Some(Verdict::FollowsRate(less)) = run(|tested| if tested { 1000 } else { 20 }) else {
            panic!("an overflow")
        };
        assert!((0.04..=0.06).contains(&less), "{less}");
        assert_eq!(run(|_| 200), None, "half a per cent is not tested");
    }

    /// 5 % of loss become 0.8 % of 240 packets, by 2.9 standard errors, or nothing, by 3.4.
    #[test]
    fn a_loss_that_is_known_takes_more_to_be_ours() {
        let verdict = |channel: f64, lost: f64| {
            let (mut fates, mut test) = (Fates::new(), LossTest { channel, ..LossTest::new() });
            for packet in 0..400 {
                let t = f64::from(packet) / 100.0 + 0.005;
                let sent = if t < 3.0 { 10 } else { 8 };
                (0..sent).for_each(|_| fates.on_sent(t));
                let is_lost = if t < 3.0 { packet % 2 == 0 } else { f64::from(packet % 30) < lost };
                if is_lost {
                    fates.on_lost(t);
                }
            }
            let before = fates.between(0.0, 3.0);
            test.conclude(4.2, 0.05, &fates, 3.0, 3.4, before)
        };
        assert!(matches!(verdict(0.0, 2.0), Some(Verdict::FollowsRate(_))));
        assert_eq!(verdict(0.05, 2.0), Some(Verdict::Channel));
        assert!(matches!(verdict(0.05, 0.0), Some(Verdict::FollowsRate(_))), "much less");
        assert!(matches!(verdict(0.02, 2.0), Some(Verdict::FollowsRate(_))), "more than is known");
    }

    #[test]
    fn late_packets_are_taken_back() {
        let mut fates = Fates::new();
        for _ in 0..10 {
            fates.on_sent(1.05);
        }
        fates.on_lost(1.05);
        assert_eq!(fates.between(1.0, 1.2).ratio(), 0.1);
        fates.on_late(1.05);
        fates.on_late(1.05);
        assert_eq!(fates.between(1.0, 1.2), Losses { sent: 10.0, lost: 0.0 });
        assert_eq!(fates.between(3.0, 4.0).ratio(), 0.0);
    }
}
