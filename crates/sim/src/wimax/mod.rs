//! A WiMAX cell: 802.16 OFDMA TDD, point to multipoint, as `docs/models/wimax.md` describes it.
//!
//! Time goes in frames: a downlink subframe, in which the base serves the queues it holds for its stations, and an
//! uplink subframe, in which every station fills what it was granted. What leaves a queue at the start of a
//! subframe arrives at its end; an arrival at that very instant waits for the next. Stations reach one another
//! through the base.

mod air;
mod bandwidth;
mod burst;
mod config;
mod frame;
mod station;
#[cfg(test)]
mod tests;

pub use config::{
    Connection, Downlink, Grants, Headers, Order, Polling, Scheduler, Service, Share, Station, StationConfig,
    WimaxConfig, WimaxPlan,
};
pub use frame::{Frame, Modulation};

use crate::cell::{Addressed, Cell, CellError};
use crate::mac_queue::MacQueue;
use air::{Air, Channel};
use bandwidth::{Bandwidth, Grant, Subscriber};
use burst::Burst;
use config::PIGGYBACK;
use seaway_link::{
    DropTailConfig, LinkStatistics, Node, Outbox, Packet, Port, QueueConfig, RandomStream, Wake,
};
use seaway_units::{Bitrate, Timestamp};
use station::{Uplink, drain};
use std::collections::{BTreeMap, VecDeque};

/// A WiMAX cell. Port 0 is the base's, port *i* + 1 station *i*'s.
#[derive(Debug)]
pub struct Wimax<P> {
    config: WimaxPlan,
    up: Vec<Uplink<P>>,
    /// Of each station the services' queues, then the feedback's.
    down: Vec<Vec<MacQueue<P>>>,
    granting: Granting,
    /// The queue of each flow, by flow and whether it goes up.
    queues: BTreeMap<(u32, bool), usize>,
    reported: Vec<Side>,
    next: Phase,
    arriving_up: VecDeque<Arrival<P>>,
    arriving_down: VecDeque<Arrival<P>>,
    out: Outbox<P>,
    channel: Channel,
    /// Packets in all queues.
    waiting: u64,
}

/// A queue of the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    station: usize,
    is_down: bool,
    queue: usize,
}

/// The queues of the downlink for a station: the services', and before them the one of feedback.
const DOWN: usize = Service::COUNT + 1;
/// The number of the feedback's queue, behind those of the services.
const CONTROL: usize = Service::COUNT;
/// No packet is dropped there.
const UNBOUNDED: u64 = u32::MAX as u64;

/// A packet in the air.
#[derive(Debug)]
struct Arrival<P> {
    at: Timestamp,
    leaves_by: Port,
    station: usize,
    queue: usize,
    packet: Packet<P>,
}

#[derive(Debug)]
enum Granting {
    /// Octets a frame for each station.
    Static(Vec<u64>),
    Dynamic(Box<Bandwidth>),
}

/// Subframes in the order they come: even ones are downlinks, odd ones uplinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Phase(u64);

impl Phase {
    const fn frame(self) -> u64 {
        self.0 / 2
    }

    const fn is_uplink(self) -> bool {
        self.0 % 2 == 1
    }

    fn at(self, frame: Frame) -> Timestamp {
        let start = frame.start(self.frame());
        if self.is_uplink() { start + frame.uplink_start() } else { start }
    }

    /// The first that lies behind `now`.
    fn after(frame: Frame, now: Timestamp) -> Self {
        let downlink = Self(frame.index(now) * 2);
        let uplink = Self(downlink.0 + 1);
        if uplink.at(frame) > now { uplink } else { Self(downlink.0 + 2) }
    }
}

impl<P> Wimax<P> {
    /// The base's port.
    pub const BASE: Port = Port(0);

