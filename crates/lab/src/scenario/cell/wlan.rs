//! `[[wlan]]`: an 802.11 cell.

use super::{Cell, CellKind, refusal};
use crate::record::Tag;
use crate::routing::{Hop, RoutingGraph};
use crate::scenario::document::{Document, at};
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::Flow;
use seaway_sim::CellError;
use seaway_sim::wlan::{
    AccessCategory, Band, ErrorModel, Plan, Position, RateChoice, Schedule, Standard, WlanConfig,
};
use seaway_units::{Bitrate, DataSize, Decibels, Probability, TimeDelta};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

/// The keys of an 802.11 cell.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    standard: StandardText,
    band: Option<BandText>,
    width: Option<Megahertz>,
    mcs: Option<Mcs>,
    rate: Option<Rate>,
    guard: Option<GuardText>,
    streams: Option<u8>,
    antennas: Option<u8>,
    short_preamble: Option<bool>,
    #[serde(default)]
    error: ErrorText,
    frame_loss: Option<f64>,
    #[serde(default)]
    path_loss: PathLossText,
    #[serde(default = "yes")]
    preamble_detection: bool,
    retries: Option<u32>,
    aggregate: Option<DataSize>,
    rts: Option<DataSize>,
    #[serde(default)]
    schedule: ScheduleText,
    beacon_interval: Option<TimeDelta>,
    ap: ApText,
    station: Option<Vec<StationText>>,
    plan: Option<PlanText>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum StandardText {
    #[serde(rename = "802.11a")]
    A,
    #[serde(rename = "802.11b")]
    B,
    #[serde(rename = "802.11g")]
    G,
    #[serde(rename = "802.11n")]
    N,
    #[serde(rename = "802.11ac")]
    Ac,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum BandText {
    #[serde(rename = "2.4 GHz")]
    Ghz2,
    #[serde(rename = "5 GHz")]
    Ghz5,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum GuardText {
    Long,
    Short,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ErrorText {
    #[default]
    Yans,
    Nist,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ScheduleText {
    #[default]
    OldestHead,
    RoundRobin,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathLossText {
    exponent: Option<f64>,
    at_1m: Option<Decibels>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApText {
    name: String,
    at: Option<(Metres, Metres)>,
    #[serde(default)]
    queue: QueueText,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueueText {
    packets: Option<usize>,
    time: Option<TimeDelta>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StationText {
    name: String,
    at: (Metres, Metres),
}

/// Stations `sta0`, `sta1` … around the access point.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    deny_unknown_fields,
    expecting = "a plan such as { kind = \"circle\", count = 5, radius = \"5 m\" }"
)]
enum PlanText {
    /// On a circle, one every so many degrees.
    Circle { count: usize, radius: Metres },
    /// On the points of a square grid, nearest to the access point first.
    Grid { count: usize, spacing: Metres },
    /// Anywhere on a disc, uniformly; `draw` chooses another plan.
    Random {
        count: usize,
        radius: Metres,
        #[serde(default)]
        draw: u64,
    },
}

const fn yes() -> bool {
    true
}

/// A length in metres.
#[derive(Debug, Clone, Copy)]
struct Metres(f64);

impl<'de> Deserialize<'de> for Metres {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number_in(deserializer, "m", "a length such as \"30 m\"").map(Self)
    }
}

/// A width of a channel.
#[derive(Debug, Clone, Copy)]
struct Megahertz(u16);

impl<'de> Deserialize<'de> for Megahertz {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let width = number_in(deserializer, "MHz", "a width such as \"20 MHz\"")?;
        Ok(Self(width as u16))
    }
}

fn number_in<'de, D: Deserializer<'de>>(
    deserializer: D,
    unit: &str,
    expected: &str,
) -> Result<f64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let value = text.strip_suffix(unit).and_then(|value| value.trim_end().parse::<f64>().ok());
    let value = value.filter(|value| value.is_finite());
    value.ok_or_else(|| D::Error::custom(format!("{text:?}: expected {expected}")))
}

/// An index, or how it is chosen.
#[derive(Debug, Clone, Copy)]
enum Mcs {
    Index(u8),
    Chosen(RateChoice),
}

/// A rate, or how it is chosen.
#[derive(Debug, Clone, Copy)]
enum Rate {
    Fixed(Bitrate),
    Chosen(RateChoice),
}

fn choice(text: &str) -> Option<RateChoice> {
    match text {
        "ideal" => Some(RateChoice::Ideal),
        "minstrel" => Some(RateChoice::Minstrel),
        _ => None,
    }
}

impl<'de> Deserialize<'de> for Mcs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct McsVisitor;
        impl Visitor<'_> for McsVisitor {
            type Value = Mcs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an index such as 4, \"ideal\" or \"minstrel\"")
            }

            fn visit_i64<E: Error>(self, index: i64) -> Result<Mcs, E> {
                let wrong = || E::custom(format!("{index}: expected an index from 0 to 31"));
                u8::try_from(index).map(Mcs::Index).map_err(|_| wrong())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Mcs, E> {
                let wrong = || E::custom(format!("{text:?}: expected an index, \"ideal\" or \"minstrel\""));
                choice(text).map(Mcs::Chosen).ok_or_else(wrong)
            }
        }
        deserializer.deserialize_any(McsVisitor)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        choice(&text).map_or_else(
            || text.parse().map(Self::Fixed).map_err(D::Error::custom),
            |choice| Ok(Self::Chosen(choice)),
        )
    }
}

