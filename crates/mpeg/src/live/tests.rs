//! A recorded stream, played to a live shaper by its own clock.

use super::*;
use crate::shape::Method;

const STREAM: &[u8] = include_bytes!("../../tests/fixtures/two_programmes.ts");
const ANOTHER: &[u8] = include_bytes!("../../tests/fixtures/another_programme.ts");

fn config(delay: i64, programs: Programs, target: Target) -> Config {
    let mut shaper = shape::Config::new(Method::Auto, target);
    shaper.window = std::num::NonZeroUsize::new(200).unwrap();
    Config { shaper, programs, delay: TimeDelta::from_millis(delay), null_packets: true, memory: 16 << 20 }
}

/// The stream, each packet with its arrival.
fn arrivals() -> Vec<(Timestamp, PacketView)> {
    arrivals_of(STREAM, Timestamp::ZERO + TimeDelta::from_secs(5))
}

/// Arrivals from `begin` on, at the constant rate of the clock references.
fn arrivals_of(stream: &[u8], begin: Timestamp) -> Vec<(Timestamp, PacketView)> {
    let packets: Vec<PacketView> = stream.chunks_exact(188).filter_map(PacketView::new).collect();
    let pid = packets.iter().find(|packet| packet.clock_reference().is_some()).unwrap().pid();
    let stamps: Vec<(usize, u64)> = packets
        .iter()
        .enumerate()
        .filter(|(_, packet)| packet.pid() == pid)
        .filter_map(|(index, packet)| Some((index, packet.clock_reference()?.0)))
        .collect();
    let (first, last) = (stamps[0], stamps[stamps.len() - 1]);
    let period = (last.1 - first.1) as f64 / 27e6 / (last.0 - first.0) as f64;
    let at = |index: usize| begin + TimeDelta::from_secs_f64(index as f64 * period);
    packets.into_iter().enumerate().map(|(index, packet)| (at(index), packet)).collect()
}

/// Plays the stream, and waits for what is left.
fn play(config: Config) -> (Vec<Departure>, Report) {
    let (out, report) = play_watched(config, arrivals(), TimeDelta::ZERO);
    (out.into_iter().map(|(_, departure)| departure).collect(), report)
}

/// As much, with the instants at which packets are handed over. The shaper is called so long after its timeouts.
fn play_watched(
    config: Config,
    arrivals: Vec<(Timestamp, PacketView)>,
    late: TimeDelta,
) -> (Vec<(Timestamp, Departure)>, Report) {
    let mut shaper = LiveShaper::new(config);
    let mut out = Vec::new();
    let mut now = Timestamp::ZERO;
    let handed_over =
        |shaper: &mut LiveShaper, now| std::iter::from_fn(|| Some((now, shaper.pull()?))).collect::<Vec<_>>();
    for (at, packet) in arrivals {
        while let Some(due) = shaper.poll_timeout().map(|due| due + late).filter(|due| *due <= at) {
            now = now.max(due);
            shaper.handle_timeout(now).unwrap();
            out.extend(handed_over(&mut shaper, now));
        }
        shaper.push(at, &packet).unwrap();
        out.extend(handed_over(&mut shaper, at));
        now = at;
    }
    while let Some(due) = shaper.poll_timeout().map(|due| due + late).filter(|_| !shaper.waiting.is_empty()) {
        now = now.max(due);
        shaper.handle_timeout(now).unwrap();
        out.extend(handed_over(&mut shaper, now));
    }
    (out, shaper.report())
}

/// The lead takes nothing from the time for computing, as it would where windows ended by the arrivals.
#[test]
fn a_window_ends_a_quarter_of_the_delay_before_its_first_packet_leaves() {
    let (out, report) =
        play_watched(config(400, Programs::One(None), Target::Ratio(0.7)), arrivals(), TimeDelta::ZERO);
    assert!(report.packets_out > 0);
    let spare = |(now, departure): &(Timestamp, Departure)| departure.due.since(*now).as_secs_f64();
    // The last packets wait for more, in vain.
    let shortest = out[..out.len() * 9 / 10].iter().map(spare).fold(f64::MAX, f64::min);
    assert!((0.097..0.15).contains(&shortest), "{shortest}");
}

/// Between the deadlines of a packet other windows are computed. Where it is surely too late nothing more is computed.
#[test]
fn a_window_is_ended_late_rather_than_given_up() {
    let given_up = |late: i64| {
        let config = config(400, Programs::All, Target::Ratio(0.7));
        play_watched(config, arrivals(), TimeDelta::from_millis(late)).1.given_up
    };
    let in_time = given_up(0);
    assert_eq!(given_up(70), in_time);
    assert!(given_up(80) > in_time);
}