    /// The cell that `config` describes. Its queues, its channel and its contention draw from streams of their own of
    /// the run's `seed`, below `name`.
    ///
    /// # Errors
    /// Names the key of the scenario and what would be valid there.
    pub fn new(config: WimaxPlan, seed: u64, name: &str) -> Result<Self, CellError> {
        config.check()?;
        let granting = match config.grants {
            Grants::Static { .. } => Granting::Static(config.static_grants()?),
            Grants::Dynamic(polling) => {
                let stream = RandomStream::new(seed, &format!("{name}/contention"));
                let slots = u64::from(config.frame.uplink_slots() - config.control_slots);
                Granting::Dynamic(Box::new(Bandwidth::new(polling, subscribers(&config), slots, stream)))
            }
        };
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for index in 0..config.stations.len() {
            up.push(Uplink::new(uplink_queues(&config, index, seed, name)?));
            down.push(downlink_queues(&config, index, seed, name)?);
        }
        let queues =
            config.connections.iter().map(|open| ((open.flow, open.is_uplink), config.queue_of(open)));
        Ok(Self {
            up,
            down,
            granting,
            queues: queues.collect(),
            reported: reported(&config),
            next: Phase(0),
            arriving_up: VecDeque::new(),
            arriving_down: VecDeque::new(),
            out: Outbox::default(),
            channel: Channel {
                slot_loss: config.slot_loss,
                random: RandomStream::new(seed, &format!("{name}/loss")),
            },
            waiting: 0,
            config,
        })
    }

    fn is_idle(&self) -> bool {
        let has_requests = match &self.granting {
            Granting::Static(_) => false,
            Granting::Dynamic(bandwidth) => !bandwidth.is_idle(),
        };
        self.waiting == 0 && !has_requests
    }

    /// Processes the subframes that begin up to `now`.
    fn advance(&mut self, now: Timestamp) {
        while self.next.at(self.config.frame) <= now {
            if self.is_idle() {
                self.skip_until(now);
                break;
            }
            let (phase, at) = (self.next, self.next.at(self.config.frame));
            self.next = Phase(phase.0 + 1);
            if phase.is_uplink() {
                self.serve_uplink(at, phase.frame());
            } else {
                self.serve_downlink(at, phase.frame());
            }
        }
    }

    /// Passes over the subframes that begin up to `now`, in which no station sends.
    fn skip_until(&mut self, now: Timestamp) {
        let next = Phase::after(self.config.frame, now);
        let passed = |phase: Phase| (phase.0 / 2, phase.0.div_ceil(2));
        let ((up_to, down_to), (up_from, down_from)) = (passed(next), passed(self.next));
        self.offer_downlink(down_to - down_from);
        self.offer_uplink(up_to - up_from);
        if let Granting::Dynamic(bandwidth) = &mut self.granting
            && up_to > up_from
        {
            bandwidth.rest();
        }
        self.next = next;
    }

    fn serve_downlink(&mut self, now: Timestamp, frame: u64) {
        self.offer_downlink(1);
        let before = self.waiting;
        let mut slots = self.config.downlink_data_slots();
        let stations = self.down.len();
        let at = now + self.config.frame.downlink_end() + self.config.delay;
        for queue in std::iter::once(CONTROL).chain(0..Service::COUNT) {
            for turn in 0..stations {
                let station = (turn + (frame % stations as u64) as usize) % stations;
                let mac_queue = &mut self.down[station][queue];
                let waiting = mac_queue.waiting();
                if waiting == 0 || slots == 0 {
                    continue;
                }
                let octets_per_slot = self.config.stations[station].modulation.octets_per_slot();
                let mut burst = Burst::new(slots * octets_per_slot, self.config.headers);
                let mut air = Air {
                    arriving: &mut self.arriving_down,
                    out: &mut self.out,
                    channel: &mut self.channel,
                    octets_per_slot,
                    station,
                    queue,
                    leaves_by: port_of(station),
                    at,
                };
                drain(mac_queue, now, &mut burst, None, &mut air);
                slots = burst.left() / octets_per_slot;
                self.waiting -= waiting - mac_queue.waiting();
            }
        }
        debug_assert!(self.waiting <= before);
    }

