//! Decides which packet leaves next, by which subflow and when: media, retransmissions, repair, filler and padding share one
//! pacer a subflow.

use super::lanes::{Lanes, Offer};
use super::pacer::Pacer;
use super::queue::{Queued, SendQueue};
use super::retransmission::RetransmissionBuffer;
use crate::config::SenderConfig;
use crate::source_id::SourceId;
use seaway_control::{Allowance, MOST_LANES, PacketId, ProbeId, RateController, StreamId, Subflow};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::array;

/// What a packet carries, in order of priority.
#[derive(Debug, Clone, Copy)]
pub(super) enum Class {
    Retransmission(PacketId),
    /// Repair of the pictures of a stream that left.
    Fec(StreamId),
    Media,
    /// The packet at this place among those that wait for a lane.
    Waiting(usize),
    /// Next to nothing, to find out whether a lane carries packets.
    LaneProbe,
    /// The media of an endless source.
    Filler,
    /// Nothing, for a probe that finds nothing else to send.
    Padding,
}

/// The next packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    pub(super) due: Timestamp,
    /// When the driver is to be there: later where others can leave with it.
    pub(super) wake: Timestamp,
    pub(super) subflow: Subflow,
    pub(super) class: Class,
    /// The credit of the allowance by which it is due.
    credit: TimeDelta,
}

/// Packets that are assigned to lanes ahead of their departure at most.
const LOOKAHEAD: usize = 256;
/// Repair packets of a stream that wait at most.
const MOST_REPAIRS: u64 = 128;

/// What waits to be sent, and the pacers that release it.
#[derive(Debug)]
pub(super) struct Scheduler {
    pub(super) queue: SendQueue,
    pub(super) retransmissions: RetransmissionBuffer,
    /// Where the subflows are lanes.
    pub(super) lanes: Option<Lanes>,
    /// Repair packets that wait, by stream, and of all streams.
    repairs: [u8; SourceId::STREAMS as usize],
    repairs_waiting: u64,
    /// By subflow.
    pacers: Vec<Pacer>,
    probe: Option<ActiveProbe>,
    /// A receiver of others that knows no repair source takes no padding, so probes are not sent.
    takes_padding: bool,
    /// The source is silent on purpose.
    pub(super) paused: bool,
    /// All subflows together leave at this rate at most, whatever the controller allows.
    pub(super) most: Option<Bitrate>,
    /// The stream that no feedback covers. No controller limits it, so its packets leave at once, as sound of browsers does.
    unreported: Option<StreamId>,
    /// The size of a filler packet, where the source is endless.
    filler: Option<DataSize>,
    /// The largest packet.
    packet: DataSize,
    /// How long before it is due a packet may leave, and how late a driver may be.
    burst: TimeDelta,
}

#[derive(Debug)]
struct ActiveProbe {
    id: ProbeId,
    subflow: Subflow,
    allowance: Allowance,
    size_left: DataSize,
    packets_left: u8,
    pacer: Pacer,
}

/// What is assigned to each lane; `None` for one by which nothing may leave.
type Assignment = [Option<Assigned>; MOST_LANES as usize];

/// A lane and what is assigned to it.
#[derive(Debug)]
struct Assigned {
    subflow: Subflow,
    allowance: Allowance,
    offer: Offer,
    first: Option<(Class, DataSize)>,
    size: DataSize,
}

impl Assigned {
    const fn is_busy(&self) -> bool {
        self.first.is_some()
    }
}

impl Scheduler {
    pub(super) fn new(config: &SenderConfig) -> Self {
        Self {
            queue: SendQueue::new(
                config.queue,
                config.stripe,
                config.streams.iter().map(|stream| stream.description.is_audio()),
            )
            .with_lanes(config.lanes > 1),
            retransmissions: RetransmissionBuffer::new(config.repair),
            lanes: (config.lanes > 1).then(|| Lanes::new(config.lanes)),
            repairs: [0; SourceId::STREAMS as usize],
            repairs_waiting: 0,
            pacers: Vec::new(),
            probe: None,
            takes_padding: config.plain.is_none() || config.repair.is_some(),
            paused: false,
            most: None,
            unreported: config.plain.as_ref().and_then(|plain| plain.unreported),
            filler: config.endless.then_some(config.packet),
            packet: config.packet,
            burst: config.send_burst_interval,
        }
    }

    /// When a packet leaves whose driver is there at `now`: at once where it is due within the send burst interval.
    #[inline]
    pub(super) fn release(&self, now: Timestamp, next: &Transmission) -> Timestamp {
        if next.due <= now + self.burst { now } else { next.due }
    }

    /// Octets of IP datagrams that wait.
    #[inline]
    pub(super) fn backlog(&self) -> DataSize {
        self.queue.waiting()
            + self.packet * (self.retransmissions.waiting() as u64 + self.repairs_waiting)
            + self.filler.unwrap_or(DataSize::ZERO)
    }

