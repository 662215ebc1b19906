//! What a WiMAX cell is made of.

use super::frame::{Frame, Modulation};
use crate::cell::CellError;
use seaway_link::{Nominal, QueueConfig};
use seaway_units::{Bitrate, Probability, TimeDelta};

/// A scheduling service of 802.16, in the order in which they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Unsolicited grant service: a fixed grant in every frame.
    Ugs,
    /// Extended real-time polling: a grant in every frame, whose size the station may change.
    Ertps,
    /// Real-time polling: a chance to ask in every frame.
    Rtps,
    /// Non-real-time polling: a chance to ask about every second, and contention.
    Nrtps,
    /// Best effort: contention alone.
    BestEffort,
}

impl Service {
    /// How many there are.
    pub const COUNT: usize = 5;
    /// All of them with their names, the first served first.
    pub const ALL: [(&'static str, Self); Self::COUNT] = [
        ("ugs", Self::Ugs),
        ("ertps", Self::Ertps),
        ("rtps", Self::Rtps),
        ("nrtps", Self::Nrtps),
        ("be", Self::BestEffort),
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// A cell: a base station, its subscriber stations, and how the uplink is shared.
#[derive(Debug, Clone)]
pub struct WimaxConfig {
    /// The TDD frame.
    pub frame: Frame,
    /// Uplink slots for ranging and channel quality in every frame.
    pub control_slots: u32,
    /// Downlink slots that maps and frame control take in every frame.
    pub map_slots: u32,
    /// How uplink slots are given out.
    pub grants: Grants,
    /// How a station shares its grant among its queues.
    pub scheduler: Scheduler,
    /// Headers.
    pub headers: Headers,
    /// How the way down is modelled.
    pub downlink: Downlink,
    /// One way, beside the time in the frame: 3.3 µs for a kilometre.
    pub delay: TimeDelta,
    /// Probability that the channel takes a slot of a PDU, and so the packet.
    pub slot_loss: Probability,
    /// The queue of each service at the base, for each station.
    pub base_queue: QueueConfig,
    /// Port *i* + 1 is station *i*'s.
    pub stations: Vec<Station>,
    /// Which flow uses which service; what is not among them is best effort.
    pub connections: Vec<Connection>,
}

/// A subscriber station.
#[derive(Debug, Clone)]
pub struct Station {
    /// Its name in reports.
    pub name: String,
    /// Modulation and coding, both ways.
    pub modulation: Modulation,
    /// The queue of each of its services.
    pub queue: QueueConfig,
    /// Its part of a static uplink; an equal part of what is left where `None`.
    pub share: Option<Share>,
    /// What is reserved for its UGS queue.
    pub ugs: Bitrate,
    /// What is granted to its ertPS queue before it has asked.
    pub ertps: Bitrate,
}

/// The way of a flow over the air, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// As packets carry it: [`Packet::flow`](seaway_link::Packet::flow).
    pub flow: u32,
    /// The station at one end.
    pub station: usize,
    /// From the station to the base.
    pub is_uplink: bool,
    /// Acknowledgements and reports, not data.
    pub is_feedback: bool,
    /// Whose queue it waits in.
    pub service: Service,
}

/// A station's part of every uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// So many slots.
    Slots(u32),
    /// Enough octets a frame for this rate, whatever the modulation (`docs/models/wimax.md`, section
    /// "Static grants").
    Rate(Bitrate),
}

/// How uplink slots are given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grants {
    /// The same to each station in every frame (S003), less the slots that polls take.
    Static {
        /// Slots that unicast polls take from the frame.
        poll_slots: u32,
    },
    /// As stations request (`docs/models/wimax.md`, section "Bandwidth requests").
    Dynamic(Polling),
}

/// When stations may ask, and when they are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polling {
    /// Frames from one unicast poll of an rtPS queue to the next.
    pub rtps_every: u32,
    /// Frames from one unicast poll of an nrtPS queue to the next; 802.16 says about a second.
    pub nrtps_every: u32,
    /// Chances to ask by contention in a frame, taken from the control slots.
    pub contention: u32,
    /// Frames by which a grant comes later than the frame after the request.
    pub map_relevance: u32,
}

impl Default for Polling {
    fn default() -> Self {
        Self { rtps_every: 1, nrtps_every: 200, contention: 2, map_relevance: 0 }
    }
}

/// How a station shares its grant among its queues: UGS first, BE last, and between them those that are polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scheduler {
    /// Where a grant begins.
    pub order: Order,
    /// Packets of one queue before the next has its turn; exhaustive where `None`.
    pub visit: Option<u32>,
}

/// Where a grant begins among the polled queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// At ertPS, always.
    #[default]
    Strict,
    /// Where the grant before ended; it moves on when a queue is empty.
    Cyclic,
}

/// What a PDU adds to what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headers {
    /// One PDU for all that a grant carries.
    pub packing: bool,
    /// Four octets behind every PDU.
    pub crc: bool,
}

/// How the downlink is modelled (`docs/models/wimax.md`, section "Downlink").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Downlink {
    /// Feedback of what goes up is sent ahead of all data, and never refused.
    #[default]
    Priority,
    /// Feedback waits in the queue of its flow's service.
    Shared,
    /// Everything takes this time and nothing is refused.
    Fixed(TimeDelta),
}

