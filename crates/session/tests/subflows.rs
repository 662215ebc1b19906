//! One flow over several connections.

mod common;

use common::*;
use seaway_control::{StreamId, Subflow};
use seaway_session::*;
use seaway_units::Timestamp;

fn run(control: &str, stripe: Stripe, there: Path) -> Run {
    // A group is captured at the rate of all subflows and leaves at that of one, so it takes long.
    let queue = QueueLimits { delay: None, ..QueueLimits::default() };
    let mut config = SenderConfig { stripe, queue, ..config(control) };
    config.streams[0].max = seaway_units::Bitrate::from_mbps(2);
    let playout = Playout::Adaptive { min: ms(0), max: ms(4_000) };
    let receiver = Receiver::new(Timestamp::ZERO, ReceiverConfig { playout, ..ReceiverConfig::new(1) });
    let mut run = Run::new(sender(Timestamp::ZERO, config), receiver, there, ideal(ms(20)));
    run.source.as_mut().unwrap().gop = 12;
    run
}

#[test]
fn frames_come_in_order_whatever_is_striped() {
    for stripe in [Stripe::Packet, Stripe::Frame, Stripe::Gop] {
        let mut run = run("tfrc(count=4)", stripe, bottleneck(ms(20), LIMITS.max, ms(200)));
        let tap = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        run.tap = Some(std::rc::Rc::clone(&tap));
        run.until(at(20_000));
        let received = run.receiver.statistics();
        let captured: Vec<_> = run.frames.iter().map(|(_, frame)| frame.captured.unwrap()).collect();
        assert!(captured.is_sorted(), "{stripe:?}");
        assert!(received.frames.displayed >= 420, "{stripe:?}: {received:#?} {:#?}", run.sender.statistics());
        let mut packets = [0; 4];
        for message in tap.borrow().iter() {
            if let Message::Rtp(packet) = message {
                let source = SourceId::of(packet.ssrc, 0x5EA0_0000).unwrap();
                assert_eq!(source.stream, StreamId(0));
                packets[usize::from(source.subflow.0)] += 1;
            }
        }
        assert!(packets.iter().all(|count| *count > 100), "{stripe:?}: {packets:?}");
    }
}

#[test]
fn each_subflow_repairs_its_own() {
    for stripe in [Stripe::Packet, Stripe::Frame] {
        let mut run = run("tfrc(count=4)", stripe, lossy(ms(20), 0.02, 11));
        run.until(at(20_000));
        let (sent, received) = (run.sender.statistics(), run.receiver.statistics());
        let missed = received.missing - received.reordered;
        assert!(missed > 20 && received.repaired * 100 >= missed * 90, "{stripe:?}: {received:#?}");
        assert!(
            received.frames.displayed * 100 >= sent.frames.queued * 95,
            "{stripe:?}: {received:#?} {sent:#?}"
        );
        assert!(sent.late < 5, "{stripe:?}: {sent:#?}");
    }
}

#[test]
fn a_source_names_its_subflow() {
    let source = SourceId { stream: StreamId(3), subflow: Subflow(17), repair: true };
    assert_eq!(SourceId::of(source.ssrc(9), 9), Some(source));
}
