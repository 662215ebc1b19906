//! DualPI2 (RFC 9332 appendix A): a shallow queue for scalable traffic coupled to a classic one.

use super::clock::{Ticks, update_period};
use super::fifo::{Fifo, Waiting};
use super::limit::queue_config;
use super::{Accounting, Limit, Nominal, Transmitter};
use crate::error::{Error, not_negative};
use crate::node::{DropCause, Packet};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};
use serde::Deserialize;

queue_config! {
    /// DualPI2. It holds 250 ms at the first rate where no limit is given; the limit is that of both queues together.
    DualPi2Config {
        /// Delay target of the classic queue.
        target: TimeDelta = TimeDelta::from_millis(15),
        /// Longest round trip that must stay stable, RTT_max.
        max_rtt: TimeDelta = TimeDelta::from_millis(100),
        /// Coupling factor, k.
        coupling: f64 = 2.0,
        /// Wait in the L queue from which on it marks by itself, minTh.
        min_threshold: TimeDelta = TimeDelta::from_micros(800),
        /// From there marking rises to certainty over this; zero is a step.
        range: TimeDelta = TimeDelta::from_micros(400),
        /// Which queue is served when both hold packets.
        scheduler: DualPi2Scheduler = DualPi2Scheduler::RoundRobin,
        /// Without marking, all packets are classic and treated as Not-ECT.
        mark: bool = true,
    }
}

/// Which queue is served when both hold packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DualPi2Scheduler {
    /// Deficit round robin in octets, fifteen to one for L.
    #[default]
    RoundRobin,
    /// The one whose head is older, L's age counted 50 ms longer.
    TimeShifted,
}

/// By how much [`DualPi2Scheduler::TimeShifted`] prefers the L queue.
const SHIFT: TimeDelta = TimeDelta::from_millis(50);
/// The L queue marks by itself only while more packets than this are left in it, Th_len.
const THRESHOLD_PACKETS: usize = 1;
const MTU: DataSize = DataSize::from_bytes(1500);
/// What one round gives the L and the C queue.
const QUANTA: [u64; 2] = [15 * MTU.as_bytes(), MTU.as_bytes()];
const L: usize = 0;
const C: usize = 1;

impl DualPi2Config {
    const LIMIT: TimeDelta = TimeDelta::from_millis(250);

    fn check(&self) -> Result<(), Error> {
        if !(self.coupling.is_finite() && self.coupling > 0.0) {
            return Err(Error::config("queue.coupling", self.coupling, "a number above 0"));
        }
        not_negative("queue.min_threshold", self.min_threshold)?;
        not_negative("queue.range", self.range)?;
        update_period("queue.target", self.target)?;
        update_period("queue.max_rtt", self.max_rtt)
    }

    /// Tupdate.
    fn update(&self) -> TimeDelta {
        self.target.min(self.max_rtt / 3)
    }

    /// Per update and second of deviation: 0.1·Tupdate/RTT_max².
    fn alpha(&self) -> f64 {
        let max_rtt = self.max_rtt.as_secs_f64();
        0.1 * self.update().as_secs_f64() / (max_rtt * max_rtt)
    }

    /// Per second of change: 0.3/RTT_max.
    fn beta(&self) -> f64 {
        0.3 / self.max_rtt.as_secs_f64()
    }

    /// From this probability on the C queue drops what it would mark, p_Cmax = min(1/k², 1).
    fn max_classic(&self) -> f64 {
        (1.0 / (self.coupling * self.coupling)).min(1.0)
    }

    /// The L queue's own marking probability after a wait.
    fn native(&self, wait: TimeDelta) -> f64 {
        if wait <= self.min_threshold {
            0.0
        } else if wait >= self.min_threshold + self.range {
            1.0
        } else {
            (wait - self.min_threshold).ratio(self.range)
        }
    }
}

