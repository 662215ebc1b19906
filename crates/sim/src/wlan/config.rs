//! `[[wlan]]`: the configuration of an 802.11 cell, as a scenario writes it, and its check.

use crate::cell::CellError;
use crate::text::number_in;
use crate::wlan::errors::ErrorModel;
use crate::wlan::mode::{Band, Mode, Standard};
use crate::wlan::path::{Waypoint, in_order};
use crate::wlan::placement::Placement;
use seaway_units::{Bitrate, DataSize, Decibels, TimeDelta};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

/// Metres east and north of some origin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Position {
    /// East, in metres.
    pub x: f64,
    /// North, in metres.
    pub y: f64,
}

impl Position {
    /// How far it is from one to the other, in metres.
    pub fn distance(self, other: Self) -> f64 {
        libm::hypot(self.x - other.x, self.y - other.y)
    }
}

impl<'de> Deserialize<'de> for Position {
    /// `["60 m", "0 m"]`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (Metres(x), Metres(y)) = Deserialize::deserialize(deserializer)?;
        Ok(Self { x, y })
    }
}

/// `"30 m"`.
struct Metres(f64);

impl<'de> Deserialize<'de> for Metres {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        metres(deserializer).map(Self)
    }
}

pub(super) fn metres<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    number_in(deserializer, &[("m", 1.0)], "a length such as \"30 m\"")
}

fn megahertz<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    number_in(deserializer, &[("MHz", 1.0)], "a width such as \"20 MHz\"").map(|width| Some(width as u16))
}

/// How the mode of data frames is chosen; `T` is how a mode is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateChoice<T> {
    /// The same mode all the time.
    Constant(T),
    /// The fastest mode that loses at most one frame of 1500 octets in a thousand at the ratio of the link. The bound
    /// is ours: ns-3 bounds the bit error rate.
    Ideal,
    /// By trial: ns-3's Minstrel-HT (`docs/models/wlan.md`, section "Rate adaptation").
    Minstrel,
}

impl<T> RateChoice<T> {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "ideal" => Some(Self::Ideal),
            "minstrel" => Some(Self::Minstrel),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for RateChoice<Bitrate> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parse = || text.parse().map(Self::Constant).map_err(D::Error::custom);
        Self::parse(&text).map_or_else(parse, Ok)
    }
}

impl<'de> Deserialize<'de> for RateChoice<u8> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct McsVisitor;
        impl Visitor<'_> for McsVisitor {
            type Value = RateChoice<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an index such as 4, \"ideal\" or \"minstrel\"")
            }

            fn visit_i64<E: Error>(self, index: i64) -> Result<Self::Value, E> {
                let wrong = || E::custom(format!("{index}: expected an index from 0 to 31"));
                u8::try_from(index).map(RateChoice::Constant).map_err(|_| wrong())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let wrong = || E::custom(format!("{text:?}: expected {EXPECTED_MCS}"));
                RateChoice::parse(text).ok_or_else(wrong)
            }
        }
        deserializer.deserialize_any(McsVisitor)
    }
}

const EXPECTED_MCS: &str = "an index, \"ideal\" or \"minstrel\"";

/// Whose turn it is at the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// The station with the oldest packet at the head of its queue, as ns-3.37 does: a station that acknowledges nothing
    /// is served again and again until its packets are too old.
    #[default]
    OldestHead,
    /// One station after the other.
    RoundRobin,
}

/// How stations come to belong to the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AssociationModel {
    /// A station belongs that receives beacons: at once, and without a frame of its own.
    #[default]
    Geometric,
    /// By frames, as ns-3.37 does: a station listens for beacons, requests its association and is answered
    /// (`docs/models/wlan.md`, section "Beacons and association").
    Frames,
}

/// The priority of a flow (EDCA).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Deserialize)]
pub enum AccessCategory {
    /// Voice: shortest waits, one frame an access.
    #[serde(rename = "vo")]
    Voice,
    /// Video.
    #[serde(rename = "vi")]
    Video,
    /// Best effort: what is not marked.
    #[default]
    #[serde(rename = "be")]
    BestEffort,
    /// Background.
    #[serde(rename = "bk")]
    Background,
}

