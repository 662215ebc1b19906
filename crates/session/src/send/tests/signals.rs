//! What controllers and policies are given, and what follows from what they see.

use super::*;

/// What a controller and a policy of the caller's own were given.
#[derive(Debug, Clone, Default)]
struct Given(Arc<Mutex<Inputs>>);

#[derive(Debug, Default)]
struct Inputs {
    signals: Vec<LocalSignal>,
    demands: Vec<Demand>,
    /// What left, as an observer sees it.
    octets: u64,
}

impl RateController for Given {
    fn on_feedback(&mut self, _: Timestamp, _: &Feedback<'_>) {}

    fn on_signal(&mut self, _: Timestamp, signal: LocalSignal) {
        self.0.lock().unwrap().signals.push(signal);
    }

    fn target(&self) -> Target {
        Target::new(RATE)
    }
}

impl TargetPolicy for Given {
    fn on_target(&mut self, _: Timestamp, _: Bitrate, _: Probability) {}

    fn on_demand(&mut self, _: Timestamp, _: StreamId, demand: Demand) {
        self.0.lock().unwrap().demands.push(demand);
    }

    fn handle_timeout(&mut self, _: Timestamp) {}

    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn share(&self, _: StreamId) -> Share {
        Share { media: RATE, repair: Bitrate::ZERO }
    }
}

impl Observer for Given {
    fn on_sent(&mut self, _: Timestamp, packet: &SentPacket) {
        self.0.lock().unwrap().octets += packet.size.as_bytes();
    }
}

/// A controller that ignores its limits is bounded all the same: a packet of 1200 octets each 96 ms.
#[test]
fn a_rate_bound_holds_for_a_controller_that_ignores_it() {
    let given = Given::default();
    let (controller, policy) = (Box::new(given.clone()), Box::new(given));
    let mut sender = Sender::with_controller(at(0), config(), controller, policy).unwrap();
    sender.on_rate_bound(at(0), Some(Bitrate::from_kbps(100)));
    assert_eq!(sender.target().rate, Bitrate::from_kbps(100));
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 20_000)).unwrap();
    let left = drive(&mut sender, 0, 480);
    assert!(octets(&left) <= 6000 + 1200 && packets(&left) >= 5, "{}", octets(&left));
}

/// The controller sees the limits within a bound, frames, what waits, pauses and another route; the policy what each stream could use.
#[test]
fn what_happens_at_the_sender_is_signalled() {
    let given = Given::default();
    let mut config = config();
    (config.streams[0].weight, config.streams[0].min) = (3.0, Bitrate::from_kbps(80));
    config.streams[0].max = Bitrate::from_mbps(20);
    let (controller, policy) = (Box::new(given.clone()), Box::new(given.clone()));
    let mut sender = Sender::with_controller(at(0), config, controller, policy).unwrap();
    sender.observe(Box::new(given.clone()));
    let took = || {
        let mut given = given.0.lock().unwrap();
        (std::mem::take(&mut given.signals), std::mem::take(&mut given.demands))
    };
    let (min, start, max) = (Bitrate::ZERO, RATE, Bitrate::from_mbps(8));
    let (signals, demands) = took();
    assert_eq!(signals, [LocalSignal::Limits { min, start, max }]);
    let demand = Demand { weight: 3.0, min: Bitrate::from_kbps(80), ..Demand::new(max) };
    assert_eq!(demands, [demand], "no more than the limits");
    let most = Bitrate::from_kbps(500);
    sender.on_rate_bound(at(0), Some(most));
    assert_eq!(took().0, [LocalSignal::Limits { min, start: most, max: most }]);
    sender.on_rate_bound(at(0), None);
    took();
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 2000)).unwrap();
    let (signals, demands) = took();
    let size = DataSize::from_bytes(2000);
    let backlog = sender.backlog();
    assert_eq!(
        signals,
        [
            LocalSignal::Frame { stream: StreamId(0), size, target: size, interval: ms(40) },
            LocalSignal::Backlog { waiting: backlog, oldest: TimeDelta::ZERO },
        ]
    );
    assert_eq!(demands, [Demand { backlog, ..demand }]);
    sender.on_paused(at(1), true);
    sender.on_paused(at(2), false);
    sender.on_route_changed(at(3));
    assert_eq!(took().0, [LocalSignal::Paused(true), LocalSignal::Paused(false), LocalSignal::RouteChanged]);
    let left = drive(&mut sender, 3, 90);
    // The observer sees what left.
    assert_eq!(given.0.lock().unwrap().octets, octets(&left));
    // When the frame has left nothing waits any more.
    assert_eq!(took().1, [demand]);
}

