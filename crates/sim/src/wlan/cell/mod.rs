//! The cell as a node and its event loop (`docs/models/wlan.md`, section "Event model").

mod associate;
mod idle;
mod ingress;
mod modes;
mod walk;

use crate::cell::{Addressed, Cell, CellError};
use crate::wlan::association::Association;
use crate::wlan::backoff::Backoff;
use crate::wlan::config::{AccessCategory, AssociationModel, Position, WlanConfig};
use crate::wlan::event_list::{Event, EventList};
use crate::wlan::exchange::Exchange;
use crate::wlan::management::ManagementQueue;
use crate::wlan::medium::{DeviceId, Frame, Medium, ModeId, PpduId};
use crate::wlan::mode::Nanos;
use crate::wlan::path::Walks;
use crate::wlan::queue::{Recipient, WifiMacQueue};
use crate::wlan::statistics::{AirMeter, AirStatistics, AssociationStatistics, PairMeter};
use crate::wlan::timing::{Access, NOTICE, Timing};
use idle::{Deferred, Idle};
pub(crate) use ingress::{Exit, pair_number};
use modes::Modes;
use seaway_link::{LinkStatistics, Node, Outbox, Packet, Port, RandomStream, Wake};
use seaway_units::{Bitrate, Timestamp};
use std::ops::Range;

/// One 802.11 cell: an access point, its stations and the air between them. Port 0 is the access point's, port *i* the
/// *i*-th station's.
///
/// It is the model of ns-3.37 with one event where something begins or ends in the air. Left out: power save,
/// fragmentation, A-MSDU, multi-user frames, the exchange that sets up block acknowledgement (it is set up from the
/// start), the frames of association unless they are asked for, and propagation delay.
#[derive(Debug)]
pub struct Wlan<P> {
    pub(crate) config: WlanConfig,
    pub(crate) timing: Timing,
    pub(crate) medium: Medium,
    pub(crate) modes: Modes,
    pub(crate) devices: Vec<Device>,
    pub(crate) contenders: Vec<Contender<P>>,
    /// When each contender may send; `Nanos::MAX`: not now.
    dues: Vec<Nanos>,
    /// The first of them and its contender; `None`: not known.
    first_due: Option<(Nanos, usize)>,
    /// The next step, and when.
    next: (Nanos, Next),
    pub(crate) events: EventList,
    pub(crate) association: Association,
    /// Management frames that wait, by device; empty where stations do not associate by frames.
    pub(crate) management: Vec<ManagementQueue>,
    /// When [`Event::Association`] comes.
    association_timer: Nanos,
    walks: Walks,
    pub(crate) air: AirMeter,
    /// Two a station: what goes down to it, what comes up from it.
    pub(crate) meters: Vec<PairMeter>,
    pub(crate) out: Outbox<P>,
    /// Octets of the subframes of the PPDU that is being built.
    pub(crate) sizes: Vec<u32>,
    /// Devices for which the medium has just become free.
    freed: Vec<DeviceId>,
    /// Devices that are not idle.
    active: Vec<DeviceId>,
    deferred: Deferred,
    /// The medium is free during the SIFS before a response; devices are not updated.
    is_sifs: bool,
    /// Contention categories that are in use, highest first.
    categories: Vec<AccessCategory>,
    /// Which of them is best effort.
    best_effort: usize,
    pub(crate) now: Nanos,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// An event of the list.
    Event,
    /// The turn of a contender.
    Access(usize),
}

/// An access point or a station.
#[derive(Debug)]
pub(crate) struct Device {
    /// Its queues, highest priority first; the access point's first is that of beacons.
    pub(crate) contenders: Range<usize>,
    pub(crate) rng: RandomStream,
    pub(crate) tx_end: Nanos,
    pub(crate) rx_end: Nanos,
    pub(crate) rx_failed: bool,
    pub(crate) busy_end: Nanos,
    pub(crate) nav: Nanos,
    pub(crate) timeout_end: Nanos,
    pub(crate) exchange: Option<Exchange>,
    pub(crate) reply: Option<Reply>,
    /// It has received a subframe of the present A-MPDU.
    pub(crate) got: bool,
    /// Set while it has nothing to send and no slots to count.
    idle: Option<Idle>,
}

