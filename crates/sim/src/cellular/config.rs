//! `[[cellular]]`: the configuration of a cellular cell, as a scenario writes it, and the plan that the cell follows.

use super::channel::{Fading, Radio};
use crate::cell::{Base, CellError};
use crate::text::number_in;
use seaway_link::{DropTailConfig, QueueConfig, TraceConfig};
use seaway_units::{Bitrate, Decibels, Probability, TimeDelta};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;

/// RFC 8869 section 3 counts arrivals in all its cells.
const CELLS_OF_RFC_8869: f64 = 21.0;

/// A cell as a scenario writes it.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellularConfig {
    /// Its name in reports.
    pub name: String,
    /// The base.
    pub base: Base,
    /// The users.
    pub user: Vec<UserConfig>,
    /// Mean rate from the base to each user that has none of its own.
    downlink: Option<Bitrate>,
    /// Mean rate from each user that has none of its own.
    uplink: Option<Bitrate>,
    /// Mean signal to noise of users that have none of their own.
    #[serde(default = "ten_decibels")]
    snr: Decibels,
    /// Speed in m/s of users that have none of their own.
    #[serde(default = "walking", deserialize_with = "speed")]
    speed: f64,
    /// The queues of base and users that have none of their own.
    queue: Option<QueueConfig>,
    #[serde(default)]
    harq: Harq,
    /// Memory of the proportional fair scheduler's averages.
    #[serde(default = "averaging")]
    averaging: TimeDelta,
    /// Decoding and passing on, one way, behind the TTI.
    #[serde(default = "processing")]
    delay: TimeDelta,
    /// From the first packet of an idle user until it may send it: scheduling request and grant.
    #[serde(default = "access")]
    access: TimeDelta,
    background: Option<BackgroundConfig>,
}

/// A user as a scenario writes it.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserConfig {
    /// Its node.
    pub name: String,
    downlink: Option<RadioConfig>,
    uplink: Option<RadioConfig>,
    snr: Option<Decibels>,
    #[serde(default, deserialize_with = "some_speed")]
    speed: Option<f64>,
    queue: Option<QueueConfig>,
}

/// [`Background`] as a scenario writes it.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct BackgroundConfig {
    /// RFC 8869's arrival intensity: a second, in all of its cells.
    intensity: f64,
    #[serde(default = "thirty_seconds")]
    stay: TimeDelta,
    #[serde(default = "video_and_audio")]
    demand: Bitrate,
}

fn ten_decibels() -> Decibels {
    Decibels::new(10.0)
}

fn walking() -> f64 {
    3.0 / 3.6
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

/// RFC 8867's video at its most, and its audio.
fn video_and_audio() -> Bitrate {
    Bitrate::from_kbps(1520)
}

/// Metres a second.
fn speed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let expected = "a speed from 0 to 500 such as \"3 km/h\" or \"1 m/s\"";
    let speed = number_in(deserializer, &[("km/h", 1.0 / 3.6), ("m/s", 1.0)], expected)?;
    let refused = || D::Error::custom(format!("found {speed} m/s: expected {expected}"));
    (0.0..=500.0).contains(&speed).then_some(speed).ok_or_else(refused)
}

fn some_speed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    speed(deserializer).map(Some)
}

/// Where a user's channel comes from.
#[derive(Debug, Clone)]
enum RadioConfig {
    Mean(Bitrate),
    Trace(TraceConfig),
}

impl<'de> Deserialize<'de> for RadioConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RadioVisitor;
        impl<'de> Visitor<'de> for RadioVisitor {
            type Value = RadioConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mean rate such as \"20 Mbit/s\", or a trace { file = \"drive.down\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RadioConfig, E> {
                text.parse().map(RadioConfig::Mean).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RadioConfig, A::Error> {
                TraceConfig::deserialize(MapAccessDeserializer::new(map)).map(RadioConfig::Trace)
            }
        }
        deserializer.deserialize_any(RadioVisitor)
    }
}