/// The access category of a flow.
pub(crate) fn access<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AccessCategory>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum AccessText {
        Vo,
        Vi,
        Be,
        Bk,
    }
    Ok(Some(match AccessText::deserialize(deserializer)? {
        AccessText::Vo => AccessCategory::Voice,
        AccessText::Vi => AccessCategory::Video,
        AccessText::Be => AccessCategory::BestEffort,
        AccessText::Bk => AccessCategory::Background,
    }))
}

/// All 802.11 cells of the document.
pub(super) fn read(document: &Document<'_>) -> Result<Vec<(usize, Cell)>, ScenarioError> {
    let tables = document.tables("wlan")?.into_iter().enumerate();
    tables
        .map(|(index, table)| {
            let text: Text = document.read(&table, &[])?;
            let cell = text.cell().map_err(|error| refusal(document, "wlan", index, &error))?;
            Ok((index, cell))
        })
        .collect()
}

/// Tells the cells the access categories of the flows that cross them.
pub(super) fn connect(
    document: &Document<'_>,
    network: &RoutingGraph,
    cells: &mut [(usize, Cell)],
    flows: &[(usize, Flow)],
) -> Result<(), ScenarioError> {
    for (number, (table, flow)) in flows.iter().enumerate() {
        let Some(access) = flow.access else { continue };
        // A flow without a way there and back is refused later, for that.
        let ways = [network.route(&flow.from, &flow.to), network.route(&flow.to, &flow.from)];
        let [Some(there), Some(back)] = ways else { continue };
        let mut crosses = false;
        for (way, is_reverse) in [(there, false), (back, true)] {
            for step in way {
                let Hop::Cell { cell, .. } = step else { continue };
                let CellKind::Wlan(config) = &mut cells[cell].1.kind else { continue };
                if config.standard.is_qos() {
                    crosses = true;
                    config.categories.push((Tag { flow: number, is_reverse }.number(), access));
                }
            }
        }
        if !crosses {
            let message = "`access` applies only to a flow whose way crosses a [[wlan]] of 802.11n or ac";
            return Err(document.error_at(at!["flow", *table, "access"], message));
        }
    }
    Ok(())
}

impl Text {
    fn cell(self) -> Result<Cell, CellError> {
        let mut config = self.radio()?;
        if let Some(aggregate) = self.aggregate {
            config.aggregate = octets("aggregate", aggregate)?;
        }
        if let Some(rts) = self.rts {
            config.rts_threshold = octets("rts", rts)?;
        }
        config.retries = self.retries.unwrap_or(config.retries);
        config.beacon_interval = self.beacon_interval.unwrap_or(config.beacon_interval);
        config.queue_packets = self.ap.queue.packets.unwrap_or(config.queue_packets);
        config.queue_time = self.ap.queue.time.or(config.queue_time);
        config.schedule = match self.schedule {
            ScheduleText::OldestHead => Schedule::OldestHead,
            ScheduleText::RoundRobin => Schedule::RoundRobin,
        };
        let origin = self.ap.at.map_or(Position::default(), position);
        config.ap = (self.ap.name.clone(), origin);
        config.stations = self.stations(origin)?;
        Ok(Cell {
            name: self.name,
            base: self.ap.name,
            stations: config.stations.iter().map(|(name, _)| name.clone()).collect(),
            kind: CellKind::Wlan(Box::new(config)),
        })
    }