    /// So many repair packets of a stream are to be sent.
    pub(super) fn add_repairs(&mut self, stream: StreamId, packets: u64) {
        let waiting = &mut self.repairs[usize::from(stream.0)];
        let added = packets.min(MOST_REPAIRS - u64::from(*waiting));
        *waiting += added as u8;
        self.repairs_waiting += added;
    }

    /// A repair packet of a stream is to be written now. False where none waits.
    pub(super) fn take_repair(&mut self, stream: StreamId) -> bool {
        let waiting = &mut self.repairs[usize::from(stream.0)];
        let is_there = *waiting > 0;
        *waiting -= u8::from(is_there);
        self.repairs_waiting -= u64::from(is_there);
        is_there
    }

    /// The probe that is being sent.
    #[inline]
    pub(super) fn probe(&self) -> Option<ProbeId> {
        self.probe.as_ref().map(|probe| probe.id)
    }

    /// Begins the probe that the controller wants, unless one is being sent. True where it did.
    #[inline]
    pub(super) fn begin_probe(&mut self, now: Timestamp, controller: &mut dyn RateController) -> bool {
        // Media leaves by other lanes, and would be taken for the probe.
        let is_off = |probe: &mut ActiveProbe| {
            self.lanes.as_ref().is_some_and(|lanes| !lanes.is_usable(probe.subflow))
        };
        self.probe.take_if(is_off);
        if self.probe.is_some() || self.paused || self.most.is_some() || !self.takes_padding {
            return false;
        }
        self.probe = controller.poll_probe(now).map(|probe| ActiveProbe {
            id: probe.id,
            subflow: probe.subflow,
            allowance: Allowance::paced(probe.rate),
            size_left: probe.size,
            packets_left: probe.packets,
            pacer: Pacer::default(),
        });
        self.probe.is_some()
    }

    /// Gives up the probe.
    pub(super) fn end_probe(&mut self) {
        self.probe = None;
    }

    /// What a subflow has to send, and its size.
    #[inline]
    fn waiting(&self, subflow: Subflow, subflows: u8) -> Option<(Class, DataSize)> {
        if let Some(id) = self.retransmissions.next(subflow, subflows) {
            return Some((Class::Retransmission(id), self.packet));
        }
        if self.repairs_waiting > 0
            && let Some(stream) = self.repairs.iter().position(|waiting| *waiting > 0)
        {
            return Some((Class::Fec(StreamId(stream as u8)), self.packet));
        }
        if let Some(queued) = self.queue.front(subflow) {
            return Some((Class::Media, queued.size));
        }
        if let Some(id) = self.retransmissions.next_copy(subflow, subflows) {
            return Some((Class::Retransmission(id), self.packet));
        }
        self.filler.filter(|_| !self.paused).map(|size| (Class::Filler, size))
    }

    fn pacer(&self, subflow: Subflow) -> Pacer {
        self.pacers.get(usize::from(subflow.0)).copied().unwrap_or_default()
    }

    /// A subflow's next packet; `None` where nothing waits or the controller lets nothing leave.
    #[inline]
    fn next_of(
        &self,
        controller: &dyn RateController,
        subflow: Subflow,
        subflows: u8,
    ) -> Option<Transmission> {
        let (class, size) = self.waiting(subflow, subflows)?;
        let mut allowance = controller.allowance(subflow);
        if let Some(most) = self.most {
            allowance.rate = allowance.rate.min(most / u64::from(subflows));
        }
        if allowance.window.is_some_and(|window| size > window) {
            return None;
        }
        let due = self.pacer(subflow).due(allowance)?;
        let wake = self.wake(due, size, allowance);
        Some(Transmission { due, wake, subflow, class, credit: allowance.credit.max(self.burst * 2) })
    }

    /// Where the packet behind one that is due is due within two send burst intervals, the driver comes in the middle of
    /// them.
    #[inline]
    fn wake(&self, due: Timestamp, size: DataSize, allowance: Allowance) -> Timestamp {
        let is_last = || self.filler.is_none() && self.backlog() <= size;
        if self.burst == TimeDelta::ZERO || is_last() {
            return due;
        }
        let pause = allowance.rate.time_to_send(size).map(|pause| pause + allowance.gap);
        if pause.is_some_and(|pause| pause <= self.burst * 2) { due + self.burst } else { due }
    }

    /// The next packet of all subflows: what no feedback covers, then a probe's, then others.
    #[inline]
    pub(super) fn next(&self, controller: &dyn RateController) -> Option<Transmission> {
        if let Some(unreported) = self.next_unreported() {
            return Some(unreported);
        }
        let subflows = controller.subflows().clamp(1, SourceId::SUBFLOWS);
        match (&self.probe, &self.lanes) {
            (probe, Some(lanes)) => self.next_of_lanes(controller, lanes, probe.as_ref()),
            (Some(probe), None) => self.next_of_probe(probe, subflows),
            (None, None) if subflows == 1 => self.next_of(controller, Subflow(0), 1),
            (None, None) => self.next_of_several(controller, subflows),
        }
    }