    fn serve_uplink(&mut self, now: Timestamp, frame: u64) {
        self.offer_uplink(1);
        if let Granting::Dynamic(bandwidth) = &mut self.granting {
            let grants = bandwidth.grants(frame);
            self.serve_granted(now, &grants);
        } else {
            for station in 0..self.up.len() {
                let Granting::Static(grants) = &self.granting else { return };
                self.serve_station(now, station, grants[station]);
            }
        }
    }

    /// Fills what the base granted, then processes the stations' requests.
    fn serve_granted(&mut self, now: Timestamp, grants: &[Grant]) {
        let mut may_piggyback = vec![[false; Service::COUNT]; grants.len()];
        for (station, grant) in grants.iter().enumerate() {
            let granted = grant.slots * self.octets_per_slot(station);
            let before = self.wants(station);
            // A piggyback request takes its room before the data.
            let requests = granted > 0 && before.iter().sum::<u64>() > granted;
            let kept = if requests { PIGGYBACK.min(granted) } else { 0 };
            let left = self.serve_station(now, station, granted - kept);
            let after = self.wants(station);
            for service in 0..Service::COUNT {
                let has_sent = after[service] < before[service];
                may_piggyback[station][service] = has_sent && left + kept >= PIGGYBACK;
            }
        }
        let wants: Vec<_> = (0..grants.len()).map(|station| self.wants(station)).collect();
        if let Granting::Dynamic(bandwidth) = &mut self.granting {
            bandwidth.request(grants, &wants, &may_piggyback);
        }
    }

    /// Fills a grant of so many octets; gives those that are left.
    fn serve_station(&mut self, now: Timestamp, station: usize, granted: u64) -> u64 {
        let octets_per_slot = self.octets_per_slot(station);
        let uplink = &mut self.up[station];
        let waiting = uplink.waiting();
        if waiting == 0 {
            return granted;
        }
        let mut burst = Burst::new(granted, self.config.headers);
        let mut air = Air {
            arriving: &mut self.arriving_up,
            out: &mut self.out,
            channel: &mut self.channel,
            octets_per_slot,
            station,
            queue: 0,
            leaves_by: Self::BASE,
            at: now - self.config.frame.uplink_start() + self.config.frame.uplink_end() + self.config.delay,
        };
        let reserved = self.config.reserved(station);
        uplink.serve(now, &mut burst, reserved, self.config.scheduler, &mut air);
        self.waiting -= waiting - uplink.waiting();
        burst.left()
    }

    /// What the queues of a station hold, with the headers it takes to send it.
    fn wants(&self, station: usize) -> [u64; Service::COUNT] {
        let overhead = self.config.headers.overhead();
        std::array::from_fn(|service| {
            let queue = &self.up[station].queues[service];
            queue.octets() + overhead * queue.waiting()
        })
    }

    fn octets_per_slot(&self, station: usize) -> u64 {
        self.config.stations[station].modulation.octets_per_slot()
    }

    fn offer_downlink(&mut self, frames: u64) {
        for (station, queues) in self.down.iter_mut().enumerate() {
            let offered = self.config.downlink_octets(station);
            queues.iter_mut().for_each(|queue| queue.offer(offered * frames, 0));
        }
    }

    fn offer_uplink(&mut self, frames: u64) {
        for station in 0..self.up.len() {
            let offered = self.uplink_octets(station);
            self.up[station].queues.iter_mut().for_each(|queue| queue.offer(offered * frames, 0));
        }
    }

    /// What a station could send in a frame were it alone.
    fn uplink_octets(&self, station: usize) -> u64 {
        match &self.granting {
            Granting::Static(grants) => grants[station],
            Granting::Dynamic(_) => {
                let slots = self.config.frame.uplink_slots() - self.config.control_slots;
                u64::from(slots) * self.octets_per_slot(station)
            }
        }
    }

    fn queue(&self, side: Side) -> &MacQueue<P> {
        if side.is_down {
            &self.down[side.station][side.queue]
        } else {
            &self.up[side.station].queues[side.queue]
        }
    }

    fn queue_mut(&mut self, side: Side) -> &mut MacQueue<P> {
        if side.is_down {
            &mut self.down[side.station][side.queue]
        } else {
            &mut self.up[side.station].queues[side.queue]
        }
    }
}