/// Two frames that come at once: the second waits for the first one's packet of 1042 octets, which takes 8.336 ms.
#[test]
fn frames_that_wait_are_timed() {
    let mut sender = sender(config());
    for kind in [FrameKind::Key, FrameKind::Reference] {
        sender.handle_frame(at(0), &frame(0, kind, 1000)).unwrap();
    }
    let left = drive(&mut sender, 0, 50);
    let [first, _] = rtp(&left)[..] else { panic!("{left:?}") };
    let size = DataSize::from_bytes(28 + Message::Rtp(first.clone()).wire_len() as u64);
    let pause = RATE.time_to_send(size).unwrap();
    let frames = sender.statistics().frames;
    assert_eq!((frames.begun, frames.waited, frames.sent, frames.took), (2, pause, 2, pause));
}

/// Where a controller of the caller's own may tag packets, room for a tag is kept, whether packets have one or not.
#[test]
fn room_for_tags_is_kept() {
    let given = Given::default();
    let (controller, policy) = (Box::new(given.clone()), Box::new(given));
    let mut sender = Sender::with_controller(at(0), config(), controller, policy).unwrap();
    let limit = sender.payload_limit();
    assert!(limit < self::sender(config()).payload_limit());
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 1000)).unwrap();
    assert_eq!(packets(&drive(&mut sender, 0, 50)), 1);
    assert_eq!(sender.payload_limit(), limit);
}

/// A lane of which no report comes is suspected half a second after its first packet left. What it holds is sent again, once; and a second
/// later it is down.
#[test]
fn what_a_silent_lane_holds_is_sent_again() {
    let mut sender = sender(SenderConfig { lanes: 2, ..config() });
    sender.handle_frame(at(0), &frame(0, FrameKind::Key, 1000)).unwrap();
    drive(&mut sender, 0, 490);
    events(&mut sender);
    let wake = sender.next_wake().expect("a timer");
    assert_eq!((wake.at, wake.why), (at(500), WakeReason::Lane));
    let again = |left: &[(Timestamp, Message)]| {
        let own = payload_type::retransmission(StreamId(0));
        rtp(left).into_iter().filter(|packet| packet.payload_type == own).count()
    };
    let states = |sender: &mut Sender| -> Vec<_> {
        let state = |event| match event {
            SenderEvent::Lane { lane, state } => Some((lane.0, state)),
            _ => None,
        };
        events(sender).into_iter().filter_map(state).collect()
    };
    let left = drive(&mut sender, 500, 599);
    assert_eq!(states(&mut sender), [(0, LaneState::Suspect)]);
    assert_eq!(again(&left), 1);
    let left = drive(&mut sender, 600, 1550);
    assert!(states(&mut sender).contains(&(0, LaneState::Down)));
    assert_eq!(again(&left), 0, "once");
    assert_eq!(sender.lanes()[0].state, LaneState::Down);
}