/// What a device answers SIFS later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply {
    pub(crate) to: DeviceId,
    pub(crate) frame: Frame,
    pub(crate) mode: ModeId,
    /// Until when the exchange it belongs to lasts; zero: with the reply.
    pub(crate) reserved: Nanos,
}

/// One queue of one device, and its contention.
#[derive(Debug)]
pub(crate) struct Contender<P> {
    pub(crate) device: DeviceId,
    pub(crate) backoff: Backoff,
    pub(crate) queue: WifiMacQueue<P>,
    /// Failures in a row (3.7, rule 2), of short frames and of long ones.
    pub(crate) short_failures: u32,
    pub(crate) long_failures: u32,
    /// A beacon waits, of the access point's first contender, or management frames do, of another.
    pub(crate) urgent: bool,
}

impl<P> Contender<P> {
    fn has_work(&self) -> bool {
        self.urgent || self.queue.has_work()
    }
}

impl<P: Addressed + std::fmt::Debug + Send> Wlan<P> {
    /// The cell called `name`. Each device draws from the stream `name/device` of the run's `seed`.
    ///
    /// # Errors
    /// As [`WlanConfig::check`].
    pub fn new(config: WlanConfig, seed: u64, name: &str) -> Result<Self, CellError> {
        config.check()?;
        let timing = Timing::new(config.standard, config.band());
        let (modes, list) = Modes::of(&config)?;
        let stations = config.stations();
        let places: Vec<Position> =
            std::iter::once(config.ap.at).chain(stations.iter().map(|station| station.at)).collect();
        let medium = Medium::new(&config, &places, list);
        let mut categories: Vec<AccessCategory> =
            config.categories.iter().map(|&(_, category)| category).collect();
        categories.push(AccessCategory::BestEffort);
        if config.assoc == AssociationModel::Frames {
            categories.push(AccessCategory::Voice);
        }
        categories.sort_unstable();
        categories.dedup();
        if !config.standard.is_qos() {
            categories = vec![AccessCategory::BestEffort];
        }
        let names =
            [config.ap.name.clone()].into_iter().chain(stations.iter().map(|station| station.name.clone()));
        let association = Association::new(&config, &medium, modes.lowest, places.len());
        let mut cell = Self {
            timing,
            medium,
            modes,
            devices: Vec::new(),
            contenders: Vec::new(),
            dues: Vec::new(),
            first_due: None,
            next: (0, Next::Event),
            events: EventList::default(),
            management: management_queues(&association, places.len()),
            association,
            association_timer: Nanos::MAX,
            walks: Walks::of(&stations),
            air: AirMeter::default(),
            meters: vec![PairMeter::default(); 2 * (places.len() - 1)],
            out: Outbox::default(),
            sizes: Vec::with_capacity(64),
            freed: Vec::new(),
            active: (0..places.len()).collect(),
            deferred: Deferred::default(),
            is_sifs: false,
            best_effort: place_of(&categories, AccessCategory::BestEffort),
            categories,
            now: 0,
            config,
        };
        for (device, device_name) in names.enumerate() {
            cell.add_device(device, RandomStream::new(seed, &format!("{name}/{device_name}")));
        }
        let interval = cell.config.beacon_interval.as_nanos() as f64;
        let first = cell.devices[0].rng.uniform_between(0.0, interval) as Nanos;
        cell.events.put(first, Event::Beacon);
        cell.begin_associations();
        for device in 0..cell.devices.len() {
            cell.resume(device);
        }
        cell.find_next();
        Ok(cell)
    }