impl CellularConfig {
    /// The cell with its defaults and its recordings; `read` gives the text of a file, or says why it cannot.
    ///
    /// # Errors
    /// Names the key of the scenario and what would be valid there.
    pub fn plan_with(
        &self,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<CellularPlan, CellError> {
        let mut users = Vec::new();
        for (index, user) in self.user.iter().enumerate() {
            let mut radio = |key: &str, own: &Option<RadioConfig>, shared: Option<Bitrate>| {
                self.radio(user, own.as_ref().or(shared.map(RadioConfig::Mean).as_ref()), read)
                    .map_err(|problem| CellError::new(format!("user.{index}.{key}"), problem))
            };
            users.push(User {
                name: user.name.clone(),
                downlink: radio("downlink", &user.downlink, self.downlink)?,
                uplink: radio("uplink", &user.uplink, self.uplink)?,
                queue: self.queue_or(&user.queue),
            });
        }
        let plan = CellularPlan {
            base_queue: self.queue_or(&self.base.queue),
            users,
            harq: self.harq,
            averaging: self.averaging,
            delay: self.delay,
            access: self.access,
            background: self.background()?,
        };
        plan.check()?;
        Ok(plan)
    }

    /// What has waited for 300 ms is dropped by default: RFC 8867 section 4's queue whatever the share of the user, as
    /// the discard timer of a radio bearer does it.
    fn queue_or(&self, own: &Option<QueueConfig>) -> QueueConfig {
        let sojourn = Some(TimeDelta::from_millis(300));
        let default = || QueueConfig::DropTail(DropTailConfig { sojourn, ..DropTailConfig::default() });
        own.clone().or_else(|| self.queue.clone()).unwrap_or_else(default)
    }

    fn radio(
        &self,
        user: &UserConfig,
        channel: Option<&RadioConfig>,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Radio, String> {
        match channel {
            Some(RadioConfig::Trace(trace)) => {
                trace.load(read).map(Radio::Trace).map_err(|error| error.to_string())
            }
            Some(&RadioConfig::Mean(mean)) => {
                let speed = user.speed.unwrap_or(self.speed);
                Ok(Radio::Fading(Fading { mean, snr: user.snr.unwrap_or(self.snr), speed }))
            }
            None => {
                Err("expected a mean rate or a trace here, or a rate for all users in the cell".to_owned())
            }
        }
    }

    fn background(&self) -> Result<Background, CellError> {
        let Some(BackgroundConfig { intensity, stay, demand }) = self.background else {
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
        let channel = |mean| Fading { mean, snr: self.snr, speed: self.speed };
        let arrivals = intensity / CELLS_OF_RFC_8869;
        Ok(Background { arrivals, stay, demand, channel: [channel(down), channel(up)] })
    }
}

/// One cell of a cellular network, checked: a base and its users.
#[derive(Debug, Clone)]
pub struct CellularPlan {
    /// The queue that the base holds for each user.
    pub base_queue: QueueConfig,
    /// Port *i* + 1 is user *i*'s.
    pub users: Vec<User>,
    /// Hybrid ARQ.
    pub harq: Harq,
    /// Memory of the proportional fair scheduler's averages.
    pub averaging: TimeDelta,
    /// Decoding and passing on, one way, behind the TTI.
    pub delay: TimeDelta,
    /// From the first packet of an idle user until it may send it: scheduling request and grant.
    pub access: TimeDelta,
    /// Others in the cell.
    pub background: Background,
}

/// A user of the cell.
#[derive(Debug, Clone)]
pub struct User {
    /// Its name in reports.
    pub name: String,
    /// From the base to the user.
    pub downlink: Radio,
    /// From the user to the base.
    pub uplink: Radio,
    /// The queue of what it sends.
    pub queue: QueueConfig,
}

/// Hybrid ARQ: blocks come with errors and are sent again.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Harq {
    /// Probability that a transmission fails, at most a half.
    #[serde(deserialize_with = "crate::text::probability")]
    pub error: Probability,
    /// From a transmission to the next of the same block.
    pub round_trip: TimeDelta,
    /// Transmissions of a block, from 1.
    pub attempts: u32,
    /// What becomes of a block after the last.
    pub residual: Residual,
}

impl Default for Harq {
    fn default() -> Self {
        Self {
            error: Probability::clamped(0.1),
            round_trip: TimeDelta::from_millis(8),
            attempts: 4,
            residual: Residual::default(),
        }
    }
}

/// What the layer above HARQ does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Residual {
    /// It is requested again (RLC acknowledged mode, the default bearer's): after a status report the block is sent anew.
    #[default]
    Repaired,
    /// It goes on without (RLC unacknowledged mode): every packet with octets in the block is lost.
    Lost,
}

/// Users without packets, who only take their share: they come at random, stay and go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Background {
    /// Arrivals a second into this cell.
    pub arrivals: f64,
    /// How long each stays; RFC 8869 section 3.1.2 has 30 s.
    pub stay: TimeDelta,
    /// The demand of each, one way; the same both ways.
    pub demand: Bitrate,
    /// Their channels, down and up, each fading by itself.
    pub channel: [Fading; 2],
}

impl CellularPlan {
    /// Whether the parts fit together.
    ///
    /// # Errors
    /// Names the key of the scenario and what would be valid there.
    pub fn check(&self) -> Result<(), CellError> {
        let most = usize::from(u16::MAX) - 1;
        let count = self.users.len();
        let Harq { error, round_trip, attempts, .. } = self.harq;
        let Background { arrivals, stay, .. } = self.background;
        let time = |span: TimeDelta| !span.is_negative() && span <= TimeDelta::from_secs(10);
        let require = |key: &str, holds: bool, problem: String| {
            if holds { Ok(()) } else { Err(CellError::new(key, problem)) }
        };
        require("user", (1..=most).contains(&count), format!("found {count}: expected 1 to {most}"))?;
        require("harq.error", error.get() <= 0.5, format!("found {}: expected 0 to 0.5", error.get()))?;
        require(
            "harq.attempts",
            (1..=16).contains(&attempts),
            format!("found {attempts}: expected 1 to 16"),
        )?;
        let whole = round_trip > TimeDelta::ZERO && round_trip <= TimeDelta::from_millis(100);
        require("harq.round_trip", whole, format!("found {round_trip}: expected above 0 s, at most 100 ms"))?;
        for (key, span) in [("delay", self.delay), ("access", self.access)] {
            require(key, time(span), format!("found {span}: expected 0 s to 10 s"))?;
        }
        let averages = self.averaging >= TimeDelta::from_millis(1);
        require("averaging", averages, format!("found {}: expected at least 1 ms", self.averaging))?;
        for (index, user) in self.users.iter().enumerate() {
            for (key, radio, queue, queue_key) in [
                ("downlink", &user.downlink, &self.base_queue, "base.queue".to_owned()),
                ("uplink", &user.uplink, &user.queue, format!("user.{index}.queue")),
            ] {
                radio.check().map_err(|problem| CellError::new(format!("user.{index}.{key}"), problem))?;
                queue.check(radio.nominal()).map_err(|error| CellError::new(queue_key, error.to_string()))?;
            }
        }
        let others = arrivals * stay.as_secs_f64();
        let bearable = (0.0..=1000.0).contains(&others);
        require("background", bearable, format!("{others} others in the mean: expected at most 1000"))
    }
}
