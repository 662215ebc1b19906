//! Feedback about packets that were never sent, or at absurd times, in the receiver's own name: what an end that has the key, or anyone
//! on the path of a plain session, can send. Rate, delay and pictures stay as they would be without it.

mod common;

use bytes::Bytes;
use common::*;
use seaway_session::*;
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
use seaway_wire::rtcp::ccfb::{self, ArrivalOffset, Metric};
use seaway_wire::rtcp::twcc::TwccWriter;
use seaway_wire::rtcp::{Nack, NackEntry, Remb};
use seaway_wire::{List, NtpShort};

const SESSION: u32 = 0x5EA0_0000;
const PEER: u32 = 0xACE;
const QUEUE: DataSize = DataSize::from_bytes(100_000);
const CONTROLS: [&str; 5] = ["gcc", "seaway", "nada", "scream", "tfrc"];

fn run(control: &str, feedback: FeedbackFormat) -> Run {
    let config = SenderConfig { feedback, ..config(control) };
    let there = squeeze(ms(20), &[(0, 3000)], QUEUE);
    let mut run = Run::new(sender(Timestamp::ZERO, config), receiver(Timestamp::ZERO), there, ideal(ms(20)));
    run.until(at(10_000));
    run
}

/// Arrivals of a source that are reported at a time of the report's clock.
fn arrivals(ssrc: u32, begin: u16, count: usize, offset: ArrivalOffset, time: u32) -> Vec<u8> {
    let mut octets = vec![0; 4_000];
    let mut writer = ccfb::Writer::new(&mut octets, PEER).expect("it fits");
    let metric = Metric::Received { ecn: Ecn::Ce, arrival: offset };
    writer.stream(ssrc, begin, std::iter::repeat_n(metric, count)).expect("it fits");
    let len = writer.finish(NtpShort::from_bits(time)).expect("it fits");
    octets.truncate(len);
    octets
}

/// Transport-wide numbers that are reported to have arrived from a time on.
fn transport_wide(base: u16, seconds: u64) -> Vec<u8> {
    let mut octets = vec![0; 4_000];
    let writer = TwccWriter { sender_ssrc: PEER, media_ssrc: SESSION, feedback_count: 0 };
    let arrivals = (0..50).map(|count| Some(at(seconds * 1000 + count)));
    let len = writer.emit(base, arrivals, &mut octets).expect("it fits").len;
    octets.truncate(len);
    octets
}

fn request(ssrc: u32, first: u16) -> Vec<u8> {
    let entries: Vec<_> = (0..20)
        .map(|index| NackEntry { packet_id: first.wrapping_add(index * 17), bitmask: 0xFFFF })
        .collect();
    let nack = Nack { sender_ssrc: PEER, media_ssrc: ssrc, entries: List::from(&entries[..]) };
    let mut octets = vec![0; nack.buffer_len()];
    nack.emit(&mut octets).expect("it fits");
    octets
}

fn limit(bitrate: Bitrate, ssrc: u32) -> Vec<u8> {
    let ssrcs = [ssrc];
    let remb = Remb { sender_ssrc: PEER, bitrate, media_ssrcs: List::from(&ssrcs[..]) };
    let mut octets = vec![0; remb.buffer_len()];
    remb.emit(&mut octets).expect("it fits");
    octets
}

/// What came in ten seconds, in which the sender gets what `forge` makes of each fiftieth of a second.
#[derive(Debug)]
struct Outcome {
    rate: f64,
    shown: f64,
    /// Mean, ms.
    delay: f64,
}

fn outcome(run: &mut Run, mut forge: impl FnMut(u64) -> Vec<Vec<u8>>) -> Outcome {
    let (begin, size, frames) = (run.now, run.receiver.statistics().received.size, run.frames.len());
    for step in 1..=500 {
        run.until(begin + ms(20) * step);
        for octets in forge(step as u64) {
            run.sender.handle_message(run.now, run.now, &Message::Rtcp(Bytes::from(octets)));
            run.drain();
        }
    }
    let size = run.receiver.statistics().received.size - size;
    let delays = &run.delays()[frames..];
    Outcome {
        rate: size.over(run.now - begin).unwrap_or(Bitrate::ZERO).as_bps_f64(),
        shown: delays.len() as f64,
        delay: delays.iter().map(|delay| delay.as_millis_f64()).sum::<f64>() / delays.len().max(1) as f64,
    }
}

