//! `[[wimax]]`: an 802.16 cell.

use super::{Base, Cell, CellKind, packets, refusal};
use crate::record::Tag;
use crate::routing::{Hop, RoutingGraph};
use crate::scenario::document::{Document, at};
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::Flow;
use seaway_control::registry::nearest;
use seaway_link::QueueConfig;
use seaway_sim::CellError;
use seaway_sim::wimax::{
    Connection, Downlink, Frame, Grants, Headers, Modulation, Order, Polling, Scheduler, Service, Share,
    Station, WimaxConfig,
};
use seaway_units::{Bitrate, Probability, TimeDelta};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::fmt;

/// The keys of a WiMAX cell.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    base: Base,
    station: Vec<StationText>,
    #[serde(default = "five_millis")]
    frame: TimeDelta,
    ratio: Option<(u32, u32)>,
    symbols: Option<(u32, u32)>,
    #[serde(default = "qpsk_34", deserialize_with = "modulation")]
    modulation: Modulation,
    rate: Option<Bitrate>,
    queue: Option<QueueConfig>,
    #[serde(default)]
    grants: GrantsText,
    poll_slots: Option<u32>,
    polling: Option<PollingText>,
    #[serde(default)]
    order: OrderText,
    visit: Option<u32>,
    #[serde(default)]
    packing: bool,
    #[serde(default)]
    crc: bool,
    #[serde(default = "six")]
    control_slots: u32,
    #[serde(default = "twenty_four")]
    map_slots: u32,
    #[serde(default, deserialize_with = "downlink")]
    downlink: Downlink,
    #[serde(default)]
    delay: Option<TimeDelta>,
    slot_loss: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StationText {
    name: String,
    queue: Option<QueueConfig>,
    #[serde(default, deserialize_with = "some_modulation")]
    modulation: Option<Modulation>,
    slots: Option<u32>,
    rate: Option<Bitrate>,
    ugs: Option<Bitrate>,
    ertps: Option<Bitrate>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum GrantsText {
    #[default]
    Static,
    Dynamic,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OrderText {
    #[default]
    Strict,
    Cyclic,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PollingText {
    rtps: Option<TimeDelta>,
    nrtps: Option<TimeDelta>,
    contention: Option<u32>,
    map_relevance: Option<u32>,
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

fn modulation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Modulation, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = Modulation::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, modulation)| *modulation).ok_or_else(|| {
        let known = Modulation::ALL.iter().map(|(known, _)| *known);
        D::Error::custom(format!("unknown modulation {name:?}; {}", nearest(&name, known)))
    })
}

fn some_modulation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Modulation>, D::Error> {
    modulation(deserializer).map(Some)
}

/// `service = "rtps"` of a flow.
pub(in crate::scenario) fn service<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Service>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = Service::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, service)| Some(*service)).ok_or_else(|| {
        let known = Service::ALL.iter().map(|(known, _)| *known);
        D::Error::custom(format!("unknown service {name:?}; {}", nearest(&name, known)))
    })
}