    fn add_device(&mut self, device: DeviceId, mut rng: RandomStream) {
        let first = self.contenders.len();
        if device == 0 {
            self.add_contender(device, Access::BEACON, &mut rng);
        }
        for category in self.categories.clone() {
            self.add_contender(device, Access::data(self.config.standard, category), &mut rng);
        }
        self.devices.push(Device {
            contenders: first..self.contenders.len(),
            rng,
            tx_end: 0,
            rx_end: 0,
            rx_failed: false,
            busy_end: 0,
            nav: 0,
            timeout_end: 0,
            exchange: None,
            reply: None,
            got: false,
            idle: None,
        });
    }

    fn add_contender(&mut self, device: DeviceId, access: Access, rng: &mut RandomStream) {
        let config = &self.config;
        let lifetime = config.ap.queue.time.as_nanos() as Nanos;
        let mut queue = WifiMacQueue::new(config.ap.queue.packets, lifetime, config.schedule);
        let peers = match device {
            0 if access == Access::BEACON => 0..0,
            0 => 1..self.meters.len() / 2 + 1,
            _ => 0..1,
        };
        for peer in peers {
            let adaptation = self.modes.adaptation(&self.config, &self.medium, (device, peer), rng);
            queue.recipients.push(Recipient::new(peer, adaptation));
        }
        let backoff = Backoff::new(access, &self.timing);
        self.contenders.push(Contender {
            device,
            backoff,
            queue,
            short_failures: 0,
            long_failures: 0,
            urgent: false,
        });
        self.dues.push(Nanos::MAX);
    }

    /// What happened in the air since the last restart.
    pub fn air(&self) -> AirStatistics {
        self.air.statistics(self.now)
    }

    /// Processes the events up to `now`, each at its own instant.
    fn advance(&mut self, now: Nanos) {
        while self.next.0 <= now {
            self.now = self.next.0;
            match self.next.1 {
                Next::Access(contender) => self.access(contender),
                Next::Event => {
                    if let Some(event) = self.events.take() {
                        self.handle(event);
                    }
                }
            }
            self.find_next();
        }
        self.now = self.now.max(now);
    }