    fn next_unreported(&self) -> Option<Transmission> {
        let (stream, subflow) = (self.unreported?, Subflow(0));
        let due = self.queue.front(subflow).filter(|queued| queued.stream == stream)?.since;
        Some(Transmission { due, wake: due, subflow, class: Class::Media, credit: TimeDelta::ZERO })
    }

    #[inline(never)]
    fn next_of_several(&self, controller: &dyn RateController, subflows: u8) -> Option<Transmission> {
        let all = (0..subflows).filter_map(|subflow| self.next_of(controller, Subflow(subflow), subflows));
        all.min_by_key(|next| next.due)
    }

    /// The next packet of all lanes: the first that is assigned to each, or what probes a lane.
    #[inline(never)]
    fn next_of_lanes(
        &self,
        controller: &dyn RateController,
        lanes: &Lanes,
        probe: Option<&ActiveProbe>,
    ) -> Option<Transmission> {
        let of_lane = |probe: (Timestamp, Subflow)| {
            let (due, subflow) = probe;
            Transmission { due, wake: due, subflow, class: Class::LaneProbe, credit: TimeDelta::ZERO }
        };
        let probes = lanes.next_probe().filter(|_| !self.paused).map(of_lane);
        let assigned =
            self.assign(controller, lanes, |assigned| assigned.iter().flatten().all(Assigned::is_busy));
        if let Some(probe) = probe {
            let own = assigned.get(usize::from(probe.subflow.0)).and_then(Option::as_ref);
            let class = own.and_then(|lane| lane.first).map_or(Class::Padding, |(class, _)| class);
            let due = probe.pacer.due(probe.allowance)?;
            let credit = probe.allowance.credit;
            return Some(Transmission { due, wake: due, subflow: probe.subflow, class, credit });
        }
        let media = assigned.iter().flatten().filter_map(|lane| {
            let (class, size) = lane.first?;
            let due = lane.offer.due;
            let wake = self.wake(due, size, lane.allowance);
            let credit = lane.allowance.credit.max(self.burst * 2);
            Some(Transmission { due, wake, subflow: lane.subflow, class, credit })
        });
        media.chain(probes).min_by_key(|next| next.due)
    }

    /// Assigns what waits to the lanes, each packet to the one on which it is expected to arrive first, until `is_enough`.
    fn assign(
        &self,
        controller: &dyn RateController,
        lanes: &Lanes,
        is_enough: impl Fn(&Assignment) -> bool,
    ) -> Assignment {
        let mut offered = self.offers(controller, lanes);
        let due = |lane: Subflow| offered.get(usize::from(lane.0))?.as_ref().map(|lane| lane.offer.due);
        let mut group = lanes.in_group(due);
        let mut unit = None;
        for (class, size, queued) in self.waiting_for_lanes().take(LOOKAHEAD) {
            let whole = queued.and_then(|queued| Some((queued.stream, queued.unit?)));
            if whole.is_none() || unit.is_none_or(|(of, _)| Some(of) != whole) {
                let bound = queued.and_then(|queued| queued.lane);
                let bound = bound.filter(|lane| offered[usize::from(lane.0)].is_some());
                let size = whole.map_or(size, |(stream, unit)| self.queue.size_of_unit(stream, unit));
                let arrival = |lane: Subflow| offered[usize::from(lane.0)].as_ref()?.offer.arrival(size);
                // Where its window is full, the rest of a group leaves by another lane.
                let group = group.take().filter(|lane| arrival(*lane).is_some());
                let quickest = || {
                    let arrivals =
                        (0..MOST_LANES).map(Subflow).filter_map(|lane| Some((arrival(lane)?, lane)));
                    arrivals.min().map(|(_, lane)| lane)
                };
                unit = bound.or(group).or_else(quickest).map(|lane| (whole.unwrap_or_default(), lane));
            }
            let Some((_, lane)) = unit else { break };
            let Some(lane) = &mut offered[usize::from(lane.0)] else { break };
            if lane.offer.arrival(size).is_none() {
                // Its window is full: what is kept together waits for it.
                if whole.is_some() { continue } else { break }
            }
            lane.first = lane.first.or(Some((class, size)));
            lane.size += size;
            lane.offer.take(size);
            if is_enough(&offered) {
                break;
            }
        }
        offered
    }

    /// The lanes that media may leave by, with nothing assigned to them.
    fn offers(&self, controller: &dyn RateController, lanes: &Lanes) -> Assignment {
        array::from_fn(|index| {
            let subflow = Some(Subflow(index as u8)).filter(|lane| lane.0 < lanes.count())?;
            let mut allowance = controller.allowance(subflow);
            let mut target = controller.target_of(subflow);
            if let Some(most) = self.most {
                let most = most / u64::from(lanes.count());
                (allowance.rate, target) = (allowance.rate.min(most), target.min(most));
            }
            let due = self.pacer(subflow).due(allowance)?;
            let offer = lanes.offer(subflow, due, target, allowance.window)?;
            Some(Assigned { subflow, allowance, offer, first: None, size: DataSize::ZERO })
        })
    }