impl<P: Addressed + std::fmt::Debug + Send> Wimax<P> {
    /// Where a packet waits that entered at `port`.
    fn side(&self, port: Port, packet: &Packet<P>) -> Side {
        let is_down = port == Self::BASE;
        let default = Service::BestEffort as usize;
        let queue = self.queues.get(&(packet.flow, !is_down)).copied().unwrap_or(default);
        let port = if is_down { packet.payload.leave_by() } else { port };
        Side { station: usize::from(port.0.saturating_sub(1)).min(self.up.len() - 1), is_down, queue }
    }

    fn enqueue(&mut self, now: Timestamp, port: Port, packet: Packet<P>) {
        let side = self.side(port, &packet);
        if let (true, Downlink::Fixed(delay)) = (side.is_down, self.config.downlink) {
            self.queue_mut(side).pass_through(now, packet.size);
            let Side { station, queue, .. } = side;
            let at = now + delay;
            self.arriving_down.push_back(Arrival { at, leaves_by: port_of(station), station, queue, packet });
            return;
        }
        if let (false, Granting::Dynamic(bandwidth)) = (side.is_down, &mut self.granting) {
            bandwidth.note_use(side.station, side.queue);
        }
        let queue = self.queue_mut(side);
        let before = queue.waiting();
        queue.enqueue(now, packet);
        let after = queue.waiting();
        while let Some(dropped) = self.queue_mut(side).poll_dropped() {
            self.out.drop(dropped);
        }
        self.waiting = self.waiting + after - before;
    }

    /// Moves what has arrived and what was dropped into the outbox. Returns when to run next.
    fn deliver(&mut self, now: Timestamp, out: &mut Outbox<P>) -> Wake {
        out.append(&mut self.out);
        while let Some(Arrival { at, leaves_by, packet, .. }) = self.pop_arrival(now) {
            out.send(at, leaves_by, packet);
        }
        let phase = (!self.is_idle()).then(|| self.next.at(self.config.frame));
        let arrival = |queue: &VecDeque<Arrival<P>>| queue.front().map(|arrival| arrival.at);
        [phase, arrival(&self.arriving_up), arrival(&self.arriving_down)].into_iter().flatten().min()
    }

    /// The next packet that has arrived by `now`.
    fn pop_arrival(&mut self, now: Timestamp) -> Option<Arrival<P>> {
        let due =
            |queue: &VecDeque<Arrival<P>>| queue.front().map(|arrival| arrival.at).filter(|&at| at <= now);
        let is_down = match (due(&self.arriving_up), due(&self.arriving_down)) {
            (None, None) => return None,
            (Some(up), Some(down)) => down < up,
            (up, _) => up.is_none(),
        };
        let arriving = if is_down { &mut self.arriving_down } else { &mut self.arriving_up };
        let arrival = arriving.pop_front()?;
        self.queue_mut(Side { station: arrival.station, is_down, queue: arrival.queue })
            .deliver(arrival.packet.size);
        Some(arrival)
    }
}

impl<P: Addressed + std::fmt::Debug + Send> Node<P> for Wimax<P> {
    fn on_packet(&mut self, now: Timestamp, port: Port, packet: Packet<P>, out: &mut Outbox<P>) -> Wake {
        self.advance(now);
        self.enqueue(now, port, packet);
        self.deliver(now, out)
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<P>) -> Wake {
        if now < until {
            self.advance(now);
        }
        self.deliver(now, out)
    }
}

impl<P: Addressed + std::fmt::Debug + Send> Cell<P> for Wimax<P> {
    fn queue_names(&self) -> Vec<String> {
        self.config.queue_names()
    }

    fn statistics(&self, queue: usize, now: Timestamp) -> LinkStatistics {
        self.queue(self.reported[queue]).statistics(now)
    }

    fn restart_statistics(&mut self, now: Timestamp) {
        self.advance(now);
        let queues =
            self.up.iter_mut().flat_map(|uplink| &mut uplink.queues).chain(self.down.iter_mut().flatten());
        queues.for_each(|queue| queue.restart_statistics(now));
    }