/// A cell: one access point, its stations and their radio. Defaults are those of ns-3.37.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WlanConfig {
    /// Its name in reports.
    pub name: String,
    /// The generation.
    pub standard: Standard,
    /// The band; what it can be depends on the generation.
    pub band: Option<Band>,
    /// The channel's width in MHz; 20 where absent, 22 for 802.11b.
    #[serde(default, deserialize_with = "megahertz")]
    pub width: Option<u16>,
    /// The MCS of data (802.11n, ac).
    pub mcs: Option<RateChoice<u8>>,
    /// The rate of data (802.11a, b, g); the highest where absent.
    pub rate: Option<RateChoice<Bitrate>>,
    /// The guard interval (802.11n, ac): 800 ns where absent.
    pub guard: Option<Guard>,
    /// Streams of data (802.11ac) and the most that adaptation tries; those of the MCS where absent.
    pub streams: Option<u8>,
    /// Antennas of every device; as many as streams where absent.
    pub antennas: Option<u8>,
    /// A preamble of 96 µs instead of 192 µs (802.11b).
    pub short_preamble: Option<bool>,
    /// How likely frames are lost.
    #[serde(default)]
    pub error: ErrorModel,
    /// How likely any frame, acknowledgements among them, is lost at its receiver whatever its signal; at most 0.9.
    #[serde(default)]
    pub frame_loss: f64,
    /// How a signal fades with distance.
    #[serde(default)]
    pub path_loss: PathLoss,
    /// A receiver needs −82 dBm and 4 dB to notice a frame. Without it, it notices whatever is above −101 dBm.
    #[serde(default = "yes")]
    pub preamble_detection: bool,
    /// Transmissions of a frame that is acknowledged alone.
    #[serde(default = "seven")]
    pub retries: u32,
    /// The largest A-MPDU (802.11n, ac); zero turns aggregation off. 65 535 B where absent.
    pub aggregate: Option<DataSize>,
    /// An exchange of RTS and CTS stands before longer frames.
    #[serde(default = "longest")]
    pub rts: DataSize,
    /// Whose turn it is at the access point.
    #[serde(default)]
    pub schedule: Schedule,
    /// Beacons are this far apart.
    #[serde(default = "beacon_interval")]
    pub beacon_interval: TimeDelta,
    /// How stations come to belong to the access point.
    #[serde(default)]
    pub assoc: AssociationModel,
    /// The access point; its stream of random numbers is chosen by its name.
    pub ap: AccessPoint,
    /// The stations, unless `plan` places them.
    #[serde(default)]
    pub station: Vec<Station>,
    /// Stations `sta0`, `sta1` … around the access point.
    pub plan: Option<Placement>,
    /// The priorities of flows that are not best effort, by [`Packet::flow`](seaway_link::Packet::flow).
    #[serde(skip)]
    pub categories: Vec<(u32, AccessCategory)>,
}

/// The guard interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guard {
    /// 800 ns.
    Long,
    /// 400 ns.
    Short,
}

/// Log-distance path loss.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathLoss {
    /// 1 to 10.
    pub exponent: f64,
    /// At 1 m and nearer.
    pub at_1m: Decibels,
}

impl Default for PathLoss {
    fn default() -> Self {
        Self { exponent: 3.0, at_1m: Decibels::new(46.6777) }
    }
}

/// The access point and the queues of the cell.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessPoint {
    /// Its node.
    pub name: String,
    /// Where it stands.
    #[serde(default)]
    pub at: Position,
    /// Every queue of the cell; there is one an access category and device.
    #[serde(default)]
    pub queue: MacQueueConfig,
}

/// A queue of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MacQueueConfig {
    /// Packets that it holds.
    pub packets: usize,
    /// How old a packet may become in it.
    pub time: TimeDelta,
}

impl Default for MacQueueConfig {
    fn default() -> Self {
        Self { packets: 500, time: TimeDelta::from_millis(500) }
    }
}