/// `"priority"`, `"shared"` or `{ fixed = "6 ms" }`.
fn downlink<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Downlink, D::Error> {
    struct DownlinkVisitor;
    impl<'de> Visitor<'de> for DownlinkVisitor {
        type Value = Downlink;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("\"priority\", \"shared\" or { fixed = \"6 ms\" }")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Downlink, E> {
            match text {
                "priority" => Ok(Downlink::Priority),
                "shared" => Ok(Downlink::Shared),
                other => Err(E::unknown_variant(other, &["priority", "shared", "{ fixed = \"6 ms\" }"])),
            }
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Downlink, A::Error> {
            match map.next_key::<String>()?.as_deref() {
                Some("fixed") => Ok(Downlink::Fixed(map.next_value()?)),
                Some(other) => Err(A::Error::unknown_field(other, &["fixed"])),
                None => Err(A::Error::missing_field("fixed")),
            }
        }
    }
    deserializer.deserialize_any(DownlinkVisitor)
}

/// All WiMAX cells of the document.
pub(super) fn read(document: &Document<'_>) -> Result<Vec<(usize, Cell)>, ScenarioError> {
    let tables = document.tables("wimax")?.into_iter().enumerate();
    tables
        .map(|(index, table)| {
            let text: Text = document.read(&crate::scenario::document::with_queue_kinds(table), &[])?;
            let cell = text.cell().map_err(|error| refusal(document, "wimax", index, &error))?;
            Ok((index, cell))
        })
        .collect()
}

/// Opens a connection for each flow and each direction in which it crosses the air of a cell.
pub(super) fn connect(
    document: &Document<'_>,
    network: &RoutingGraph,
    cells: &mut [(usize, Cell)],
    flows: &[(usize, Flow)],
) -> Result<(), ScenarioError> {
    for (number, (table, flow)) in flows.iter().enumerate() {
        let mut crosses = false;
        for (from, to, is_reverse) in [(&flow.from, &flow.to, false), (&flow.to, &flow.from, true)] {
            for way in network.route(from, to).unwrap_or_default() {
                let Hop::Cell { cell, enter, leave } = way else { continue };
                let CellKind::Wimax(config) = &mut cells[cell].1.kind else { continue };
                crosses = true;
                config.connections.push(Connection {
                    flow: Tag { flow: number, is_reverse }.number(),
                    station: usize::from(enter.0.max(leave.0)) - 1,
                    is_uplink: leave.0 == 0,
                    is_feedback: is_reverse,
                    service: flow.service.unwrap_or(Service::BestEffort),
                });
            }
        }
        if flow.service.is_some() && !crosses {
            let message = "`service` applies only to a flow whose way crosses a [[wimax]] cell";
            return Err(document.error_at(at!["flow", *table, "service"], message));
        }
    }
    Ok(())
}

impl Text {
    fn cell(self) -> Result<Cell, CellError> {
        let config = WimaxConfig {
            frame: self.frame()?,
            control_slots: self.control_slots,
            map_slots: self.map_slots,
            grants: self.grants()?,
            scheduler: self.scheduler()?,
            headers: Headers { packing: self.packing, crc: self.crc },
            downlink: self.downlink,
            delay: self.delay()?,
            slot_loss: self.slot_loss()?,
            base_queue: self.base.queue.clone().or(self.queue.clone()).unwrap_or(packets(50)),
            stations: self.stations()?,
            connections: Vec::new(),
        };
        Ok(Cell {
            name: self.name,
            base: self.base.name,
            stations: self.station.into_iter().map(|station| station.name).collect(),
            kind: CellKind::Wimax(Box::new(config)),
        })
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
            (GrantsText::Static, _, Some(_)) => refuse("polling", "dynamic"),
            (GrantsText::Dynamic, Some(_), _) => refuse("poll_slots", "static"),
            (GrantsText::Dynamic, ..) if self.rate.is_some() => refuse("rate", "static"),
            (GrantsText::Static, slots, None) => Ok(Grants::Static { poll_slots: slots.unwrap_or(0) }),
            (GrantsText::Dynamic, None, polling) => {
                let (polling, usual) = (polling.unwrap_or_default(), Polling::default());
                Ok(Grants::Dynamic(Polling {
                    rtps_every: self.frames("polling.rtps", polling.rtps, self.frame)?,
                    nrtps_every: self.frames("polling.nrtps", polling.nrtps, TimeDelta::from_secs(1))?,
                    contention: polling.contention.unwrap_or(usual.contention),
                    map_relevance: self.map_relevance(polling.map_relevance)?,
                }))
            }
        }
    }

    fn map_relevance(&self, found: Option<u32>) -> Result<u32, CellError> {
        match found {
            None | Some(0) => Ok(0),
            Some(1) => Ok(1),
            Some(found) => {
                Err(CellError::new("polling.map_relevance", format!("found {found}: expected 0 or 1")))
            }
        }
    }

    /// A time in frames, rounded up.
    fn frames(&self, key: &str, given: Option<TimeDelta>, usual: TimeDelta) -> Result<u32, CellError> {
        let span = given.unwrap_or(usual);
        let (least, most) = (self.frame, TimeDelta::from_secs(60));
        if given.is_some() && !(least..=most).contains(&span) {
            return Err(CellError::new(key, format!("found {span}: expected {least}, the frame, to {most}")));
        }
        Ok(u32::try_from(span.as_nanos().unsigned_abs().div_ceil(self.frame.as_nanos().unsigned_abs()))
            .unwrap_or(u32::MAX))
    }

    fn scheduler(&self) -> Result<Scheduler, CellError> {
        if self.visit == Some(0) {
            return Err(CellError::new(
                "visit",
                "expected at least 1; without the key a queue is served until it is empty",
            ));
        }
        let order = match self.order {
            OrderText::Strict => Order::Strict,
            OrderText::Cyclic => Order::Cyclic,
        };
        Ok(Scheduler { order, visit: self.visit })
    }

    fn delay(&self) -> Result<TimeDelta, CellError> {
        let delay = self.delay.unwrap_or(TimeDelta::ZERO);
        let most = TimeDelta::from_secs(1);
        let sound = |span: TimeDelta| (TimeDelta::ZERO..=most).contains(&span);
        if !sound(delay) {
            return Err(CellError::new("delay", format!("found {delay}: expected 0 s to {most}")));
        }
        match self.downlink {
            Downlink::Fixed(fixed) if !sound(fixed) => {
                Err(CellError::new("downlink.fixed", format!("found {fixed}: expected 0 s to {most}")))
            }
            _ => Ok(delay),
        }
    }

    fn slot_loss(&self) -> Result<Probability, CellError> {
        let loss = self.slot_loss.unwrap_or(0.0);
        let problem = format!("found {loss}: expected 0 to 0.5");
        let sound = Probability::new(loss).filter(|loss| loss.get() <= 0.5);
        sound.ok_or_else(|| CellError::new("slot_loss", problem))
    }

    fn stations(&self) -> Result<Vec<Station>, CellError> {
        self.station.iter().enumerate().map(|(index, station)| self.station(index, station)).collect()
    }

    fn station(&self, index: usize, station: &StationText) -> Result<Station, CellError> {
        let refuse =
            |key: &str, problem: &str| Err(CellError::new(format!("station.{index}.{key}"), problem));
        if self.grants == GrantsText::Dynamic {
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
            queue: station.queue.clone().or(self.queue.clone()).unwrap_or(packets(50)),
            share,
            ugs: station.ugs.unwrap_or(Bitrate::ZERO),
            ertps: station.ertps.unwrap_or(Bitrate::ZERO),
        })
    }
}
