//! Bandwidth requests and grants (`docs/models/wimax.md`, sections "Bandwidth requests" and "Static grants").

use super::config::{Polling, Service};
use seaway_link::RandomStream;
use std::collections::VecDeque;

/// What a service of a station wants: octets with headers.
type Wants = [u64; Service::COUNT];

/// A station as the base's scheduler sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subscriber {
    pub(super) octets_per_slot: u64,
    /// Octets a frame of its UGS grant.
    pub(super) unsolicited: u64,
    /// Octets a frame of its ertPS grant before its first request.
    pub(super) extended: u64,
    /// Which of its services are used.
    pub(super) uses: [bool; Service::COUNT],
}

/// What a frame holds for a station.
#[derive(Debug, Clone, Default)]
pub(super) struct Grant {
    /// Slots for data.
    pub(super) slots: u64,
    /// Octets that the base takes to be used, by service.
    octets: Wants,
    /// The polls it has, by service.
    polls: [bool; Service::COUNT],
}

/// The base's table of requests, and the stations' ways to request.
#[derive(Debug)]
pub(super) struct Bandwidth {
    polling: Polling,
    subscribers: Vec<Subscriber>,
    slots: u64,
    /// Requested and not granted.
    table: Vec<Wants>,
    /// Granted for frames to come, the next first.
    planned: VecDeque<Vec<Grant>>,
    contenders: Vec<Contender>,
    random: RandomStream,
}

/// A station's truncated binary exponential backoff.
#[derive(Debug, Clone, Copy, Default)]
struct Contender {
    /// Contention opportunities to let pass; `None` where it has no request.
    wait: Option<u32>,
    /// Collisions in a row.
    collisions: u32,
}

/// The first window is 2 to this many chances, the last 2 to [`LAST_WINDOW`]. Reading: the standard leaves both to the
/// base.
const FIRST_WINDOW: u32 = 3;
const LAST_WINDOW: u32 = 10;
/// A stand-alone request.
const REQUEST: u64 = 6;

impl Bandwidth {
    /// `slots` are what data and polls share in a frame.
    pub(super) fn new(
        polling: Polling,
        subscribers: Vec<Subscriber>,
        slots: u64,
        random: RandomStream,
    ) -> Self {
        let none = || vec![Grant::default(); subscribers.len()];
        let mut table = vec![[0; Service::COUNT]; subscribers.len()];
        for (wants, subscriber) in table.iter_mut().zip(&subscribers) {
            wants[Service::Ertps as usize] = subscriber.extended;
        }
        Self {
            polling,
            slots,
            table,
            planned: (0..polling.map_relevance).map(|_| none()).collect(),
            contenders: vec![Contender::default(); subscribers.len()],
            subscribers,
            random,
        }
    }

    /// A station has something to send by this service, now or before.
    pub(super) fn note_use(&mut self, station: usize, service: usize) {
        self.subscribers[station].uses[service] = true;
    }

    /// True where no grant and no request is pending.
    pub(super) fn is_idle(&self) -> bool {
        let nothing = |wants: &Wants| wants.iter().skip(Service::Rtps as usize).all(|octets| *octets == 0);
        self.table.iter().all(nothing)
            && self.planned.iter().flatten().all(|grant| nothing(&grant.octets))
            && self.contenders.iter().all(|contender| contender.wait.is_none())
    }

    /// Nothing was sent for some frames: ertPS grants have shrunk to where they began.
    pub(super) fn rest(&mut self) {
        for (wants, subscriber) in self.table.iter_mut().zip(&self.subscribers) {
            wants[Service::Ertps as usize] = subscriber.extended;
        }
    }

    /// The grants of frame `index`.
    pub(super) fn grants(&mut self, index: u64) -> Vec<Grant> {
        let grants = self.plan(index);
        self.planned.push_back(grants);
        self.planned.pop_front().unwrap_or_default()
    }