/// A station.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Its node.
    pub name: String,
    /// Where it stands, or where it starts from.
    pub at: Position,
    /// Where it walks.
    #[serde(default)]
    pub path: Vec<Waypoint>,
}

impl Station {
    /// A station that does not move.
    pub fn at(name: impl Into<String>, at: Position) -> Self {
        Self { name: name.into(), at, path: Vec::new() }
    }
}

fn yes() -> bool {
    true
}

fn seven() -> u32 {
    7
}

fn longest() -> DataSize {
    DataSize::from_bytes(65_535)
}

fn beacon_interval() -> TimeDelta {
    TimeDelta::from_micros(102_400)
}

impl WlanConfig {
    /// A cell of `standard` at its default settings, with MCS 0 where it has MCS, and without stations.
    pub fn new(standard: Standard) -> Self {
        Self {
            name: "cell".to_owned(),
            standard,
            band: None,
            width: None,
            mcs: standard.is_qos().then_some(RateChoice::Constant(0)),
            rate: None,
            guard: None,
            streams: None,
            antennas: None,
            short_preamble: None,
            error: ErrorModel::default(),
            frame_loss: 0.0,
            path_loss: PathLoss::default(),
            preamble_detection: yes(),
            retries: seven(),
            aggregate: None,
            rts: longest(),
            schedule: Schedule::default(),
            beacon_interval: beacon_interval(),
            assoc: AssociationModel::default(),
            ap: AccessPoint {
                name: "ap".to_owned(),
                at: Position::default(),
                queue: MacQueueConfig::default(),
            },
            station: Vec::new(),
            plan: None,
            categories: Vec::new(),
        }
    }

    /// The stations: those listed, or those that the plan places.
    pub fn stations(&self) -> Vec<Station> {
        self.plan.map_or_else(|| self.station.clone(), |plan| plan.stations(self.ap.at))
    }

    pub(crate) fn band(&self) -> Band {
        self.band.unwrap_or(match self.standard {
            Standard::B | Standard::G => Band::Ghz2,
            _ => Band::Ghz5,
        })
    }

    pub(crate) fn width(&self) -> u16 {
        self.width.unwrap_or(if self.standard == Standard::B { 22 } else { 20 })
    }

    pub(crate) fn antennas(&self) -> u8 {
        self.antennas.unwrap_or(self.streams())
    }

    pub(crate) fn short_preamble(&self) -> bool {
        self.short_preamble.unwrap_or(false)
    }

    /// The largest A-MPDU in octets.
    pub fn largest_aggregate(&self) -> u64 {
        self.aggregate.unwrap_or(longest()).as_bytes()
    }

    /// How the mode of data is chosen, whatever names it.
    pub(crate) fn choice(&self) -> RateChoice<()> {
        match (self.mcs, self.rate) {
            (Some(RateChoice::Ideal), _) | (_, Some(RateChoice::Ideal)) => RateChoice::Ideal,
            (Some(RateChoice::Minstrel), _) | (_, Some(RateChoice::Minstrel)) => RateChoice::Minstrel,
            _ => RateChoice::Constant(()),
        }
    }

    /// Zero where it is adapted.
    fn mcs(&self) -> u8 {
        if let Some(RateChoice::Constant(mcs)) = self.mcs { mcs } else { 0 }
    }

    fn streams(&self) -> u8 {
        self.streams.unwrap_or(if self.standard == Standard::N { self.mcs() / 8 + 1 } else { 1 })
    }

    fn short_guard(&self) -> bool {
        self.guard == Some(Guard::Short)
    }

    /// In bit/s; the highest where it is adapted.
    fn rate(&self) -> u64 {
        match self.rate {
            Some(RateChoice::Constant(rate)) => rate.as_bps(),
            _ if self.standard == Standard::B => 11_000_000,
            _ => 54_000_000,
        }
    }

    /// The names of the queues, two a station: `sta0/down`, `sta0/up`.
    pub fn queue_names(&self) -> Vec<String> {
        let both = |Station { name, .. }: &Station| [format!("{name}/down"), format!("{name}/up")];
        self.stations().iter().flat_map(both).collect()
    }