    /// Finds the next step: an event precedes an access at the same instant.
    fn find_next(&mut self) {
        let (due, contender) = self.first_due.unwrap_or_else(|| {
            let mut first = (Nanos::MAX, 0);
            for &device in &self.active {
                for contender in self.devices[device].contenders.clone() {
                    let due = self.dues[contender];
                    if due < first.0 || due == first.0 && contender < first.1 {
                        first = (due, contender);
                    }
                }
            }
            first
        });
        self.first_due = Some((due, contender));
        let event = self.events.next();
        self.next = if due < event { (due, Next::Access(contender)) } else { (event, Next::Event) };
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::End(ppdu) => self.end(ppdu),
            Event::Subframe(ppdu, index) => self.subframe(ppdu, index),
            Event::Reply(device) => self.answer(device),
            Event::Continue(device) => self.carry_on(device),
            Event::Timeout(device) => self.miss(device),
            Event::Unreserve(device, made) => self.unreserve(device, made),
            Event::Beacon => self.beacon_is_due(),
            Event::Association => self.associate(),
        }
    }

    /// Puts a PPDU of the subframes in `self.sizes` on the air. `reserved` says, given its end, the NAV of third
    /// parties.
    pub(crate) fn transmit(
        &mut self,
        (sender, to, frame, mode): (DeviceId, Option<DeviceId>, Frame, ModeId),
        reserved: impl Fn(Nanos) -> Nanos,
    ) -> Nanos {
        let octets: u64 = self.sizes.iter().map(|&size| u64::from(size)).sum();
        let now = self.now;
        let end = now + self.duration(mode, octets);
        let sizes = std::mem::take(&mut self.sizes);
        self.first_due = None;
        if self.walks.due() <= now && self.medium.is_silent() {
            self.walk();
        }
        if self.medium.is_shared() {
            self.catch_up_all();
        }
        let reserved = reserved(end);
        let (contenders, dues, devices) = (&mut self.contenders, &mut self.dues, &mut self.devices);
        let noticed = now + NOTICE;
        let mut notice = |device: DeviceId| devices[device].on_busy(noticed, contenders, dues);
        let ppdu = self.medium.begin(now, (sender, to, frame, mode), (end, reserved), &sizes, &mut notice);
        let is_shared = self.medium.is_shared();
        let was_sifs = std::mem::take(&mut self.is_sifs);
        if is_shared && !was_sifs {
            self.active.iter().filter(|device| **device != sender).for_each(|device| notice(*device));
        }
        self.devices[sender].on_transmit((now, is_shared), &mut self.contenders, &mut self.dues);
        self.sizes = sizes;
        self.devices[sender].rx_failed = false;
        self.events.put(end, Event::End(ppdu));
        if self.sizes.len() > 1 {
            let first = self.medium.subframe_end(self.medium.ppdu(ppdu), 0);
            self.events.put(first, Event::Subframe(ppdu, 0));
        }
        self.air.sends(now, end);
        end
    }

    pub(crate) fn duration(&self, mode: ModeId, octets: u64) -> Nanos {
        let mode = &self.medium.modes[usize::from(mode)];
        mode.duration(octets) + if mode.streams > 0 { mode.extension(self.config.band()) } else { 0 }
    }

    /// A subframe that is not the last has ended.
    fn subframe(&mut self, ppdu: PpduId, index: u16) {
        let now = self.now;
        let place = usize::from(index);
        let Some(to) = self.medium.ppdu(ppdu).to else { return };
        if self.medium.is_shared() {
            self.devices[to].got = true;
            self.arrive(ppdu, place);
        } else if self.medium.locked(to, now) == Some(ppdu) {
            let device = &mut self.devices[to];
            if index == 0 {
                device.got = false;
            }
            if self.medium.gets(to, ppdu, place, &mut device.rng) {
                device.got = true;
                self.arrive(ppdu, place);
            }
        }
        let sent = self.medium.ppdu(ppdu);
        if place + 2 < sent.subframes() {
            let next = self.medium.subframe_end(sent, place + 1);
            self.events.put(next, Event::Subframe(ppdu, index + 1));
        }
    }

    /// A PPDU ends: its receivers process it, and the medium may be free.
    fn end(&mut self, ppdu: PpduId) {
        let now = self.now;
        let sent = self.medium.ppdu(ppdu);
        let (sender, to, frame, reserved) = (sent.sender, sent.to, sent.frame, sent.reserved);
        let subframes = sent.subframes();
        if self.medium.is_shared() {
            // Beacons and reservations change more than the busy state of third parties.
            if let (Some(to), false) = (to, frame == Frame::Rts) {
                return self.end_shared(ppdu, (sender, to, reserved));
            }
            self.catch_up_all();
            if frame == Frame::End {
                self.deferred.forget_reservation();
            }
        }
        let mut receiver = None;
        for device in 0..self.devices.len() {
            if device == sender || self.medium.locked(device, now) != Some(ppdu) {
                continue;
            }
            let ok = if to == Some(device) && subframes > 1 {
                let state = &mut self.devices[device];
                let last = self.medium.gets(device, ppdu, subframes - 1, &mut state.rng);
                state.got |= last;
                let got = state.got;
                if last {
                    self.arrive(ppdu, subframes - 1);
                }
                got
            } else {
                self.medium.gets_any(device, ppdu, &mut self.devices[device].rng)
            };
            let state = &mut self.devices[device];
            state.rx_end = now;
            state.rx_failed = !ok;
            if frame == Frame::Beacon {
                self.association.on_beacon(device, ok, now);
            } else if frame == Frame::End {
                state.nav = if ok { now } else { state.nav };
            } else if ok && to == Some(device) {
                receiver = Some(device);
            } else if ok && reserved > state.nav {
                state.nav = reserved;
                if frame == Frame::Rts {
                    self.expect_use(device);
                }
            }
        }
        let mut freed = std::mem::take(&mut self.freed);
        self.medium.end(ppdu, |device| freed.push(device));
        for &device in &freed {
            self.devices[device].busy_end = now;
        }
        self.devices[sender].tx_end = now;
        if let Some(device) = receiver {
            if subframes == 1 {
                self.arrive(ppdu, 0);
            }
            self.on_received(device, ppdu);
        }
        self.sent(sender, frame);
        for device in freed.drain(..) {
            self.resume(device);
        }
        self.freed = freed;
    }

    /// Sets when a contender may send.
    pub(crate) fn refresh(&mut self, index: usize) {
        let contender = &self.contenders[index];
        let due = if contender.has_work() { contender.backoff.due() } else { None };
        let due = due.unwrap_or(Nanos::MAX);
        if self.dues[index] != due {
            self.dues[index] = due;
            self.first_due = None;
        }
    }

    /// Other queues of a device that are due at the same instant lose to the first (3.2, rule 8).
    pub(crate) fn losers(&self, winner: usize) -> Range<usize> {
        winner + 1..self.devices[self.contenders[winner].device].contenders.end
    }

    pub(crate) fn is_due(&self, index: usize) -> bool {
        self.dues[index] <= self.now
    }

    /// Moves what has left the cell into the outbox. Returns when to run next.
    fn deliver(&mut self, out: &mut Outbox<P>) -> Wake {
        out.append(&mut self.out);
        (self.next.0 < Nanos::MAX).then(|| Timestamp::from_nanos(self.next.0))
    }
}