    /// What waits for a lane, in order of priority.
    fn waiting_for_lanes(&self) -> impl Iterator<Item = (Class, DataSize, Option<&Queued>)> {
        let repeated = |is_due| {
            self.retransmissions.requested(is_due).map(|id| (Class::Retransmission(id), self.packet, None))
        };
        let repairs = self.repairs.iter().zip(0..).flat_map(|(waiting, stream)| {
            std::iter::repeat_n((Class::Fec(StreamId(stream)), self.packet, None), usize::from(*waiting))
        });
        let media = self.queue.packets().enumerate();
        let media = media.map(|(place, queued)| (Class::Waiting(place), queued.size, Some(queued)));
        let filler = self
            .filler
            .filter(|_| !self.paused)
            .into_iter()
            .flat_map(|size| std::iter::repeat_n((Class::Filler, size, None), LOOKAHEAD));
        repeated(true).chain(repairs).chain(media).chain(repeated(false)).chain(filler)
    }

    /// Octets that wait behind the packet that leaves next by a subflow.
    pub(super) fn backlog_of(&self, controller: &dyn RateController, subflow: Subflow) -> DataSize {
        let Some(lanes) = &self.lanes else { return self.backlog() };
        let assigned = self.assign(controller, lanes, |_| false);
        let own = assigned.get(usize::from(subflow.0)).and_then(Option::as_ref);
        own.map_or(DataSize::ZERO, |lane| lane.size)
    }

    fn next_of_probe(&self, probe: &ActiveProbe, subflows: u8) -> Option<Transmission> {
        let due = probe.pacer.due(probe.allowance)?;
        let busy = (0..subflows)
            .map(Subflow)
            .find_map(|subflow| Some((subflow, self.waiting(subflow, subflows)?.0)));
        let (subflow, class) = busy.unwrap_or((Subflow(0), Class::Padding));
        Some(Transmission { due, wake: due, subflow, class, credit: probe.allowance.credit })
    }