    /// The mode of data frames with [`RateChoice::Constant`].
    ///
    /// # Errors
    /// What the generation does not have.
    pub fn data_mode(&self) -> Result<Mode, CellError> {
        match self.standard {
            Standard::B => Mode::dsss(self.rate(), self.short_preamble()),
            Standard::A | Standard::G => Mode::legacy(self.rate()),
            Standard::N => Mode::ht(self.mcs(), self.width(), self.short_guard()),
            Standard::Ac => Mode::vht(self.mcs(), self.width(), self.short_guard(), self.streams()),
        }
    }

    /// All modes that adaptation may choose from, slowest first; of equal ones the one with fewer streams first.
    pub(crate) fn all_modes(&self) -> Vec<Mode> {
        let rates = |mbps: &[u64], make: &dyn Fn(u64) -> Result<Mode, CellError>| {
            mbps.iter().filter_map(|&rate| make(rate).ok()).collect::<Vec<_>>()
        };
        let mut modes = match self.standard {
            Standard::B => rates(&[1_000_000, 2_000_000, 5_500_000, 11_000_000], &|rate| {
                Mode::dsss(rate, self.short_preamble())
            }),
            Standard::A | Standard::G => {
                let mbps = [6, 9, 12, 18, 24, 36, 48, 54].map(|mbps| mbps * 1_000_000);
                rates(&mbps, &Mode::legacy)
            }
            Standard::N => (0..8 * self.streams().min(4))
                .filter_map(|mcs| Mode::ht(mcs, self.width(), self.short_guard()).ok())
                .collect(),
            Standard::Ac => (1..=self.streams())
                .flat_map(|streams| (0..10).map(move |mcs| (streams, mcs)))
                .filter_map(|(streams, mcs)| Mode::vht(mcs, self.width(), self.short_guard(), streams).ok())
                .collect(),
        };
        modes.sort_by_key(|mode| (mode.rate, mode.streams));
        modes
    }

