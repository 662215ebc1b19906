//! `[[wimax]]`: the configuration of a WiMAX cell, as a scenario writes it, and the plan that the cell follows.

use super::frame::{Frame, Modulation};
use crate::cell::{Base, CellError};
use seaway_link::{DropTailConfig, Nominal, QueueConfig};
use seaway_units::{Bitrate, Probability, TimeDelta};
use serde::Deserialize;

/// A scheduling service of 802.16, in the order in which they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// Unsolicited grant service: a fixed grant in every frame.
    Ugs,
    /// Extended real-time polling: a grant in every frame, whose size the station may change.
    Ertps,
    /// Real-time polling: a bandwidth request opportunity in every frame.
    Rtps,
    /// Non-real-time polling: a bandwidth request opportunity about every second, and contention.
    Nrtps,
    /// Best effort: contention alone.
    #[serde(rename = "be")]
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

/// A cell as a scenario writes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WimaxConfig {
    /// Its name in reports.
    pub name: String,
    /// The base station.
    pub base: Base,
    /// The subscriber stations.
    pub station: Vec<StationConfig>,
    /// The length of the TDD frame.
    #[serde(default = "five_millis")]
    frame: TimeDelta,
    /// Downlink to uplink; `[1, 3]` where neither this nor `symbols` is given.
    ratio: Option<(u32, u32)>,
    /// Symbols of downlink and uplink.
    symbols: Option<(u32, u32)>,
    /// Modulation and coding of stations that have none of their own.
    #[serde(default = "qpsk_34")]
    modulation: Modulation,
    /// What each station may send in a static uplink; equal parts of the slots where absent.
    rate: Option<Bitrate>,
    /// The queues of base and stations that have none of their own; 50 packets where absent.
    queue: Option<QueueConfig>,
    /// How uplink slots are given out.
    #[serde(default)]
    grants: GrantsKind,
    /// Slots lost to polls in a static uplink.
    poll_slots: Option<u32>,
    /// When stations may request bandwidth in a dynamic uplink.
    polling: Option<PollingConfig>,
    /// Where a grant begins among the polled queues.
    #[serde(default)]
    order: Order,
    /// Packets of one queue before the next has its turn; exhaustive where absent.
    visit: Option<u32>,
    /// One PDU for all that a grant carries.
    #[serde(default)]
    packing: bool,
    /// Four octets behind every PDU.
    #[serde(default)]
    crc: bool,
    /// Uplink slots for ranging and channel quality in every frame.
    #[serde(default = "six")]
    control_slots: u32,
    /// Downlink slots that maps and frame control take in every frame.
    #[serde(default = "twenty_four")]
    map_slots: u32,
    /// How the downlink is modelled.
    #[serde(default)]
    downlink: Downlink,
    /// One way, beside the time in the frame.
    #[serde(default)]
    delay: TimeDelta,
    /// Probability that the channel takes a slot of a PDU, and so the packet.
    #[serde(default, deserialize_with = "crate::text::probability")]
    slot_loss: Probability,
}

/// A subscriber station as a scenario writes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationConfig {
    /// Its node.
    pub name: String,
    queue: Option<QueueConfig>,
    modulation: Option<Modulation>,
    /// Its part of a static uplink in slots.
    slots: Option<u32>,
    /// Its part of a static uplink as a rate.
    rate: Option<Bitrate>,
    /// What is reserved for its UGS queue.
    #[serde(default)]
    ugs: Bitrate,
    /// What is granted to its ertPS queue before its first bandwidth request.
    #[serde(default)]
    ertps: Bitrate,
}

/// The kinds of [`Grants`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum GrantsKind {
    #[default]
    Static,
    Dynamic,
}

/// [`Polling`] in times.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PollingConfig {
    /// The frame where absent.
    rtps: Option<TimeDelta>,
    nrtps: TimeDelta,
    contention: u32,
    map_relevance: u32,
}

impl Default for PollingConfig {
    fn default() -> Self {
        let Polling { contention, map_relevance, .. } = Polling::default();
        Self { rtps: None, nrtps: TimeDelta::from_secs(1), contention, map_relevance }
    }
}

fn five_millis() -> TimeDelta {
    TimeDelta::from_millis(5)
}

fn qpsk_34() -> Modulation {
    Modulation::Qpsk34
}

fn six() -> u32 {
    6
}

fn twenty_four() -> u32 {
    24
}

impl WimaxConfig {
    /// The cell with its defaults, without connections.
    ///
    /// # Errors
    /// Names the key of the scenario and what would be valid there.
    pub fn plan(&self) -> Result<WimaxPlan, CellError> {
        let least_visit = "expected at least 1; without the key a queue is served until it is empty";
        if self.visit == Some(0) {
            return Err(CellError::new("visit", least_visit));
        }
        self.check_delays()?;
        let stations = self.station.iter().enumerate();
        let plan = WimaxPlan {
            frame: self.frame()?,
            control_slots: self.control_slots,
            map_slots: self.map_slots,
            grants: self.grants()?,
            scheduler: Scheduler { order: self.order, visit: self.visit },
            headers: Headers { packing: self.packing, crc: self.crc },
            downlink: self.downlink,
            delay: self.delay,
            slot_loss: self.slot_loss,
            base_queue: self.queue_or(&self.base.queue),
            stations: stations
                .map(|(index, station)| self.station(index, station))
                .collect::<Result<_, _>>()?,
            connections: Vec::new(),
        };
        plan.check()?;
        Ok(plan)
    }

    fn queue_or(&self, own: &Option<QueueConfig>) -> QueueConfig {
        let default = || QueueConfig::DropTail(DropTailConfig::packets(50));
        own.clone().or_else(|| self.queue.clone()).unwrap_or_else(default)
    }