    /// What is sent how, and how it is received.
    fn radio(&self) -> Result<WlanConfig, CellError> {
        let standard = match self.standard {
            StandardText::A => Standard::A,
            StandardText::B => Standard::B,
            StandardText::G => Standard::G,
            StandardText::N => Standard::N,
            StandardText::Ac => Standard::Ac,
        };
        let mut config = WlanConfig::new(standard);
        let only = |key: &str, is_given: bool, applies: bool, to: &str| {
            let problem = || CellError::new(key, format!("applies only to {to}"));
            if is_given && !applies { Err(problem()) } else { Ok(()) }
        };
        let is_high = standard.is_qos();
        only("mcs", self.mcs.is_some(), is_high, "802.11n and ac; the others have `rate`")?;
        only("rate", self.rate.is_some(), !is_high, "802.11a, b and g; the others have `mcs`")?;
        only("guard", self.guard.is_some(), is_high, "802.11n and ac")?;
        only("streams", self.streams.is_some(), is_high, "802.11n and ac")?;
        only("aggregate", self.aggregate.is_some(), is_high, "802.11n and ac")?;
        only("short_preamble", self.short_preamble.is_some(), standard == Standard::B, "802.11b")?;
        match self.mcs {
            Some(Mcs::Index(mcs)) => config.mcs = mcs,
            Some(Mcs::Chosen(choice)) => config.choice = choice,
            None if is_high => {
                return Err(CellError::new("mcs", "expected an index, \"ideal\" or \"minstrel\""));
            }
            None => {}
        }
        match self.rate {
            Some(Rate::Fixed(rate)) => config.rate = rate.as_bps(),
            Some(Rate::Chosen(choice)) => config.choice = choice,
            None => {}
        }
        config.band = match self.band {
            Some(BandText::Ghz2) => Band::Ghz2,
            Some(BandText::Ghz5) => Band::Ghz5,
            None => config.band,
        };
        config.width = self.width.map_or(config.width, |Megahertz(width)| width);
        config.short_guard = matches!(self.guard, Some(GuardText::Short));
        config.short_preamble = self.short_preamble.unwrap_or(false);
        let of_index = if standard == Standard::N { config.mcs / 8 + 1 } else { 1 };
        config.streams = self.streams.unwrap_or(of_index);
        config.antennas = self.antennas.unwrap_or(config.streams);
        config.error = match self.error {
            ErrorText::Yans => ErrorModel::Yans,
            ErrorText::Nist => ErrorModel::Nist,
        };
        if let Some(loss) = self.frame_loss {
            let problem = || CellError::new("frame_loss", format!("found {loss}: expected 0 to 0.9"));
            config.frame_loss =
                Probability::new(loss).filter(|loss| loss.get() <= 0.9).ok_or_else(problem)?;
        }
        config.exponent = self.path_loss.exponent.unwrap_or(config.exponent);
        config.loss_at_1m = self.path_loss.at_1m.map_or(config.loss_at_1m, Decibels::get);
        config.preamble_detection = self.preamble_detection;
        Ok(config)
    }

    fn stations(&self, origin: Position) -> Result<Vec<(String, Position)>, CellError> {
        match (&self.station, self.plan) {
            (Some(stations), None) => {
                Ok(stations.iter().map(|station| (station.name.clone(), position(station.at))).collect())
            }
            (None, Some(plan)) => plan.stations(origin),
            _ => Err(CellError::new("station", "expected either `station` or `plan`")),
        }
    }
}

impl PlanText {
    fn stations(self, origin: Position) -> Result<Vec<(String, Position)>, CellError> {
        let (Self::Circle { count, .. } | Self::Grid { count, .. } | Self::Random { count, .. }) = self;
        if !(1..=500).contains(&count) {
            return Err(CellError::new("plan.count", format!("found {count}: expected 1 to 500")));
        }
        let plan = match self {
            Self::Circle { radius: Metres(radius), .. } => Plan::Circle { radius },
            Self::Grid { spacing: Metres(spacing), .. } => Plan::Grid { spacing },
            Self::Random { radius: Metres(radius), draw, .. } => Plan::Random { radius, draw },
        };
        let stations = plan.places(count, origin).into_iter().enumerate();
        Ok(stations.map(|(index, at)| (format!("sta{index}"), at)).collect())
    }
}

fn position((Metres(x), Metres(y)): (Metres, Metres)) -> Position {
    Position { x, y }
}

fn octets(key: &str, size: DataSize) -> Result<u32, CellError> {
    u32::try_from(size.as_bytes())
        .map_err(|_| CellError::new(key, format!("found {size}: expected at most 4 GB")))
}