#[test]
fn every_packet_leaves_by_the_clock_of_the_stream() {
    let (out, report) = play(config(400, Programs::One(None), Target::Ratio(0.7)));
    let arrivals = arrivals();
    assert_eq!((out.len(), report.packets_out), (arrivals.len(), arrivals.len() as u64));
    for (departure, (at, packet)) in out.iter().zip(&arrivals) {
        assert_eq!(departure.arrival, *at);
        // The lead of the start takes three sixteenths, which are given back slowly.
        let error = departure.due.since(*at).as_secs_f64() - 0.325;
        assert!((-1e-3..2e-3).contains(&error), "{error}");
        let shaped = PacketView::new(&departure.bytes).unwrap();
        // A clock reference stays in its place.
        assert_eq!(shaped.clock_reference(), packet.clock_reference());
    }
    assert!(out.is_sorted_by_key(|departure| departure.due));
    let totals = &report.programs[0].report.totals;
    let share = totals.bits_out as f64 / totals.bits_in as f64;
    assert!((share - 0.7).abs() < 0.03 && totals.pictures > 10, "{share}");
    // The last picture: nothing follows that would end it.
    assert_eq!((report.given_up, report.resyncs), (1, 0));
}

#[test]
fn other_packets_are_untouched_and_null_packets_may_be_left_out() {
    let (out, report) =
        play(Config { null_packets: false, ..config(400, Programs::One(None), Target::Ratio(0.7)) });
    let freed = report.null_packets_dropped;
    assert!(freed > 0 && out.len() as u64 + freed == report.packets_in);
    let mut table = ProgramTable::default();
    arrivals().iter().for_each(|(_, packet)| {
        table.push(packet);
    });
    let video = table.with_video()[0].video_pid;
    let others = |packets: &mut dyn Iterator<Item = PacketView>| -> Vec<Vec<u8>> {
        packets.filter(|p| p.pid() != video && !p.is_null()).map(|p| p.bytes().to_vec()).collect()
    };
    let before = others(&mut arrivals().into_iter().map(|(_, packet)| packet));
    let after = others(&mut out.iter().filter_map(|departure| PacketView::new(&departure.bytes)));
    assert!(before == after && !before.is_empty());
}

#[test]
fn a_picture_that_takes_longer_to_arrive_than_the_delay_passes_unchanged() {
    let (out, report) = play(config(60, Programs::One(None), Target::Ratio(0.7)));
    assert_eq!(out.len(), arrivals().len());
    assert!(report.given_up > 0);
    let latest = out.iter().map(|departure| departure.due.since(departure.arrival)).max();
    assert!(latest.is_some_and(|delay| delay < TimeDelta::from_millis(61)), "{latest:?}");
}

#[test]
fn a_stream_without_video_is_refused() {
    let mut shaper = LiveShaper::new(config(400, Programs::One(Some(77)), Target::Ratio(0.7)));
    let outcome = arrivals().iter().try_for_each(|(at, packet)| shaper.push(*at, packet));
    assert!(matches!(outcome, Err(Error::NoVideo { .. })));
}

/// A source with other programmes takes the place of the first one, and the first one comes back.
#[test]
fn other_programmes_are_shaped_from_their_tables_on() {
    let mut arrivals = arrivals();
    for stream in [ANOTHER, STREAM] {
        let (last, _) = arrivals[arrivals.len() - 1];
        arrivals.extend(arrivals_of(stream, last + TimeDelta::from_millis(300)));
    }
    for programs in [Programs::One(None), Programs::All] {
        let (out, report) =
            play_watched(config(400, programs, Target::Ratio(0.7)), arrivals.clone(), TimeDelta::ZERO);
        assert_eq!((out.len(), report.program_changes), (arrivals.len(), 2));
        let numbers: Vec<u16> = report.programs.iter().map(|program| program.program).collect();
        assert_eq!(numbers, if programs == Programs::All { vec![1, 2, 7, 1, 2] } else { vec![1, 7, 1] });
        for program in &report.programs {
            let totals = &program.report.totals;
            let share = totals.bits_out as f64 / totals.bits_in as f64;
            assert!(totals.pictures > 20 && share < 0.8, "{}: {share}", program.program);
        }
        // Packets that carry a clock stay in their places, and come by the clock of their own programme.
        for ((_, departure), (at, packet)) in out.iter().zip(&arrivals) {
            assert_eq!(departure.arrival, *at);
            let shaped = PacketView::new(&departure.bytes).unwrap();
            assert_eq!(shaped.clock_reference(), packet.clock_reference());
            assert!(departure.due.since(*at) <= TimeDelta::from_millis(400));
        }
    }
}

#[test]
fn programmes_share_a_rate() {
    let (out, report) = play(config(400, Programs::All, Target::Rate(Bitrate::from_kbps(150))));
    assert_eq!(out.len(), arrivals().len());
    assert!(!report.programs.is_empty());
    let (bits, seconds) = report.programs.iter().fold((0, 0.0f64), |(bits, seconds), program| {
        let totals = &program.report.totals;
        (bits + totals.bits_out, seconds.max(totals.seconds))
    });
    let given: u64 = report.programs.iter().filter_map(|program| program.rate_bps).sum();
    assert!(given <= 150_000, "{given}");
    assert!(bits as f64 <= 150_000.0 * (seconds + 0.2) * 1.05, "{bits} in {seconds}");
}
