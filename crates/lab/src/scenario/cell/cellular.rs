//! `[[cellular]]`: one cell of a cellular network.

use super::{Base, Cell, CellKind, refusal};
use crate::scenario::document::{Document, with_queue_kinds};
use crate::scenario::error::ScenarioError;
use seaway_link::{DropTailConfig, QueueConfig, TraceConfig};
use seaway_sim::CellError;
use seaway_sim::cellular::{Background, CellularConfig, Fading, Harq, Radio, Residual, User};
use seaway_units::{Bitrate, Decibels, Probability, TimeDelta};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::fmt;

/// RFC 8869 section 3 counts arrivals in all its cells.
const CELLS_OF_RFC_8869: f64 = 21.0;

/// The keys of a cellular cell.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    base: Base,
    user: Vec<UserText>,
    downlink: Option<Bitrate>,
    uplink: Option<Bitrate>,
    #[serde(default = "ten_decibels")]
    snr: Decibels,
    #[serde(default = "walking")]
    speed: Speed,
    queue: Option<QueueConfig>,
    #[serde(default)]
    harq: HarqText,
    #[serde(default = "averaging")]
    averaging: TimeDelta,
    #[serde(default = "processing")]
    delay: TimeDelta,
    #[serde(default = "access")]
    access: TimeDelta,
    background: Option<BackgroundText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserText {
    name: String,
    downlink: Option<Source>,
    uplink: Option<Source>,
    snr: Option<Decibels>,
    speed: Option<Speed>,
    queue: Option<QueueConfig>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct HarqText {
    error: f64,
    round_trip: TimeDelta,
    attempts: u32,
    residual: ResidualText,
}

impl Default for HarqText {
    fn default() -> Self {
        Self {
            error: 0.1,
            round_trip: TimeDelta::from_millis(8),
            attempts: 4,
            residual: ResidualText::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ResidualText {
    #[default]
    Repaired,
    Lost,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackgroundText {
    /// RFC 8869's arrival intensity: a second, in all of its cells.
    intensity: f64,
    #[serde(default = "thirty_seconds")]
    stay: TimeDelta,
    /// RFC 8867's video at its most, and its audio.
    #[serde(default = "video_and_audio")]
    demand: Bitrate,
}

fn ten_decibels() -> Decibels {
    Decibels::new(10.0)
}

fn walking() -> Speed {
    Speed(3.0 / 3.6)
}

fn averaging() -> TimeDelta {
    TimeDelta::from_millis(100)
}

fn processing() -> TimeDelta {
    TimeDelta::from_millis(3)
}

fn access() -> TimeDelta {
    TimeDelta::from_millis(10)
}

fn thirty_seconds() -> TimeDelta {
    TimeDelta::from_secs(30)
}

fn video_and_audio() -> Bitrate {
    Bitrate::from_kbps(1520)
}

/// Metres a second.
#[derive(Debug, Clone, Copy)]
struct Speed(f64);

impl<'de> Deserialize<'de> for Speed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let read = |unit: &str, scale: f64| {
            let value: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
            (0.0..=500.0).contains(&value).then_some(Self(value * scale))
        };
        read("km/h", 1.0 / 3.6).or_else(|| read("m/s", 1.0)).ok_or_else(|| {
            D::Error::custom(format!(
                "{text:?}: expected a speed from 0 to 500 such as \"3 km/h\" or \"1 m/s\""
            ))
        })
    }
}

/// Where a user's channel comes from.
#[derive(Debug, Clone)]
enum Source {
    Mean(Bitrate),
    Trace(TraceConfig),
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SourceVisitor;
        impl<'de> Visitor<'de> for SourceVisitor {
            type Value = Source;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mean rate such as \"20 Mbit/s\", or a trace { file = \"drive.down\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Source, E> {
                text.parse().map(Source::Mean).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Source, A::Error> {
                TraceConfig::deserialize(MapAccessDeserializer::new(map)).map(Source::Trace)
            }
        }
        deserializer.deserialize_any(SourceVisitor)
    }
}

/// All cellular cells of the document.
pub(super) fn read(document: &Document<'_>) -> Result<Vec<(usize, Cell)>, ScenarioError> {
    let tables = document.tables("cellular")?.into_iter().enumerate();
    tables
        .map(|(index, table)| {
            let text: Text = document.read(&with_queue_kinds(table), &[])?;
            let cell = text.cell(document).map_err(|error| refusal(document, "cellular", index, &error))?;
            Ok((index, cell))
        })
        .collect()
}

impl Text {
    fn cell(self, document: &Document<'_>) -> Result<Cell, CellError> {
        let config = CellularConfig {
            base_queue: self.base.queue.clone().or(self.queue.clone()).unwrap_or_else(discard_timer),
            users: self.users(document)?,
            harq: self.harq()?,
            averaging: self.averaging,
            delay: self.delay,
            access: self.access,
            background: self.background()?,
        };
        Ok(Cell {
            name: self.name,
            base: self.base.name,
            stations: self.user.into_iter().map(|user| user.name).collect(),
            kind: CellKind::Cellular(Box::new(config)),
        })
    }

    fn users(&self, document: &Document<'_>) -> Result<Vec<User>, CellError> {
        let user = |(index, user): (usize, &UserText)| {
            let radio = |key: &str, own: &Option<Source>, shared: Option<Bitrate>| {
                let place = || format!("user.{index}.{key}");
                match (own, shared) {
                    (Some(Source::Trace(trace)), _) => {
                        let read = &mut |file: &str| document.read_file(file);
                        let trace = trace.load(read);
                        trace.map(Radio::Trace).map_err(|error| CellError::new(place(), error.to_string()))
                    }
                    (Some(Source::Mean(mean)), _) => Ok(self.fading(*mean, user)),
                    (None, Some(mean)) => Ok(self.fading(mean, user)),
                    (None, None) => {
                        let problem =
                            "expected a mean rate or a trace here, or a rate for all users in the cell";
                        Err(CellError::new(place(), problem))
                    }
                }
            };
            let downlink = radio("downlink", &user.downlink, self.downlink)?;
            let uplink = radio("uplink", &user.uplink, self.uplink)?;
            let queue = user.queue.clone().or(self.queue.clone()).unwrap_or_else(discard_timer);
            Ok(User { name: user.name.clone(), downlink, uplink, queue })
        };
        self.user.iter().enumerate().map(user).collect()
    }

    fn fading(&self, mean: Bitrate, user: &UserText) -> Radio {
        let speed = user.speed.unwrap_or(self.speed).0;
        Radio::Fading(Fading { mean, snr: user.snr.unwrap_or(self.snr), speed })
    }

    fn harq(&self) -> Result<Harq, CellError> {
        let HarqText { error, round_trip, attempts, residual } = self.harq.clone();
        let error = Probability::new(error)
            .ok_or_else(|| CellError::new("harq.error", format!("found {error}: expected 0 to 0.5")))?;
        let residual = match residual {
            ResidualText::Repaired => Residual::Repaired,
            ResidualText::Lost => Residual::Lost,
        };
        Ok(Harq { error, round_trip, attempts, residual })
    }

    fn background(&self) -> Result<Background, CellError> {
        let Some(BackgroundText { intensity, stay, demand }) = self.background else {
            let channel = Fading { mean: Bitrate::ZERO, snr: self.snr, speed: 0.0 };
            let (stay, demand) = (thirty_seconds(), video_and_audio());
            return Ok(Background { arrivals: 0.0, stay, demand, channel: [channel; 2] });
        };
        let sound = intensity.is_finite() && intensity >= 0.0;
        let refuse = |key: &str, problem: String| Err(CellError::new(format!("background.{key}"), problem));
        if !sound {
            return refuse("intensity", format!("found {intensity}: expected at least 0"));
        }
        if stay <= TimeDelta::ZERO {
            return refuse("stay", format!("found {stay}: expected a time above zero"));
        }
        let (Some(down), Some(up)) = (self.downlink, self.uplink) else {
            return Err(CellError::new("background", "needs `downlink` and `uplink` of the cell: theirs"));
        };
        let channel = |mean| Fading { mean, snr: self.snr, speed: self.speed.0 };
        let arrivals = intensity / CELLS_OF_RFC_8869;
        Ok(Background { arrivals, stay, demand, channel: [channel(down), channel(up)] })
    }
}

/// What has waited for 300 ms is dropped: RFC 8867 section 4's queue whatever the share of the user, as the discard
/// timer of a radio bearer does it.
fn discard_timer() -> QueueConfig {
    QueueConfig::DropTail(DropTailConfig {
        sojourn: Some(TimeDelta::from_millis(300)),
        ..DropTailConfig::default()
    })
}