    fn check_delays(&self) -> Result<(), CellError> {
        let most = TimeDelta::from_secs(1);
        let check = |key: &str, delay: TimeDelta| {
            let problem = || CellError::new(key, format!("found {delay}: expected 0 s to {most}"));
            if (TimeDelta::ZERO..=most).contains(&delay) { Ok(()) } else { Err(problem()) }
        };
        check("delay", self.delay)?;
        if let Downlink::Fixed(fixed) = self.downlink { check("downlink.fixed", fixed) } else { Ok(()) }
    }

    fn frame(&self) -> Result<Frame, CellError> {
        let (least, most) = (TimeDelta::from_millis(2), TimeDelta::from_millis(20));
        if !(least..=most).contains(&self.frame) {
            return Err(CellError::new("frame", format!("found {}: expected {least} to {most}", self.frame)));
        }
        let usable = Frame::usable_symbols(self.frame).unwrap_or_default();
        match (self.ratio, self.symbols) {
            (Some(_), Some(_)) => Err(CellError::new("symbols", "expected either `ratio` or `symbols`")),
            (None, Some((down, up))) => Frame::with_symbols(self.frame, down, up).ok_or_else(|| {
                let problem = format!(
                    "expected [downlink, uplink], together at most {usable}, downlink at least 3, uplink a multiple of 3"
                );
                CellError::new("symbols", problem)
            }),
            (ratio, None) => {
                let (down, up) = ratio.unwrap_or((1, 3));
                let problem = "expected [downlink, uplink] that leave either at least three symbols";
                Frame::with_ratio(self.frame, down, up).ok_or_else(|| CellError::new("ratio", problem))
            }
        }
    }

    fn grants(&self) -> Result<Grants, CellError> {
        let refuse = |key: &str, only: &str| {
            Err(CellError::new(key, format!("applies only where grants = \"{only}\"")))
        };
        match (self.grants, self.poll_slots, self.polling) {
            (GrantsKind::Static, _, Some(_)) => refuse("polling", "dynamic"),
            (GrantsKind::Dynamic, Some(_), _) => refuse("poll_slots", "static"),
            (GrantsKind::Dynamic, ..) if self.rate.is_some() => refuse("rate", "static"),
            (GrantsKind::Static, slots, None) => Ok(Grants::Static { poll_slots: slots.unwrap_or(0) }),
            (GrantsKind::Dynamic, None, polling) => self.polling(polling.unwrap_or_default()),
        }
    }

    fn polling(&self, polling: PollingConfig) -> Result<Grants, CellError> {
        let PollingConfig { rtps, nrtps, contention, map_relevance } = polling;
        if map_relevance > 1 {
            let problem = format!("found {map_relevance}: expected 0 or 1");
            return Err(CellError::new("polling.map_relevance", problem));
        }
        Ok(Grants::Dynamic(Polling {
            rtps_every: self.frames("polling.rtps", rtps.unwrap_or(self.frame))?,
            nrtps_every: self.frames("polling.nrtps", nrtps)?,
            contention,
            map_relevance,
        }))
    }

    /// A time in frames, rounded up.
    fn frames(&self, key: &str, span: TimeDelta) -> Result<u32, CellError> {
        let (least, most) = (self.frame, TimeDelta::from_secs(60));
        if !(least..=most).contains(&span) {
            return Err(CellError::new(key, format!("found {span}: expected {least}, the frame, to {most}")));
        }
        Ok(u32::try_from(span.as_nanos().unsigned_abs().div_ceil(self.frame.as_nanos().unsigned_abs()))
            .unwrap_or(u32::MAX))
    }

    fn station(&self, index: usize, station: &StationConfig) -> Result<Station, CellError> {
        let refuse =
            |key: &str, problem: &str| Err(CellError::new(format!("station.{index}.{key}"), problem));
        if self.grants == GrantsKind::Dynamic {
            for (key, is_given) in [("slots", station.slots.is_some()), ("rate", station.rate.is_some())] {
                if is_given {
                    return refuse(key, "applies only where grants = \"static\"");
                }
            }
        }
        let share = match (station.slots, station.rate.or(self.rate)) {
            (Some(_), Some(_)) => return refuse("slots", "expected either `slots` or `rate`"),
            (Some(slots), None) => Some(Share::Slots(slots)),
            (None, Some(rate)) => Some(Share::Rate(rate)),
            (None, None) => None,
        };
        Ok(Station {
            name: station.name.clone(),
            modulation: station.modulation.unwrap_or(self.modulation),
            queue: self.queue_or(&station.queue),
            share,
            ugs: station.ugs,
            ertps: station.ertps,
        })
    }
}

/// A cell, checked: a base station, its subscriber stations, and how the uplink is shared.
#[derive(Debug, Clone)]
pub struct WimaxPlan {
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
    /// What is granted to its ertPS queue before its first bandwidth request.
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

/// When stations may request bandwidth, and when grants follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polling {
    /// Frames from one unicast poll of an rtPS queue to the next.
    pub rtps_every: u32,
    /// Frames from one unicast poll of an nrtPS queue to the next; 802.16 says about a second.
    pub nrtps_every: u32,
    /// Contention opportunities in a frame, taken from the control slots.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Downlink {
    /// Feedback of what goes up is sent ahead of all data, and never refused.
    #[default]
    Priority,
    /// Feedback waits in the queue of its flow's service.
    Shared,
    /// Everything takes this time and nothing is refused.
    Fixed(TimeDelta),
}

impl WimaxPlan {
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
        let loss = self.slot_loss.get();
        require("slot_loss", loss <= 0.5, format!("found {loss}: expected 0 to 0.5"))?;
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
/// Requests more bandwidth at the end of a grant.
pub(super) const PIGGYBACK: u64 = 2;