/// Repair packets follow a picture of twenty packets where no retransmission comes in time: at 10 % of loss more than a tenth of them.
#[test]
fn repair_packets_follow_a_picture() {
    let adaptive = Some(AdaptiveRepair { deadline: ms(200), fec: true });
    let mut config = SenderConfig { adaptive, ..config() };
    config.limits.start = Bitrate::from_mbps(8);
    let mut sender = sender(config);
    sender.repair.on_path(at(100), Some(ms(300)), Probability::clamped(0.1));
    let size = 20 * sender.payload_limit() as u64;
    sender.handle_frame(at(101), &frame(101, FrameKind::Key, size)).unwrap();
    let left = drive(&mut sender, 101, 145);
    let repair =
        rtp(&left).iter().filter(|packet| packet.payload_type == payload_type::fec(StreamId(0))).count();
    assert!((3..=30).contains(&repair) && packets(&left) == 20 + repair, "{repair} of {}", packets(&left));
}

/// Where packets are lost and few rounds of repair fit, a stream's backlog may take the time to the next picture, and drains in two of them.
#[test]
fn a_pressed_path_has_shorter_queues() {
    let given = Given::default();
    let adaptive = Some(AdaptiveRepair { deadline: ms(200), fec: true });
    let (controller, policy) = (Box::new(given.clone()), Box::new(given.clone()));
    let config = SenderConfig { adaptive, ..config() };
    let mut sender = Sender::with_controller(at(0), config, controller, policy).unwrap();
    sender.repair.on_path(at(0), Some(ms(100)), Probability::clamped(0.1));
    sender.handle_frame(at(1), &frame(1, FrameKind::Key, 1000)).unwrap();
    let demand = *given.0.lock().unwrap().demands.last().expect("a demand");
    assert_eq!((demand.standing, demand.drain, demand.most_drained), (ms(40), ms(80), 0.5));
}

/// Pushback needs the arrivals of packets, and one path: the flight of all lanes says nothing of the queue of one.
#[test]
fn pushback_needs_the_flight_of_one_path() {
    let pushes_back = |config: SenderConfig| {
        let (mut sender, base) = (sender(config), ms(50));
        let flight = DataSize::from_bytes(50_000);
        let path = pushback::PathState { flight, base, last: base * 10, is_shared: false };
        let range = seaway_units::RateRange { min: Bitrate::ZERO, max: RATE * 4 };
        sender.pushback.on_feedback(at(0), DataSize::ZERO, path, range);
        sender.pushback.on_feedback(at(100), DataSize::from_bytes(12_500), path, range).is_some()
    };
    assert!(pushes_back(config()));
    assert!(!pushes_back(SenderConfig { pushback: None, ..config() }));
    assert!(!pushes_back(SenderConfig { lanes: 2, ..config() }));
    let control = "tfrc".parse().unwrap();
    assert!(!pushes_back(SenderConfig { control, feedback: FeedbackFormat::Computed, ..config() }));
}

/// Where encoders have use for more than the target, a lane gets eight tenths of what its controller allows; where they have not, all.
#[test]
fn a_lane_is_loaded_where_encoders_have_use_for_more() {
    // Behind a packet that left at 0, after so many times of its own at the lane's rate the next one begins.
    let times = |start: Bitrate| {
        let mut config = SenderConfig { lanes: 2, ..config() };
        config.limits.start = start;
        let mut sender = sender(config);
        sender.handle_frame(at(0), &frame(0, FrameKind::Key, 1000)).unwrap();
        let mut message = Message::default();
        let left = std::iter::from_fn(|| sender.poll_transmit(at(0), at(0), &mut message));
        let transmit = left.last().expect("a packet");
        let rate = sender.controller.target_of(transmit.subflow);
        let lanes = sender.scheduler.lanes.as_ref().expect("lanes");
        let offer = lanes.offer(transmit.subflow, at(0), RATE, None).expect("it is usable");
        let begins =
            offer.arrival(transmit.size).expect("no window") - RATE.time_to_send(transmit.size).unwrap();
        (begins - at(0)).ratio(rate.time_to_send(transmit.size).unwrap())
    };
    assert_eq!(times(RATE), 1.25);
    assert_eq!(times(config().limits.max * 2), 1.0);
}