    fn waiting(&self, queue: usize) -> u64 {
        self.queue(self.reported[queue]).waiting()
    }

    fn rate(&self, queue: usize) -> Bitrate {
        let side = self.reported[queue];
        let octets = if side.is_down {
            self.config.downlink_octets(side.station)
        } else {
            self.uplink_octets(side.station)
        };
        self.config.frame.rate(octets)
    }
}

fn port_of(station: usize) -> Port {
    Port(u16::try_from(station + 1).unwrap_or(u16::MAX))
}

fn subscribers(config: &WimaxPlan) -> Vec<Subscriber> {
    let of = |(index, station): (usize, &Station)| Subscriber {
        octets_per_slot: station.modulation.octets_per_slot(),
        unsolicited: config.reserved(index),
        extended: config.frame.octets(station.ertps),
        uses: [false; Service::COUNT],
    };
    config.stations.iter().enumerate().map(of).collect()
}

/// The queues that reports show: those of connections; best effort where none is known.
fn reported(config: &WimaxPlan) -> Vec<Side> {
    let mut sides: Vec<Side> = config
        .connections
        .iter()
        .map(|open| Side { station: open.station, is_down: !open.is_uplink, queue: config.queue_of(open) })
        .collect();
    if sides.is_empty() {
        let queue = Service::BestEffort as usize;
        let both = |station| [false, true].map(|is_down| Side { station, is_down, queue });
        sides.extend((0..config.stations.len()).flat_map(both));
    }
    sides.sort_unstable();
    sides.dedup();
    sides
}

impl WimaxPlan {
    /// The names of the queues in reports: `ss1/up/rtps`, `ss1/down/control`.
    pub fn queue_names(&self) -> Vec<String> {
        let name = |side: Side| {
            let direction = if side.is_down { "down" } else { "up" };
            let queue = Service::ALL.get(side.queue).map_or("control", |(name, _)| name);
            format!("{}/{direction}/{queue}", self.stations[side.station].name)
        };
        reported(self).into_iter().map(name).collect()
    }

    fn queue_of(&self, open: &Connection) -> usize {
        let is_control = open.is_feedback && !open.is_uplink && self.downlink == Downlink::Priority;
        if is_control { CONTROL } else { open.service as usize }
    }

    /// Octets a frame that are reserved for the UGS queue of a station.
    fn reserved(&self, station: usize) -> u64 {
        self.frame.octets(self.stations[station].ugs)
    }
}

fn queue_error(place: &str) -> impl Fn(seaway_link::Error) -> CellError + '_ {
    move |error| CellError::new(place, error.to_string())
}

fn uplink_queues<P>(
    config: &WimaxPlan,
    station: usize,
    seed: u64,
    name: &str,
) -> Result<Vec<MacQueue<P>>, CellError> {
    let Station { name: own, queue, .. } = &config.stations[station];
    let nominal = config.nominal_up(station);
    let make = |(service, _): (&str, Service)| {
        let stream = RandomStream::new(seed, &format!("{name}/{own}/up/{service}"));
        MacQueue::new(queue, nominal, stream).map_err(queue_error("station.queue"))
    };
    Service::ALL.into_iter().map(make).collect()
}

fn downlink_queues<P>(
    config: &WimaxPlan,
    station: usize,
    seed: u64,
    name: &str,
) -> Result<Vec<MacQueue<P>>, CellError> {
    let own = &config.stations[station].name;
    let nominal = config.nominal_down(station);
    let unbounded = QueueConfig::DropTail(DropTailConfig::packets(UNBOUNDED));
    let make = |index: usize| {
        let queue = if index == CONTROL { &unbounded } else { &config.base_queue };
        let service = Service::ALL.get(index).map_or("control", |(name, _)| name);
        let stream = RandomStream::new(seed, &format!("{name}/{own}/down/{service}"));
        MacQueue::new(queue, nominal, stream).map_err(queue_error("base.queue"))
    };
    (0..DOWN).map(make).collect()
}