/// One of the two queues, with the accumulator that spreads its marks evenly.
#[derive(Debug, Clone)]
struct Half<P> {
    fifo: Fifo<P>,
    accumulated: f64,
    deficit: u64,
}

impl<P> Half<P> {
    const fn new() -> Self {
        Self { fifo: Fifo::new(), accumulated: 0.0, deficit: 0 }
    }

    /// RFC 9332 appendix A's `recur`: true as often as `probability` says, without randomness.
    fn recur(&mut self, probability: f64) -> bool {
        self.accumulated += probability;
        let is_due = self.accumulated > 1.0;
        if is_due {
            self.accumulated -= 1.0;
        }
        is_due
    }
}

#[derive(Debug, Clone)]
pub(super) struct DualPi2<P> {
    halves: [Half<P>; 2],
    config: DualPi2Config,
    limit: Limit,
    /// Whose turn it is in the round robin.
    turn: usize,
    /// The controller's output p'; L is marked with k·p', C with its square.
    base: f64,
    previous: TimeDelta,
    ticks: Ticks,
}

impl<P> DualPi2<P> {
    pub(super) fn new(config: &DualPi2Config, nominal: Nominal) -> Result<Self, Error> {
        config.check()?;
        let default = || Limit::Bytes(nominal.rate.size_in(DualPi2Config::LIMIT));
        Ok(Self {
            halves: [Half::new(), Half::new()],
            config: *config,
            limit: config.limit(nominal)?.unwrap_or_else(default),
            turn: L,
            base: 0.0,
            previous: TimeDelta::ZERO,
            ticks: Ticks::new(config.update()),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.halves.iter().map(|half| half.fifo.len()).sum()
    }

    pub(super) fn size(&self) -> DataSize {
        self.halves.iter().map(|half| half.fifo.size()).sum()
    }

    pub(super) fn enqueue(
        &mut self,
        now: Timestamp,
        packet: Packet<P>,
        transmitter: Transmitter,
        accounting: &mut Accounting<P>,
    ) {
        self.catch_up(now);
        if !self.limit.holds(self.len() + 1, self.size() + packet.size.max(MTU), transmitter) {
            return accounting.drop(now, DropCause::Tail, packet);
        }
        let is_scalable = self.config.mark && matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce);
        self.halves[if is_scalable { L } else { C }].fifo.push(now, packet);
    }

    pub(super) fn dequeue(&mut self, now: Timestamp, accounting: &mut Accounting<P>) -> Option<Waiting<P>> {
        self.catch_up(now);
        loop {
            let half = self.schedule(now)?;
            let head = self.halves[half].fifo.pop()?;
            let served = if half == L {
                self.serve_scalable(now, head, accounting)
            } else {
                self.serve_classic(now, head, accounting)
            };
            if served.is_some() {
                return served;
            }
        }
    }

    /// p_CL.
    fn coupled(&self) -> f64 {
        (self.config.coupling * self.base).min(1.0)
    }

    /// p_C.
    fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// The head of the L queue marked or not; `None` where overload drops it.
    fn serve_scalable(
        &mut self,
        now: Timestamp,
        mut head: Waiting<P>,
        accounting: &mut Accounting<P>,
    ) -> Option<Waiting<P>> {
        let (coupled, classic) = (self.coupled(), self.classic());
        let half = &mut self.halves[L];
        let probability = if coupled < 1.0 {
            let is_long = half.fifo.len() > THRESHOLD_PACKETS;
            let native = if is_long { self.config.native(now.since(head.arrived)) } else { 0.0 };
            native.max(coupled)
        } else if half.recur(classic) {
            accounting.drop(now, DropCause::Early, head.packet);
            return None;
        } else {
            coupled
        };
        if half.recur(probability) {
            accounting.mark(&mut head.packet);
        }
        Some(head)
    }

    /// The head of the C queue marked or not; `None` where it is dropped.
    fn serve_classic(
        &mut self,
        now: Timestamp,
        mut head: Waiting<P>,
        accounting: &mut Accounting<P>,
    ) -> Option<Waiting<P>> {
        let classic = self.classic();
        if !self.halves[C].recur(classic) {
            return Some(head);
        }
        let may_mark = self.config.mark && head.packet.ecn.is_capable();
        if !may_mark || classic >= self.config.max_classic() {
            accounting.drop(now, DropCause::Early, head.packet);
            return None;
        }
        accounting.mark(&mut head.packet);
        Some(head)
    }

    /// The queue to serve; a lone backlogged one always is.
    fn schedule(&mut self, now: Timestamp) -> Option<usize> {
        let heads = [L, C].map(|half| self.halves[half].fifo.head());
        let (scalable, classic) = match heads {
            [None, None] => return None,
            [Some(_), None] => return Some(self.serve_alone(L)),
            [None, Some(_)] => return Some(self.serve_alone(C)),
            [Some(scalable), Some(classic)] => (scalable, classic),
        };
        match self.config.scheduler {
            DualPi2Scheduler::TimeShifted => {
                let is_older = now.since(scalable.arrived) + SHIFT >= now.since(classic.arrived);
                Some(if is_older { L } else { C })
            }
            DualPi2Scheduler::RoundRobin => {
                let sizes = [scalable.packet.size.as_bytes(), classic.packet.size.as_bytes()];
                Some(self.next_turn(sizes))
            }
        }
    }

    fn serve_alone(&mut self, half: usize) -> usize {
        self.halves.iter_mut().for_each(|half| half.deficit = 0);
        self.turn = half;
        half
    }

    fn next_turn(&mut self, sizes: [u64; 2]) -> usize {
        while self.halves[self.turn].deficit < sizes[self.turn] {
            self.turn = 1 - self.turn;
            self.halves[self.turn].deficit += QUANTA[self.turn];
        }
        self.halves[self.turn].deficit -= sizes[self.turn];
        self.turn
    }

    fn catch_up(&mut self, now: Timestamp) {
        while let Some(due) = self.ticks.poll(now) {
            let age = |half: &Half<P>| half.fifo.head_age(due).unwrap_or_default();
            let current = age(&self.halves[C]).max(age(&self.halves[L]));
            let before = (self.base, self.previous);
            self.update(current);
            if current == TimeDelta::ZERO && before == (self.base, self.previous) && self.len() == 0 {
                self.ticks.skip(now);
            }
        }
    }

    fn update(&mut self, current: TimeDelta) {
        let deviation = (current - self.config.target).as_secs_f64();
        let trend = (current - self.previous).as_secs_f64();
        let change = self.config.alpha() * deviation + self.config.beta() * trend;
        self.base = (self.base + change).clamp(0.0, 1.0);
        self.previous = current;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;
    use seaway_units::Bitrate;

    const WIDE: Transmitter = Transmitter { in_service: None, rate: Bitrate::from_mbps(40) };

    fn dualpi2(config: DualPi2Config) -> (DualPi2<u64>, Accounting<u64>) {
        let queue = DualPi2::new(&config, Nominal { rate: WIDE.rate, delay: TimeDelta::ZERO }).unwrap();
        (queue, Accounting::new(RandomStream::new(1, "dualpi2")))
    }

    fn packet(ecn: Ecn) -> Packet<u64> {
        Packet::new(DataSize::from_bytes(1500), ecn, 0)
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(millis)
    }

    #[test]
    fn derived_constants() {
        assert_eq!(DualPi2Config::default().update(), TimeDelta::from_millis(15));
        assert!((DualPi2Config::default().alpha() - 0.15).abs() < 1e-12);
        assert!((DualPi2Config::default().beta() - 3.0).abs() < 1e-12);
        assert_eq!(DualPi2Config::default().max_classic(), 0.25);
        // Tupdate is a third of RTT_max at most, and p_Cmax is 1 at most.
        let short = DualPi2Config { max_rtt: TimeDelta::from_millis(30), ..DualPi2Config::default() };
        assert_eq!(short.update(), TimeDelta::from_millis(10));
        for (coupling, most) in [(4.0, 0.0625), (0.5, 1.0)] {
            assert_eq!(DualPi2Config { coupling, ..DualPi2Config::default() }.max_classic(), most);
        }
    }

    #[test]
    fn worked_updates() {
        let (mut queue, _) = dualpi2(DualPi2Config::default());
        for (current, base) in [(15, 0.045), (20, 0.060_75), (30, 0.093), (30, 0.095_25), (20, 0.066)] {
            queue.update(TimeDelta::from_millis(current));
            assert!((queue.base - base).abs() < 1e-9, "{}", queue.base);
            assert!((queue.coupled() - 2.0 * base).abs() < 1e-9);
        }
        assert!((queue.classic() - 0.004_356).abs() < 1e-6);
    }

    #[test]
    fn native_marking_is_a_ramp_or_a_step() {
        let micros = TimeDelta::from_micros;
        for (wait, p) in [(800, 0.0), (1000, 0.5), (1200, 1.0), (5000, 1.0)] {
            assert_eq!(DualPi2Config::default().native(micros(wait)), p);
        }
        let step = DualPi2Config { range: TimeDelta::ZERO, ..DualPi2Config::default() };
        assert_eq!((step.native(micros(800)), step.native(micros(801))), (0.0, 1.0));
    }

    #[test]
    fn recur_at_a_quarter_is_true_on_calls_5_9_13() {
        let mut half: Half<u64> = Half::new();
        let due: Vec<u32> = (1..=14).filter(|_| half.recur(0.25)).collect();
        assert_eq!(due, [5, 9, 13]);
    }

    #[test]
    fn round_robin_serves_fifteen_to_one_and_starves_no_flow() {
        let (mut queue, mut accounting) = dualpi2(DualPi2Config::default());
        for _ in 0..400 {
            queue.enqueue(at(0), packet(Ecn::Ect1), WIDE, &mut accounting);
            queue.enqueue(at(0), packet(Ecn::Ect0), WIDE, &mut accounting);
        }
        let served: Vec<Ecn> = (0..160)
            .filter_map(|_| queue.dequeue(at(0), &mut accounting))
            .map(|head| head.packet.ecn)
            .collect();
        let classic = served.iter().filter(|&&ecn| ecn == Ecn::Ect0).count();
        assert_eq!(classic, 10);
    }

    #[test]
    fn time_shifted_fifo_prefers_the_l_queue_by_the_shift() {
        let (mut queue, mut accounting) =
            dualpi2(DualPi2Config { scheduler: DualPi2Scheduler::TimeShifted, ..DualPi2Config::default() });
        queue.halves[C].fifo.push(at(0), packet(Ecn::Ect0));
        queue.halves[L].fifo.push(at(51), packet(Ecn::Ect1));
        assert_eq!(queue.dequeue(at(51), &mut accounting).map(|head| head.packet.ecn), Some(Ecn::Ect0));
        queue.halves[C].fifo.push(at(1), packet(Ecn::Ect0));
        let head = queue.dequeue(at(51), &mut accounting).map(|head| head.packet.ecn);
        assert!(matches!(head, Some(Ecn::Ect1 | Ecn::Ce)));
    }

    #[test]
    fn overload_drops_from_both() {
        let (mut queue, mut accounting) = dualpi2(DualPi2Config::default());
        queue.base = 0.5;
        assert_eq!((queue.coupled(), queue.classic()), (1.0, 0.25));
        for n in 0..400 {
            let ecn = if n % 2 == 0 { Ecn::Ect1 } else { Ecn::Ect0 };
            queue.halves[n % 2].fifo.push(at(0), packet(ecn));
        }
        let mut served = Vec::new();
        while let Some(head) = queue.dequeue(at(0), &mut accounting) {
            served.push(head.packet.ecn);
        }
        // A quarter of each, less the first call, whose sum does not pass 1.
        assert!((98..=100).contains(&accounting.counts.early), "{}", accounting.counts.early);
        // What overload leaves of L is marked, but for the accumulator's first steps.
        let scalable_unmarked = served.iter().filter(|&&ecn| ecn == Ecn::Ect1).count();
        assert!(scalable_unmarked <= 1, "{scalable_unmarked}");
    }

    #[test]
    fn without_marking_all_is_classic() {
        let (mut queue, mut accounting) = dualpi2(DualPi2Config { mark: false, ..DualPi2Config::default() });
        queue.enqueue(at(0), packet(Ecn::Ect1), WIDE, &mut accounting);
        assert_eq!(queue.halves.each_ref().map(|half| half.fifo.len()), [0, 1]);
    }

    /// What waits in both is limited together, and a packet takes the room of a full one.
    #[test]
    fn the_limit_is_of_both_queues() {
        for (config, fit) in [
            (DualPi2Config { bytes: Some(DataSize::from_bytes(3000)), ..DualPi2Config::default() }, 16),
            (DualPi2Config { packets_waiting: Some(3), ..DualPi2Config::default() }, 3),
        ] {
            let (mut queue, mut accounting) = dualpi2(config);
            for number in 0..20_usize {
                let packet = Packet::new(DataSize::from_bytes(100), [Ecn::Ect1, Ecn::Ect0][number % 2], 0);
                queue.enqueue(at(0), packet, WIDE, &mut accounting);
            }
            assert_eq!((queue.len() as u64, accounting.counts.tail), (fit, 20 - fit));
            assert_eq!(queue.size(), DataSize::from_bytes(100 * fit));
        }
        // 250 ms at 40 Mbit/s are 1 250 000 octets, 833 packets of 1500.
        let (mut queue, mut accounting) = dualpi2(DualPi2Config::default());
        (0..900).for_each(|_| queue.enqueue(at(0), packet(Ecn::Ect0), WIDE, &mut accounting));
        assert_eq!(queue.len(), 833);
    }

    /// RFC 9332 appendix A: L marks by itself while more than a packet is left in it. Four waited long: the sum passes 1 at the second, and
    /// behind the third one is left.
    #[test]
    fn a_short_l_queue_marks_by_the_coupling_alone() {
        for (base, coupling, marks) in
            [(0.0, 2.0, [false, true, false, false]), (0.25, 2.0, [false, true, true, false])]
        {
            let (mut queue, mut accounting) = dualpi2(DualPi2Config { coupling, ..DualPi2Config::default() });
            queue.base = base;
            (0..4).for_each(|_| queue.halves[L].fifo.push(at(0), packet(Ecn::Ect1)));
            let served =
                [0; 4].map(|_| queue.dequeue(at(10), &mut accounting).map(|head| head.packet.ecn == Ecn::Ce));
            assert_eq!(served, marks.map(Some), "{base}");
        }
    }

    /// p_C is the square of p'. Below p_Cmax what can be marked is, from there on it is dropped.
    #[test]
    fn a_classic_packet_is_marked_where_it_may_be() {
        for (base, mark, ecn, seen) in [
            (0.49, true, Ecn::Ect0, (true, false)),
            (0.49, true, Ecn::NotEct, (false, true)),
            (0.49, false, Ecn::Ect0, (false, true)),
            (0.5, true, Ecn::Ect0, (false, true)),
        ] {
            let (mut queue, mut accounting) = dualpi2(DualPi2Config { mark, ..DualPi2Config::default() });
            queue.base = base;
            (0..50).for_each(|_| queue.halves[C].fifo.push(at(0), packet(ecn)));
            while queue.dequeue(at(0), &mut accounting).is_some() {}
            assert_eq!(
                (accounting.counts.marks > 0, accounting.counts.early > 0),
                seen,
                "{base} {mark} {ecn}"
            );
        }
    }

    /// L counts 50 ms longer: at that difference it is still served.
    #[test]
    fn time_shifted_serves_l_at_the_shift() {
        for (classic, served) in [(0, L), (-1, C)] {
            let (mut queue, _) = dualpi2(DualPi2Config {
                scheduler: DualPi2Scheduler::TimeShifted,
                ..DualPi2Config::default()
            });
            queue.halves[C].fifo.push(at(1 + classic), packet(Ecn::Ect0));
            queue.halves[L].fifo.push(at(51), packet(Ecn::Ect1));
            assert_eq!(queue.schedule(at(60)), Some(served));
        }
    }

    /// A queue that was alone begins the round anew: L has fifteen packets before C has one.
    #[test]
    fn who_was_alone_has_no_credit() {
        let (mut queue, mut accounting) = dualpi2(DualPi2Config::default());
        queue.halves.iter_mut().for_each(|half| half.deficit = 100 * 1500);
        queue.halves[C].fifo.push(at(0), packet(Ecn::Ect0));
        assert!(queue.dequeue(at(0), &mut accounting).is_some());
        assert_eq!((queue.turn, queue.halves.each_ref().map(|half| half.deficit)), (C, [0, 0]));
        (0..40).for_each(|number| {
            queue.halves[number % 2].fifo.push(at(0), packet([Ecn::Ect1, Ecn::Ect0][number % 2]));
        });
        let served: Vec<Ecn> = (0..18)
            .filter_map(|_| queue.dequeue(at(0), &mut accounting))
            .map(|head| head.packet.ecn)
            .collect();
        let place = served.iter().position(|ecn| *ecn == Ecn::Ect0);
        assert_eq!((place, served[16]), (Some(15), Ecn::Ect1), "{served:?}");
    }

    /// Five packets wait from 4 to 1400 ms. Behind them nothing waits until 2802 ms: the updates at 2805 and 2820 ms give 0.15·(0.003 - 0.015) +
    /// 3·0.003 and 0.15·(0.018 - 0.015) + 3·0.015.
    #[test]
    fn updates_made_late_equal_updates_made_in_time() {
        let run = |looks: &[i64]| {
            let (mut queue, mut accounting) = dualpi2(DualPi2Config::default());
            queue.base = 0.2;
            (0..5).for_each(|_| queue.enqueue(at(4), packet(Ecn::Ect0), WIDE, &mut accounting));
            looks.iter().for_each(|&look| queue.catch_up(at(look)));
            let standing = (queue.base, queue.previous);
            while queue.dequeue(at(1_400), &mut accounting).is_some() {}
            looks.iter().for_each(|&look| queue.catch_up(at(1_400 + look)));
            queue.enqueue(at(2_802), packet(Ecn::Ect0), WIDE, &mut accounting);
            queue.catch_up(at(2_830));
            (standing, (queue.base, queue.previous))
        };
        let late = run(&[400, 1_400]);
        assert_eq!(late, run(&[16, 50, 77, 300, 301, 399, 400, 700, 701, 1_400]));
        assert_eq!(late.0, (1.0, TimeDelta::from_millis(1_391)));
        assert!((late.1.0 - 0.052_65).abs() < 1e-12 && late.1.1 == TimeDelta::from_millis(18), "{late:?}");
    }

    /// Ten updates of 0.15·0.015 each, in one look.
    #[test]
    fn an_empty_queue_forgets_step_by_step() {
        let (mut queue, _) = dualpi2(DualPi2Config::default());
        queue.base = 0.2;
        queue.catch_up(at(150));
        assert!((queue.base - 0.177_5).abs() < 1e-12, "{}", queue.base);
        queue.catch_up(at(15_000));
        assert_eq!(
            (queue.base, queue.ticks.poll(at(15_014)), queue.ticks.poll(at(15_015))),
            (0.0, None, Some(at(15_015)))
        );
    }
}