    /// The packet left.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Timestamp, next: &Transmission, size: DataSize) {
        if matches!(next.class, Class::LaneProbe) {
            return;
        }
        let index = usize::from(next.subflow.0);
        if self.pacers.len() <= index {
            self.pacers.resize_with(index + 1, Pacer::default);
        }
        let pacer = &mut self.pacers[index];
        if let Some(probe) = &mut self.probe {
            // At a low rate the pauses for a whole probe would silence the subflow for tens of seconds.
            pacer.on_unpaced(now, size);
            probe.pacer.on_sent(now, probe.allowance, size);
            probe.size_left -= size;
            probe.packets_left = probe.packets_left.saturating_sub(1);
            if probe.size_left.is_zero() && probe.packets_left == 0 {
                self.probe = None;
            }
        } else {
            pacer.on_due_sent(now, Some(next.due), next.credit, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::Arriving;
    use super::super::repair::Service;
    use super::*;
    use crate::config::{Format, Limits, PlainReceiver, Stripe};
    use crate::frame::FrameKind;
    use crate::message::RtpPacket;
    use crate::payload::Payload;
    use seaway_control::{Fate, Feedback, PacketReport, PeerReport, Probe, SentPacket, Target};
    use seaway_units::{Ecn, RemoteTimestamp};
    use std::time::Duration;

    const PACKET: DataSize = DataSize::from_bytes(1200);

    /// Allows each subflow the same, and wants one probe.
    #[derive(Debug, Clone)]
    struct Fixed {
        subflows: u8,
        allowance: Allowance,
        probe: Option<Probe>,
    }

    impl RateController for Fixed {
        fn on_feedback(&mut self, _: Timestamp, _: &Feedback<'_>) {}

        fn poll_probe(&mut self, _: Timestamp) -> Option<Probe> {
            self.probe.take()
        }

        fn subflows(&self) -> u8 {
            self.subflows
        }

        fn allowance(&self, _: Subflow) -> Allowance {
            self.allowance
        }

        fn target(&self) -> Target {
            Target::new(self.allowance.rate * u64::from(self.subflows))
        }
    }

    /// A packet of 1200 octets takes 9.6 ms at 1 Mbit/s.
    fn fixed(subflows: u8) -> Fixed {
        Fixed { subflows, allowance: Allowance::paced(Bitrate::from_mbps(1)), probe: None }
    }

    fn us(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1000)
    }

    fn config() -> SenderConfig {
        let rate = Bitrate::from_mbps(8);
        let limits = Limits { min: rate, start: rate, max: rate };
        SenderConfig::new(1, "fixed".parse().unwrap(), limits, Format::Opaque)
    }

    fn plain(unreported: Option<StreamId>) -> PlainReceiver {
        PlainReceiver { cname: "a".into(), wall_clock: Duration::ZERO, unreported }
    }

    /// A scheduler in which a frame of so many packets waits.
    fn scheduler(config: &SenderConfig, packets: usize) -> Scheduler {
        let mut scheduler = Scheduler::new(config);
        push(&mut scheduler, packets);
        scheduler
    }

    fn push(scheduler: &mut Scheduler, packets: usize) {
        let frame = Arriving { stream: StreamId(0), kind: FrameKind::Key, timestamp: 0 };
        let payload = || (Payload::zeros(1000), PACKET);
        scheduler.queue.push(us(1000), frame, (0..packets).map(|_| payload()));
    }

    /// A media packet left that is kept to be sent again, and it is requested.
    fn request(scheduler: &mut Scheduler, copies: u8, spacing: u64) {
        scheduler.retransmissions.on_sent(us(0), Some(&RtpPacket::default()));
        scheduler.retransmissions.queue(Subflow(0), PacketId(0), Service { copies, spacing });
    }

    /// The next packet is said to have left when it was due.
    fn send(scheduler: &mut Scheduler, controller: &Fixed) -> (Timestamp, Subflow) {
        let next = scheduler.next(controller).expect("a packet");
        let left = next.due.max(us(1000));
        scheduler.on_sent(left, &next, PACKET);
        if matches!(next.class, Class::Media) {
            scheduler.queue.pop(next.subflow);
        }
        (left, next.subflow)
    }

    fn class(scheduler: &Scheduler, controller: &Fixed) -> &'static str {
        match scheduler.next(controller).map(|next| next.class) {
            Some(Class::Retransmission(_)) => "retransmission",
            Some(Class::Fec(_)) => "fec",
            Some(Class::Media) => "media",
            Some(Class::Waiting(_)) => "waiting",
            Some(Class::LaneProbe) => "lane probe",
            Some(Class::Filler) => "filler",
            Some(Class::Padding) => "padding",
            None => "none",
        }
    }

    /// All subflows together stay below the bound, whatever the controller allows: of 200 kbit/s each of two has 100, a packet each 96 ms.
    #[test]
    fn the_bound_is_shared_by_the_subflows() {
        let mut scheduler = scheduler(&config(), 6);
        scheduler.most = Some(Bitrate::from_kbps(200));
        let controller = fixed(2);
        let left: Vec<_> = (0..6).map(|_| send(&mut scheduler, &controller)).collect();
        let expected = [1000, 1000, 97_000, 97_000, 193_000, 193_000].map(us);
        assert_eq!(left.iter().map(|(left, _)| *left).collect::<Vec<_>>(), expected);
        assert_eq!(left.iter().filter(|(_, subflow)| subflow.0 == 0).count(), 3);
        // Above what the controller allows it changes nothing.
        let mut scheduler = self::scheduler(&config(), 2);
        scheduler.most = Some(Bitrate::from_mbps(5));
        let controller = fixed(1);
        assert_eq!([0; 2].map(|_| send(&mut scheduler, &controller).0), [us(1000), us(10_600)]);
        // A bound of none lets nothing leave.
        push(&mut scheduler, 1);
        scheduler.most = Some(Bitrate::ZERO);
        assert!(scheduler.next(&controller).is_none());
    }

    /// So do lanes: two at 50 kbit/s each, 192 ms a packet.
    #[test]
    fn the_bound_is_shared_by_the_lanes() {
        let config = SenderConfig { lanes: 2, ..config() };
        let mut scheduler = scheduler(&config, 8);
        scheduler.most = Some(Bitrate::from_kbps(100));
        let controller = fixed(2);
        let mut left = Vec::new();
        for _ in 0..8 {
            let next = scheduler.next(&controller).expect("a packet");
            let now = next.due.max(us(1000));
            let Class::Waiting(place) = next.class else { continue };
            scheduler.queue.take(place, next.subflow);
            scheduler.on_sent(now, &next, PACKET);
            left.push(now);
        }
        assert_eq!(left.len(), 8);
        for (index, at) in left.iter().enumerate() {
            let span = *at - left[0];
            let sent = PACKET * index as u64;
            assert!(sent <= Bitrate::from_kbps(100).size_in(span) + PACKET, "{index} packets by {at}");
        }
    }

    /// What does not fit the window waits, and what fits exactly leaves.
    #[test]
    fn a_window_holds_back_what_does_not_fit() {
        let scheduler = scheduler(&config(), 1);
        let mut controller = fixed(1);
        for (window, leaves) in [(1199, false), (1200, true), (5000, true), (0, false)] {
            controller.allowance.window = Some(DataSize::from_bytes(window));
            assert_eq!(scheduler.next(&controller).is_some(), leaves, "{window}");
        }
    }

    /// What is sent again leaves first, then repair packets, media, later copies, and at last what fills.
    #[test]
    fn classes_leave_in_order() {
        let config = SenderConfig { endless: true, ..config() };
        let mut scheduler = scheduler(&config, 1);
        let controller = fixed(1);
        request(&mut scheduler, 2, 100);
        scheduler.add_repairs(StreamId(0), 1);
        assert_eq!(class(&scheduler, &controller), "retransmission");
        assert!(scheduler.retransmissions.take(us(0), us(0), PacketId(0)).is_some());
        assert_eq!(class(&scheduler, &controller), "fec");
        // A packet and three that are as large: a copy, a repair packet and the filler.
        assert_eq!(scheduler.backlog(), PACKET * 4);
        assert!(scheduler.take_repair(StreamId(0)) && !scheduler.take_repair(StreamId(0)));
        assert_eq!(class(&scheduler, &controller), "media");
        scheduler.queue.pop(Subflow(0));
        assert_eq!(class(&scheduler, &controller), "retransmission");
        assert!(scheduler.retransmissions.take(us(0), us(0), PacketId(0)).is_some());
        assert_eq!((class(&scheduler, &controller), scheduler.backlog()), ("filler", PACKET));
        scheduler.paused = true;
        assert_eq!(class(&scheduler, &controller), "none", "the source is silent on purpose");
    }

    /// 128 repair packets of a stream wait at most, however many were wanted, and each is taken once.
    #[test]
    fn repair_packets_that_wait_are_bounded() {
        let config = SenderConfig { streams: vec![config().streams[0]; 2], ..config() };
        let mut scheduler = Scheduler::new(&config);
        for wanted in [100, 100, u64::MAX] {
            scheduler.add_repairs(StreamId(1), wanted);
        }
        scheduler.add_repairs(StreamId(0), 2);
        assert_eq!(scheduler.backlog(), PACKET * 130);
        let next = |scheduler: &Scheduler| match scheduler.next(&fixed(1)).map(|next| next.class) {
            Some(Class::Fec(stream)) => Some(stream.0),
            _ => None,
        };
        assert_eq!(next(&scheduler), Some(0));
        assert_eq!((0..200).filter(|_| scheduler.take_repair(StreamId(0))).count(), 2);
        assert_eq!(next(&scheduler), Some(1));
        assert_eq!((0..200).filter(|_| scheduler.take_repair(StreamId(1))).count(), 128);
        assert_eq!((next(&scheduler), scheduler.backlog()), (None, DataSize::ZERO));
    }

    /// A probe of 3 packets and 3000 octets at 12 Mbit/s: a packet each 0.8 ms, padding where nothing waits.
    fn probing() -> (Scheduler, Fixed) {
        let mut controller = fixed(1);
        controller.probe = Some(Probe {
            id: ProbeId(7),
            subflow: Subflow(0),
            rate: Bitrate::from_mbps(12),
            size: DataSize::from_bytes(3000),
            packets: 3,
        });
        (scheduler(&config(), 1), controller)
    }

    /// It ends with its last packet, and the media behind it waits a usual pause: 9.6 ms.
    #[test]
    fn a_probe_takes_its_packets_and_no_more() {
        let (mut scheduler, mut controller) = probing();
        assert!(scheduler.begin_probe(us(1000), &mut controller));
        assert_eq!(scheduler.probe(), Some(ProbeId(7)));
        assert!(!scheduler.begin_probe(us(1000), &mut controller), "it is being sent");
        let mut classes = Vec::new();
        for expected in [1000, 1800, 2600] {
            classes.push(class(&scheduler, &controller));
            assert_eq!(send(&mut scheduler, &controller).0, us(expected));
        }
        assert_eq!(classes, ["media", "padding", "padding"]);
        assert_eq!((scheduler.probe(), class(&scheduler, &controller)), (None, "none"));
        push(&mut scheduler, 1);
        assert_eq!(send(&mut scheduler, &controller).0, us(2600 + 9600));
        // One of more octets than its packets have takes more of them.
        let (mut scheduler, mut controller) = probing();
        controller.probe.as_mut().expect("a probe").size = DataSize::from_bytes(4801);
        scheduler.begin_probe(us(1000), &mut controller);
        let sent = (0..20)
            .take_while(|_| scheduler.probe().is_some() && send(&mut scheduler, &controller).0 > us(0));
        assert_eq!(sent.count(), 5);
    }

    /// Neither while the source is silent, nor below a bound of all that leaves, nor to a receiver that takes no padding.
    #[test]
    fn some_probes_are_not_sent() {
        let (mut scheduler, mut controller) = probing();
        scheduler.paused = true;
        assert!(!scheduler.begin_probe(us(1000), &mut controller));
        (scheduler.paused, scheduler.most) = (false, Some(Bitrate::from_mbps(100)));
        assert!(!scheduler.begin_probe(us(1000), &mut controller));
        scheduler.most = None;
        assert!(scheduler.begin_probe(us(1000), &mut controller), "it waited");
        scheduler.end_probe();
        assert_eq!(scheduler.probe(), None);
        for (repair, takes) in [(None, false), (config().repair, true)] {
            let (_, mut controller) = probing();
            let config = SenderConfig { plain: Some(plain(None)), repair, ..config() };
            assert_eq!(Scheduler::new(&config).begin_probe(us(1000), &mut controller), takes);
        }
    }

    /// Where packets are due within the send burst interval they leave together, and the driver comes in the middle of two.
    #[test]
    fn packets_that_are_due_soon_leave_together() {
        let config = SenderConfig { send_burst_interval: TimeDelta::from_micros(4800), ..config() };
        let mut scheduler = scheduler(&config, 3);
        let controller = fixed(1);
        // A pause of 9.6 ms is two intervals.
        let wakes = |scheduler: &Scheduler, controller: &Fixed| {
            let next = scheduler.next(controller).expect("a packet");
            (next.due, next.wake - next.due)
        };
        send(&mut scheduler, &controller);
        assert_eq!(wakes(&scheduler, &controller), (us(10_600), TimeDelta::from_micros(4800)));
        let next = scheduler.next(&controller).expect("a packet");
        assert_eq!(scheduler.release(us(5800), &next), us(5800), "4.8 ms early");
        assert_eq!(scheduler.release(us(5799), &next), us(10_600));
        // A longer pause: no packet could leave with another.
        let mut gap = controller.clone();
        gap.allowance.gap = TimeDelta::from_micros(1);
        assert_eq!(wakes(&scheduler, &gap).1, TimeDelta::ZERO);
        // The last packet waits for none.
        send(&mut scheduler, &controller);
        assert_eq!(wakes(&scheduler, &controller), (us(20_200), TimeDelta::ZERO));
    }

    /// A driver that is late by two send burst intervals, 9.6 ms, loses nothing; of a longer time it makes up for so much.
    #[test]
    fn two_intervals_are_made_up_for() {
        let config = SenderConfig { send_burst_interval: TimeDelta::from_micros(4800), ..config() };
        let controller = fixed(1);
        for (late, expected) in [(9600, 20_200), (20_000, 30_600)] {
            let mut scheduler = scheduler(&config, 3);
            send(&mut scheduler, &controller);
            let next = scheduler.next(&controller).expect("a packet");
            assert_eq!(next.due, us(10_600));
            scheduler.on_sent(next.due + TimeDelta::from_micros(late), &next, PACKET);
            assert_eq!(scheduler.next(&controller).map(|next| next.due), Some(us(expected)));
        }
    }

    /// What no feedback covers leaves as soon as it is there, as no controller limits it.
    #[test]
    fn what_no_feedback_covers_does_not_wait() {
        let config = SenderConfig { plain: Some(plain(Some(StreamId(0)))), ..config() };
        let scheduler = scheduler(&config, 1);
        let mut controller = fixed(1);
        controller.allowance.rate = Bitrate::ZERO;
        let next = scheduler.next(&controller).expect("a packet");
        assert_eq!((next.due, next.wake, class(&scheduler, &controller)), (us(1000), us(1000), "media"));
        let config = SenderConfig { plain: Some(plain(Some(StreamId(1)))), ..config };
        assert!(self::scheduler(&config, 1).next(&controller).is_none(), "of another stream");
    }

    /// A packet that probes a lane takes nothing of the pacer's.
    #[test]
    fn a_lane_probe_leaves_the_pacer_alone() {
        let mut scheduler = scheduler(&config(), 1);
        let controller = fixed(1);
        send(&mut scheduler, &controller);
        push(&mut scheduler, 1);
        let next = scheduler.next(&controller).expect("a packet");
        scheduler.on_sent(us(5000), &Transmission { class: Class::LaneProbe, ..next }, PACKET);
        assert_eq!(scheduler.next(&controller).map(|next| next.due), Some(us(10_600)));
    }

    /// A lane's window bounds what is assigned to it; the rest goes to the other one, and its backlog is its own.
    #[test]
    fn lanes_take_what_their_windows_hold() {
        let config = SenderConfig { lanes: 2, ..config() };
        let scheduler = scheduler(&config, 10);
        let mut controller = fixed(2);
        let backlogs =
            |controller: &Fixed| [0, 1, 2].map(|lane| scheduler.backlog_of(controller, Subflow(lane)));
        assert_eq!(backlogs(&controller), [PACKET * 5, PACKET * 5, DataSize::ZERO]);
        controller.allowance.window = Some(PACKET * 3);
        assert_eq!(backlogs(&controller), [PACKET * 3, PACKET * 3, DataSize::ZERO]);
        controller.allowance.window = Some(PACKET - DataSize::from_bytes(1));
        assert_eq!(class(&scheduler, &controller), "none");
        controller.allowance = Allowance::paced(Bitrate::ZERO);
        assert_eq!(class(&scheduler, &controller), "none");
    }

    /// The probe of a lane that no media leaves by any more is given up; until then it goes on.
    #[test]
    fn a_probe_ends_with_its_lane() {
        let (_, mut controller) = probing();
        controller.subflows = 2;
        let mut scheduler = Scheduler::new(&SenderConfig { lanes: 2, ..config() });
        assert!(scheduler.begin_probe(us(1000), &mut controller));
        assert!(!scheduler.begin_probe(us(1000), &mut controller));
        assert_eq!(scheduler.probe(), Some(ProbeId(7)));
        let lanes = scheduler.lanes.as_mut().expect("lanes");
        let change = lanes.poll_change(us(600_000), |lane| (lane == Subflow(0)).then(|| us(0)));
        assert_eq!(change.map(|(lane, _)| lane), Some(Subflow(0)));
        assert!(!scheduler.begin_probe(us(600_000), &mut controller));
        assert_eq!(scheduler.probe(), None);
    }

    /// Idle lanes are probed, unless the source is silent on purpose; media leaves with the credit of two send burst intervals.
    #[test]
    fn idle_lanes_are_probed() {
        let burst = TimeDelta::from_micros(4800);
        let config = SenderConfig { lanes: 2, send_burst_interval: burst, ..config() };
        let mut scheduler = scheduler(&config, 1);
        let controller = fixed(2);
        let next = scheduler.next(&controller).expect("a packet");
        assert_eq!((next.credit, class(&scheduler, &controller)), (burst * 2, "waiting"));
        scheduler.queue.take(0, next.subflow);
        let lanes = scheduler.lanes.as_mut().expect("lanes");
        lanes.on_sent(us(1000), next.subflow, PACKET, (Bitrate::from_mbps(1), false));
        scheduler.on_sent(us(1000), &next, PACKET);
        assert_eq!(class(&scheduler, &controller), "lane probe");
        assert_eq!(scheduler.next(&controller).map(|next| next.due), Some(us(101_000)));
        scheduler.paused = true;
        assert_eq!(class(&scheduler, &controller), "none");
        // Nor does an endless source fill them then.
        let mut scheduler = Scheduler::new(&SenderConfig { endless: true, ..config });
        assert_eq!(class(&scheduler, &controller), "filler");
        scheduler.paused = true;
        assert_eq!(class(&scheduler, &controller), "none");
    }

    /// Frames stay whole: of four and two packets each takes a lane of its own.
    #[test]
    fn whole_frames_are_assigned_to_lanes() {
        let config = SenderConfig { lanes: 2, stripe: Stripe::Frame, ..config() };
        let mut scheduler = scheduler(&config, 4);
        push(&mut scheduler, 2);
        let controller = fixed(2);
        let backlogs = [0, 1].map(|lane| scheduler.backlog_of(&controller, Subflow(lane)));
        assert_eq!(backlogs, [PACKET * 4, PACKET * 2]);
    }

    /// A packet of another lane that can leave at once does not wait for one that is assigned before it. Lane 1 is slower by 15 ms, and a
    /// packet takes 9.6 ms: of the next ones lane 0 takes the first, as it arrives there before 25.6 ms, and lane 1 the second.
    #[test]
    fn a_lane_that_is_free_does_not_wait_for_another() {
        let mut scheduler = scheduler(&SenderConfig { lanes: 2, ..config() }, 3);
        let controller = fixed(2);
        for (lane, transit) in [(0, 5_000), (1, 20_000)] {
            let arrived = RemoteTimestamp::from_nanos(transit * 1000);
            let fate = Fate::Received { at: Some(arrived), ecn: Ecn::NotEct };
            let packets = [PacketReport { packet: SentPacket::new(0, PACKET), sent: us(0), fate }];
            let subflow = Subflow(lane);
            let feedback = Feedback {
                subflow,
                rtt: None,
                packets: &packets,
                requested: &[],
                peer: PeerReport::default(),
            };
            scheduler.lanes.as_mut().expect("lanes").on_feedback(us(1000), &feedback);
        }
        let mut lanes = Vec::new();
        for now in [1000, 1001] {
            scheduler.lanes.as_mut().expect("lanes").note(us(now));
            let next = scheduler.next(&controller).expect("a packet");
            let Class::Waiting(place) = next.class else { panic!("{next:?}") };
            assert!(next.due <= us(now), "{next:?}");
            scheduler.queue.take(place, next.subflow);
            scheduler.on_sent(us(now), &next, PACKET);
            let rate = Bitrate::from_mbps(1);
            scheduler.lanes.as_mut().expect("lanes").on_sent(us(now), next.subflow, PACKET, (rate, false));
            lanes.push((next.subflow.0, place));
        }
        assert_eq!(lanes, [(0, 0), (1, 1)]);
    }
}
