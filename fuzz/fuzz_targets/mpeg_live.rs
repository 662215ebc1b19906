//! The live shaper on a recorded stream that is cut, repeated, damaged, replaced and delayed: every packet from the
//! first programme on leaves once and in order, with its clock reference, no octet waits for long, and nothing leaves before what came before it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_mpeg::container::PacketView;
use seaway_mpeg::live::{Config, LiveShaper, Programs};
use seaway_mpeg::shape::{self, ClosedLoop, Method, Target};
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::num::NonZeroUsize;

const STREAM: &[u8] = include_bytes!("../../crates/mpeg/tests/fixtures/two_programmes.ts");
/// Packets of an input at most.
const MOST: usize = 1000;

fuzz_target!(|data: &[u8]| {
    let [options, share, delay, steps @ ..] = data else { return };
    let mut shaper = LiveShaper::new(config(*options, *share, *delay));
    let most = config(*options, *share, *delay).delay * 3;
    let (mut came, mut left, mut last) = (Vec::new(), 0, Timestamp::ZERO);
    let mut check = |shaper: &mut LiveShaper, came: &[(Timestamp, PacketView)]| {
        while let Some(departure) = shaper.pull() {
            // Those before the first programme are left out.
            let dropped = shaper.report().dropped_without_program as usize;
            let (at, packet) = &came[dropped + left];
            let shaped = PacketView::new(&departure.bytes).expect("a packet");
            assert_eq!((departure.arrival, shaped.clock_reference()), (*at, packet.clock_reference()));
            assert!(shaped.pid() == packet.pid() || shaped.is_null());
            assert!(departure.due >= last && departure.due.since(*at) <= most, "{departure:?} {last}");
            (left, last) = (left + 1, departure.due);
        }
        left
    };
    let is_refused = Input::new(steps).take(MOST).any(|(at, packet)| {
        let mut is_refused = false;
        while let Some(due) = shaper.poll_timeout().filter(|due| *due <= at && !is_refused) {
            is_refused = shaper.handle_timeout(due).is_err();
            check(&mut shaper, &came);
        }
        came.push((at, packet.clone()));
        is_refused |= shaper.push(at, &packet).is_err();
        // Some calls take long.
        shaper.report_computing(TimeDelta::from_micros(i64::from(*delay) * i64::from(packet.bytes()[187] % 8)));
        check(&mut shaper, &came);
        is_refused
    });
    let Some((end, _)) = came.last().cloned().filter(|_| !is_refused) else { return };
    if shaper.handle_timeout(end + most).is_ok() {
        let left = check(&mut shaper, &came);
        let report = shaper.report();
        let dropped = report.dropped_without_program as usize;
        assert!(report.programs.is_empty() && left == 0 || dropped + left == came.len());
    }
});

fn config(options: u8, share: u8, delay: u8) -> Config {
    let (_, method) = Method::ALL[usize::from(options & 7) % Method::ALL.len()];
    let target = match options & 8 {
        0 => Target::Ratio(f64::from(share) / 255.0),
        _ => Target::Rate(Bitrate::from_kbps(u64::from(share) * 4)),
    };
    let mut shaper = shape::Config::new(method, target);
    if options & 128 != 0 {
        shaper.closed_loop = ClosedLoop::Always;
    }
    shaper.window = NonZeroUsize::new(usize::from(share)).unwrap_or(NonZeroUsize::MIN);
    let programs = match options & 48 {
        0 => Programs::One(None),
        16 => Programs::One(Some(2)),
        _ => Programs::All,
    };
    let delay = Config::LEAST_DELAY + TimeDelta::from_millis(i64::from(delay) * 4);
    let memory = if options & 64 == 0 { 1 << 20 } else { 16 << 10 };
    Config { shaper, programs, delay, null_packets: true, memory }
}

/// The packets with their arrivals. Three octets are a step: what happens, where, and to how many packets.
struct Input<'a> {
    steps: &'a [u8],
    place: usize,
    at: Timestamp,
    left: usize,
    damage: Option<(usize, u8)>,
}

impl<'a> Input<'a> {
    fn new(steps: &'a [u8]) -> Self {
        Self { steps, place: 0, at: Timestamp::ZERO + TimeDelta::from_secs(1), left: 0, damage: None }
    }

    /// A packet of the input itself.
    fn own(&mut self) -> Option<[u8; PacketView::LEN]> {
        let (head, rest) = self.steps.split_at_checked(PacketView::LEN)?;
        self.steps = rest;
        head.try_into().ok()
    }
}

impl Iterator for Input<'_> {
    type Item = (Timestamp, PacketView);

    fn next(&mut self) -> Option<Self::Item> {
        let mut own = None;
        while self.left == 0 {
            let [step, value, count, rest @ ..] = self.steps else { return None };
            (self.steps, self.left) = (rest, usize::from(*count));
            let amount = usize::from(*value);
            match step % 6 {
                0 => {}
                1 => self.place += amount,
                2 => self.place = self.place.saturating_sub(amount),
                3 => self.at += TimeDelta::from_millis((amount * amount / 8) as i64),
                4 => self.damage = Some((amount * 188 / 256, *step)),
                _ => (own, self.left) = (self.own(), 1),
            }
        }
        self.left -= 1;
        self.at += TimeDelta::from_micros(1500);
        let mut bytes = match own {
            Some(own) => own,
            None => {
                let place = self.place % (STREAM.len() / PacketView::LEN) * PacketView::LEN;
                self.place += 1;
                STREAM[place..place + PacketView::LEN].try_into().ok()?
            }
        };
        if let Some((place, octet)) = self.damage.take() {
            bytes[place] ^= octet;
        }
        bytes[0] = 0x47;
        Some((self.at, PacketView::new(&bytes)?))
    }
}