impl WimaxConfig {
    /// Whether the parts fit together.
    ///
    /// # Errors
    /// Names the key of the scenario and what would be valid there.
    pub fn check(&self) -> Result<(), CellError> {
        let (up, down) = (self.frame.uplink_slots(), self.frame.downlink_slots());
        let most = usize::from(u16::MAX) - 1;
        let require = |key: &str, holds: bool, problem: String| {
            if holds { Ok(()) } else { Err(CellError::new(key, problem)) }
        };
        let count = self.stations.len();
        require("station", (1..=most).contains(&count), format!("found {count}: expected 1 to {most}"))?;
        let fewer = |slots: u32| format!("expected fewer than the {slots} slots there are");
        require("control_slots", self.control_slots < up, fewer(up))?;
        require("map_slots", self.map_slots < down, fewer(down))?;
        if let Grants::Dynamic(polling) = self.grants {
            let chances = polling.contention;
            let most = self.control_slots;
            let problem = format!("found {chances}: expected 1 to `control_slots`, {most}");
            require("contention", (1..=most).contains(&chances), problem)?;
        }
        for open in self.connections.iter().filter(|open| open.is_uplink && open.service == Service::Ugs) {
            let is_reserved = self.stations[open.station].ugs > Bitrate::ZERO;
            let problem = "expected a rate in `ugs` for what is sent with service = \"ugs\"";
            require(&format!("station.{}", open.station), is_reserved, problem.to_owned())?;
        }
        for (index, station) in self.stations.iter().enumerate() {
            let refused =
                |key: String| move |error: seaway_link::Error| CellError::new(key, error.to_string());
            station.queue.check(self.nominal_up(index)).map_err(refused(format!("station.{index}.queue")))?;
            self.base_queue.check(self.nominal_down(index)).map_err(refused("base.queue".to_owned()))?;
        }
        match self.grants {
            Grants::Static { .. } => self.static_grants().map(drop),
            Grants::Dynamic(_) => Ok(()),
        }
    }

    /// What limits of an uplink queue in time refer to: the whole uplink.
    pub(super) fn nominal_up(&self, station: usize) -> Nominal {
        let modulation = self.stations[station].modulation;
        let octets = u64::from(self.frame.uplink_slots()) * modulation.octets_per_slot();
        Nominal { rate: self.frame.rate(octets), delay: self.frame.duration() }
    }

    /// What limits of a downlink queue in time refer to: the whole downlink.
    pub(super) fn nominal_down(&self, station: usize) -> Nominal {
        let octets = self.downlink_octets(station).max(1);
        Nominal { rate: self.frame.rate(octets), delay: self.frame.duration() }
    }

    /// Octets of data that the downlink carries in a frame, all for this station.
    pub(super) fn downlink_octets(&self, station: usize) -> u64 {
        self.downlink_data_slots() * self.stations[station].modulation.octets_per_slot()
    }

    /// Slots of the uplink that carry data in a static cell.
    fn data_slots(&self) -> Option<u32> {
        let polls = match self.grants {
            Grants::Static { poll_slots } => poll_slots,
            Grants::Dynamic(_) => 0,
        };
        self.frame.uplink_slots().checked_sub(self.control_slots)?.checked_sub(polls)
    }

    /// Slots of the downlink that carry data.
    pub(super) fn downlink_data_slots(&self) -> u64 {
        u64::from(self.frame.downlink_slots().saturating_sub(self.map_slots))
    }

    /// What each station may send in every frame of a static cell, in octets.
    ///
    /// # Errors
    /// Where it does not hold together.
    pub(super) fn static_grants(&self) -> Result<Vec<u64>, CellError> {
        let Some(slots) = self.data_slots() else {
            let problem =
                format!("expected fewer than the {} slots of the uplink", self.frame.uplink_slots());
            return Err(CellError::new("control_slots", problem));
        };
        let taken = self.stations.iter().map(|station| match station.share {
            Some(Share::Slots(slots)) => u64::from(slots),
            _ => 0,
        });
        let left = u64::from(slots).checked_sub(taken.sum()).ok_or_else(|| {
            CellError::new("station", format!("`slots` in all: expected at most {slots}, the uplink's"))
        })?;
        let sharers = self.stations.iter().filter(|station| station.share.is_none()).count() as u64;
        let equal = left.checked_div(sharers).unwrap_or_default();
        let grant = |station: &Station| match station.share {
            Some(Share::Slots(slots)) => u64::from(slots) * station.modulation.octets_per_slot(),
            Some(Share::Rate(rate)) => self.frame.octets(rate),
            None => equal * station.modulation.octets_per_slot(),
        };
        let grants: Vec<u64> = self.stations.iter().map(grant).collect();
        let least = self.headers.overhead() + 1;
        match grants.iter().enumerate().find(|(_, grant)| **grant < least) {
            Some((index, grant)) => {
                let problem =
                    format!("granted {grant} B a frame: expected at least {least} B, a header and an octet");
                Err(CellError::new(format!("station.{index}"), problem))
            }
            None => Ok(grants),
        }
    }
}

impl Headers {
    /// Generic header, fragmentation or packing subheader, check sum: the cost of a PDU with one piece in it.
    pub const fn overhead(self) -> u64 {
        GENERIC_HEADER + self.subheader() + self.trailer()
    }

    pub(super) const fn subheader(self) -> u64 {
        if self.packing { 3 } else { 2 }
    }

    pub(super) const fn trailer(self) -> u64 {
        if self.crc { 4 } else { 0 }
    }
}

/// The header of every PDU.
pub(super) const GENERIC_HEADER: u64 = 6;
/// A PDU's length field has eleven bits.
pub(super) const LONGEST_PDU: u64 = 2047;
/// Asks for more at the end of a grant.
pub(super) const PIGGYBACK: u64 = 2;