    /// Control has had its slots: UGS, ertPS, polls, then rtPS, nrtPS and BE in round robin.
    fn plan(&mut self, index: u64) -> Vec<Grant> {
        let mut left = self.slots;
        let mut grants = vec![Grant::default(); self.subscribers.len()];
        for (station, grant) in grants.iter_mut().enumerate() {
            let Subscriber { octets_per_slot, unsolicited, uses, .. } = self.subscribers[station];
            for (service, octets, least) in [
                (Service::Ugs, unsolicited, 0),
                // The least grant is enough for a request.
                (Service::Ertps, self.table[station][Service::Ertps as usize], REQUEST),
            ] {
                if uses[service as usize] {
                    grant.add(service, octets.max(least), octets_per_slot, &mut left);
                }
            }
        }
        for (station, grant) in grants.iter_mut().enumerate() {
            for service in [Service::Rtps, Service::Nrtps] {
                if left > 0 && self.is_polled(station, service, index) {
                    left -= 1;
                    grant.polls[service as usize] = true;
                }
            }
        }
        let stations = grants.len();
        for service in [Service::Rtps, Service::Nrtps, Service::BestEffort] {
            for turn in 0..stations {
                let station = (turn + (index % stations as u64) as usize) % stations;
                let octets_per_slot = self.subscribers[station].octets_per_slot;
                let wants = &mut self.table[station][service as usize];
                let granted = grants[station].add(service, *wants, octets_per_slot, &mut left);
                *wants = wants.saturating_sub(granted);
            }
        }
        grants
    }

    /// A queue with pending requests piggybacks the next on its data.
    fn is_polled(&self, station: usize, service: Service, index: u64) -> bool {
        let every = match service {
            Service::Rtps => self.polling.rtps_every,
            _ => self.polling.nrtps_every,
        };
        self.subscribers[station].uses[service as usize]
            && self.table[station][service as usize] == 0
            && index.is_multiple_of(u64::from(every.max(1)))
    }

    /// A station's demand beyond its requests and grants.
    pub(super) fn unasked(&self, station: usize, service: usize, wants: u64) -> u64 {
        let planned: u64 = self.planned.iter().map(|grants| grants[station].octets[service]).sum();
        wants.saturating_sub(self.table[station][service] + planned)
    }

    /// Requests of the stations after they have sent: stations that were polled or can piggyback request, the others
    /// contend. `may_piggyback`: whether a station's data of a service left room for a request.
    pub(super) fn request(
        &mut self,
        grants: &[Grant],
        wants: &[Wants],
        may_piggyback: &[[bool; Service::COUNT]],
    ) {
        for station in 0..self.subscribers.len() {
            // Reading: an ertPS station requests what waits in every frame.
            self.table[station][Service::Ertps as usize] = wants[station][Service::Ertps as usize];
            let mut contends = false;
            for service in
                [Service::Rtps, Service::Nrtps, Service::BestEffort].map(|service| service as usize)
            {
                let more = self.unasked(station, service, wants[station][service]);
                if grants[station].polls[service] || may_piggyback[station][service] {
                    self.table[station][service] += more;
                } else {
                    contends |= more > 0 && service != Service::Rtps as usize;
                }
            }
            self.contend(station, contends);
        }
        self.resolve_contention(wants);
    }

    /// A station draws its backoff when it begins to have a request.
    fn contend(&mut self, station: usize, contends: bool) {
        let contender = &mut self.contenders[station];
        if !contends {
            *contender = Contender::default();
        } else if contender.wait.is_none() {
            let window = 1u64 << (FIRST_WINDOW + contender.collisions).min(LAST_WINDOW);
            contender.wait = Some((self.random.bits() % window) as u32);
        }
    }

    /// Requests that collide in one opportunity are lost.
    fn resolve_contention(&mut self, wants: &[Wants]) {
        let chances = self.polling.contention;
        for chance in 0..chances {
            let here: Vec<usize> =
                (0..self.contenders.len()).filter(|&s| self.contenders[s].wait == Some(chance)).collect();
            for &station in &here {
                let contender = &mut self.contenders[station];
                contender.wait = None;
                if here.len() > 1 {
                    contender.collisions = (contender.collisions + 1).min(LAST_WINDOW);
                } else {
                    contender.collisions = 0;
                    for service in [Service::Nrtps as usize, Service::BestEffort as usize] {
                        let more = self.unasked(station, service, wants[station][service]);
                        self.table[station][service] += more;
                    }
                }
            }
        }
        for contender in &mut self.contenders {
            contender.wait = contender.wait.map(|wait| wait.saturating_sub(chances));
        }
    }
}

impl Grant {
    /// Adds slots for `octets`, as many as are left; gives what they carry, at most `octets`.
    fn add(&mut self, service: Service, octets: u64, octets_per_slot: u64, left: &mut u64) -> u64 {
        let slots = octets.div_ceil(octets_per_slot).min(*left);
        *left -= slots;
        self.slots += slots;
        let granted = (slots * octets_per_slot).min(octets);
        self.octets[service as usize] += granted;
        granted
    }
}