    /// Finds the first setting that does not hold.
    ///
    /// # Errors
    /// Which, and what would be valid.
    pub fn check(&self) -> Result<(), CellError> {
        self.check_applies()?;
        let require = |holds: bool, field: &str, expected: &str| {
            if holds { Ok(()) } else { Err(CellError::new(field, expected)) }
        };
        let (band, width, streams) = (self.band(), self.width(), self.streams());
        let band_fits = match self.standard {
            Standard::B | Standard::G => band == Band::Ghz2,
            Standard::A | Standard::Ac => band == Band::Ghz5,
            Standard::N => true,
        };
        require(band_fits, "band", "802.11b and g work at 2.4 GHz, 802.11a and ac at 5 GHz")?;
        let width_fits = match self.standard {
            Standard::B => width == 22,
            Standard::A | Standard::G => width == 20,
            Standard::N => width == 20 || width == 40,
            Standard::Ac => [20, 40, 80, 160].contains(&width),
        };
        require(
            width_fits,
            "width",
            "802.11n has 20 and 40 MHz, 802.11ac 20, 40, 80 and 160 MHz, the others one width",
        )?;
        let most = if self.standard == Standard::N { 4 } else { 8 };
        require((1..=most).contains(&streams), "streams", "802.11n has 1 to 4, 802.11ac 1 to 8")?;
        let of_mode = self.data_mode()?.streams;
        let least = if self.standard == Standard::N { streams.max(of_mode) } else { streams };
        let antennas = (least..=8).contains(&self.antennas());
        require(antennas, "antennas", "expected at least as many as streams and at most 8")?;
        let (loss, path) = (self.frame_loss, self.path_loss);
        require((0.0..=0.9).contains(&loss), "frame_loss", &format!("found {loss}: expected 0 to 0.9"))?;
        require((1.0..=10.0).contains(&path.exponent), "path_loss.exponent", "expected 1 to 10")?;
        let at_1m = (-100.0..=200.0).contains(&path.at_1m.get());
        require(at_1m, "path_loss.at_1m", "expected -100 dB to 200 dB")?;
        require((1..=255).contains(&self.retries), "retries", "expected 1 to 255")?;
        let largest = if self.standard == Standard::N { 65_535 } else { 1_048_575 };
        let fits = self.largest_aggregate() <= largest;
        require(fits, "aggregate", "expected at most 65535 B, 1048575 B with 802.11ac")?;
        let rts = self.rts.as_bytes() <= u64::from(u32::MAX);
        require(rts, "rts", &format!("found {}: expected at most 4 GB", self.rts))?;
        let interval = TimeDelta::from_millis(10)..=TimeDelta::from_secs(65);
        require(interval.contains(&self.beacon_interval), "beacon_interval", "expected 10 ms to 65 s")?;
        let MacQueueConfig { packets, time } = self.ap.queue;
        require((1..=100_000).contains(&packets), "ap.queue.packets", "expected 1 to 100000")?;
        require(time > TimeDelta::ZERO, "ap.queue.time", "expected a time above zero")?;
        if let Some(plan) = self.plan {
            let problem = format!("found {}: expected 1 to {MOST_STATIONS}", plan.count());
            require((1..=MOST_STATIONS).contains(&plan.count()), "plan.count", &problem)?;
            require(self.station.is_empty(), "station", "expected either `station` or `plan`")?;
        }
        let stations = self.stations();
        require((1..=MOST_STATIONS).contains(&stations.len()), "station", "expected 1 to 500, or a `plan`")?;
        let is_near = |at: Position| at.x.abs() <= 1e6 && at.y.abs() <= 1e6;
        let path = |station: &Station| station.path.iter().all(|point| is_near(point.at));
        let near = |station: &Station| is_near(station.at) && path(station);
        let all = is_near(self.ap.at) && stations.iter().all(near);
        require(all, "station", "expected places within 1000 km of the origin")?;
        for (index, station) in stations.iter().enumerate() {
            let key = format!("station.{index}.path");
            require(
                in_order(&station.path),
                &key,
                "expected at most 1000 points, each later than the one before",
            )?;
        }
        Ok(())
    }

    /// Keys of one generation are refused in a cell of another.
    fn check_applies(&self) -> Result<(), CellError> {
        let is_high = self.standard.is_qos();
        for (key, is_given, applies, to) in [
            ("mcs", self.mcs.is_some(), is_high, "802.11n and ac; the others have `rate`"),
            ("rate", self.rate.is_some(), !is_high, "802.11a, b and g; the others have `mcs`"),
            ("guard", self.guard.is_some(), is_high, "802.11n and ac"),
            ("streams", self.streams.is_some(), is_high, "802.11n and ac"),
            ("aggregate", self.aggregate.is_some(), is_high, "802.11n and ac"),
            ("short_preamble", self.short_preamble.is_some(), self.standard == Standard::B, "802.11b"),
        ] {
            if is_given && !applies {
                return Err(CellError::new(key, format!("applies only to {to}")));
            }
        }
        if is_high && self.mcs.is_none() {
            return Err(CellError::new("mcs", format!("expected {EXPECTED_MCS}")));
        }
        Ok(())
    }
}

/// Powers are kept for every pair.
const MOST_STATIONS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_names_what_does_not_hold() {
        let mut config = WlanConfig::new(Standard::Ac);
        assert_eq!(config.check().unwrap_err().key, "station");
        config.station.push(Station::at("sta0", Position { x: 5.0, y: 0.0 }));
        assert_eq!(config.check(), Ok(()));
        config.width = Some(30);
        assert_eq!(config.check().unwrap_err().key, "width");
        config.width = Some(80);
        config.mcs = Some(RateChoice::Constant(10));
        assert_eq!(config.check().unwrap_err().key, "mcs");
        let bad = WlanConfig {
            path_loss: PathLoss { exponent: f64::NAN, ..PathLoss::default() },
            mcs: Some(RateChoice::Constant(4)),
            ..config
        };
        assert_eq!(bad.check().unwrap_err().key, "path_loss.exponent");
    }
}