fn assert_same(one: &Outcome, other: &Outcome, what: &str) {
    let near = |one: f64, other: f64| (one - other).abs() <= 0.05 * other;
    let is_same = near(one.rate, other.rate) && near(one.shown, other.shown) && near(one.delay, other.delay);
    assert!(is_same, "{what}: {one:?}, not {other:?}");
}

/// During the forgery and after it.
fn assert_no_effect(
    control: &str,
    feedback: FeedbackFormat,
    what: &str,
    forge: impl Fn(u64) -> Vec<Vec<u8>>,
) {
    let what = format!("{control}, {feedback:?}: {what}");
    let (mut one, mut other) = (run(control, feedback), run(control, feedback));
    let before = one.sender.statistics();
    assert_same(&outcome(&mut one, forge), &outcome(&mut other, |_| Vec::new()), &what);
    assert_same(
        &outcome(&mut one, |_| Vec::new()),
        &outcome(&mut other, |_| Vec::new()),
        &format!("{what}, after"),
    );
    let (forged, true_one) = (one.sender.statistics(), other.sender.statistics());
    assert!(forged.refused.unmatched > before.refused.unmatched + 1000, "{what}: {:?}", forged.refused);
    assert!(
        forged.repair.packets <= true_one.repair.packets + 50,
        "{what}: {} retransmissions",
        forged.repair.packets
    );
}

#[test]
fn arrivals_of_packets_that_never_left() {
    // Past what left, of a subflow and of a repair source that are not there; a clock that jumps by hours each time.
    let offsets =
        [ArrivalOffset::from_span(TimeDelta::ZERO), ArrivalOffset::OVER_RANGE, ArrivalOffset::UNKNOWN];
    for control in CONTROLS {
        assert_no_effect(control, FeedbackFormat::Native, "arrivals", |step| {
            let offset = offsets[step as usize % 3];
            let time = (step as u32).wrapping_mul(0x6543_2109);
            let far = (step as u16).wrapping_mul(40).wrapping_add(20_000);
            [(SESSION, far), (SESSION + 1, far), (SESSION + 30, 0), (SESSION + 1023, 0)]
                .map(|(ssrc, begin)| arrivals(ssrc, begin, 100, offset, time))
                .into()
        });
    }
}

#[test]
fn transport_wide_numbers_that_never_left() {
    for control in ["gcc", "seaway", "nada", "scream"] {
        assert_no_effect(control, FeedbackFormat::Twcc, "transport-wide numbers", |step| {
            vec![transport_wide((step as u16).wrapping_mul(64).wrapping_add(25_000), step * 7919 % 1_000_000)]
        });
    }
}

#[test]
fn requests_for_packets_that_never_left() {
    for control in CONTROLS {
        assert_no_effect(control, FeedbackFormat::Native, "requests", |step| {
            let first = (step as u16).wrapping_mul(40).wrapping_add(20_000);
            vec![request(SESSION, first), request(SESSION + 1, first), request(SESSION + 30, first)]
        });
    }
}

/// A limit for a source of another session is none.
#[test]
fn limits_of_other_sessions() {
    for control in CONTROLS {
        let native = FeedbackFormat::Native;
        let (mut one, mut other) = (run(control, native), run(control, native));
        let forge = |_| [SESSION + 1024, SESSION - 1].map(|ssrc| limit(Bitrate::from_bps(1), ssrc)).into();
        assert_same(&outcome(&mut one, forge), &outcome(&mut other, |_| Vec::new()), control);
    }
}

/// The receiver made the synchronisation source that the sender has.
#[test]
fn both_ends_with_one_source() {
    for ssrc in [SESSION, SESSION + 1] {
        let there = squeeze(ms(20), &[(0, 3000)], QUEUE);
        let receiver = Receiver::new(Timestamp::ZERO, ReceiverConfig::new(ssrc));
        let mut run = Run::new(sender(Timestamp::ZERO, config("gcc")), receiver, there, ideal(ms(20)));
        run.bytes = true;
        run.until(at(10_000));
        assert!(run.receiver.statistics().frames.displayed > 240, "{:?}", run.receiver.statistics());
    }
}