fn management_queues(association: &Association, devices: usize) -> Vec<ManagementQueue> {
    let peers = |device: DeviceId| if device == 0 { devices - 1 } else { 1 };
    let with_frames = (0..devices).filter(|_| association.has_frames());
    with_frames.map(|device| ManagementQueue::of(peers(device))).collect()
}

/// The place of a category among those in use; the first where it is not.
fn place_of(categories: &[AccessCategory], category: AccessCategory) -> usize {
    categories.iter().position(|&known| known == category).unwrap_or(0)
}

impl<P: Addressed + std::fmt::Debug + Send> Node<P> for Wlan<P> {
    fn on_packet(&mut self, now: Timestamp, port: Port, packet: Packet<P>, out: &mut Outbox<P>) -> Wake {
        self.advance(now.as_nanos());
        let device = usize::from(port.0);
        let to = packet.payload.leave_by();
        debug_assert!((device == 0) != (to.0 == 0), "stations reach each other by way of the access point");
        self.enqueue(device, usize::from(to.0), packet);
        if self.first_due.is_none() {
            self.find_next();
        }
        self.deliver(out)
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<P>) -> Wake {
        if now < until {
            self.advance(now.as_nanos());
        }
        self.deliver(out)
    }
}

impl<P: Addressed + std::fmt::Debug + Send> Cell<P> for Wlan<P> {
    fn queue_names(&self) -> Vec<String> {
        self.config.queue_names()
    }

    fn statistics(&self, queue: usize, now: Timestamp) -> LinkStatistics {
        self.meters[queue].statistics(now.as_nanos().max(self.now), self.inside(queue))
    }

    fn restart_statistics(&mut self, now: Timestamp) {
        self.advance(now.as_nanos());
        for queue in 0..self.meters.len() {
            let inside = self.inside(queue);
            self.meters[queue].restart(self.now, inside);
        }
        self.air.restart(self.now);
        self.association.restart(self.now);
    }

    fn waiting(&self, queue: usize) -> u64 {
        self.meters[queue].waiting()
    }

    /// A station's, with its queue downwards.
    fn association(&self, queue: usize, now: Timestamp) -> Option<AssociationStatistics> {
        let station = queue / 2 + 1;
        (queue.is_multiple_of(2))
            .then(|| self.association.statistics(station, now.as_nanos().max(self.now)))
            .flatten()
    }

    fn rate(&self, _queue: usize) -> Bitrate {
        let data = &self.medium.modes[usize::from(self.modes.data.start)..usize::from(self.modes.data.end)];
        Bitrate::from_bps(data.last().map_or(0, |mode| mode.rate))
    }
}
