//! The emulated link as a viewer of the page sets it: `link(rate=2 Mbit/s, loss=5 %, delay=40 ms, jitter=10 ms)`.

use crate::failure::Failure;
use seaway_control::Registry;
use seaway_lab::ScenarioFile;
use seaway_lab::scenario::Scenario;
use seaway_units::{Bitrate, TimeDelta};
use std::path::Path;

const EXPECTED: &str = "expected link(rate=2 Mbit/s, loss=5 %, delay=40 ms, jitter=10 ms) with 100 kbit/s to 1 Gbit/s, at most 50 %, 2 s \
                        and 500 ms";

/// The values of a link, the same both ways but for its losses, which are those of the way to the receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HandLink {
    rate: Bitrate,
    /// 0 to 1.
    loss: f64,
    delay: TimeDelta,
    jitter: TimeDelta,
}

impl HandLink {
    /// Whether `text` is meant to be one.
    pub(crate) fn is_meant_by(text: &str) -> bool {
        text.starts_with("link(")
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// What was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        Self::read(text).ok_or_else(|| Failure::input(&EXPECTED))
    }

    fn read(text: &str) -> Option<Self> {
        let values = text.strip_prefix("link(")?.strip_suffix(')')?;
        let mut values = values.split(',').map(|value| value.trim().split_once('='));
        let mut value =
            |name: &str| values.next().flatten().filter(|(key, _)| *key == name).map(|(_, value)| value);
        let rate: Bitrate = value("rate")?.parse().ok()?;
        let loss: f64 = value("loss")?.strip_suffix('%')?.trim().parse().ok()?;
        let delay: TimeDelta = value("delay")?.parse().ok()?;
        let jitter: TimeDelta = value("jitter")?.parse().ok()?;
        let is_last = values.next().is_none();
        let within =
            |time: TimeDelta, millis| (TimeDelta::ZERO..=TimeDelta::from_millis(millis)).contains(&time);
        let is_possible = (Bitrate::from_kbps(100)..=Bitrate::from_mbps(1000)).contains(&rate)
            && (0.0..=50.0).contains(&loss)
            && within(delay, 2000)
            && within(jitter, 500);
        (is_last && is_possible).then_some(Self { rate, loss: loss / 100.0, delay, jitter })
    }

    /// A scenario with this link between sender and receiver.
    ///
    /// # Errors
    /// None for values within their bounds.
    pub(crate) fn scenario(self, seed: u64) -> Result<Scenario, Failure> {
        let Self { rate, loss, delay, jitter } = self;
        let jitter = match jitter {
            TimeDelta::ZERO => String::new(),
            jitter => format!("jitter = {{ kind = \"rfc8868\", std = \"{jitter}\" }}"),
        };
        let text = format!(
            r#"schema = 1
name = "by hand"
duration = "60 s"
seed = {seed}

[[link]]
name = "bottleneck"
from = "server"
to = "client"
both = true
rate = "{rate}"
delay = "{delay}"
{jitter}
queue = {{ kind = "drop-tail", time = "200 ms" }}
loss = {{ kind = "independent", rate = {loss} }}
reverse = {{ loss = {{ kind = "independent", rate = 0 }} }}

[[flow]]
name = "video"
kind = "media"
control = "seaway"
from = "server"
to = "client"
rate = {{ min = "150 kbit/s", start = "300 kbit/s", max = "6 Mbit/s" }}
source = {{ kind = "frames" }}
"#
        );
        let file = ScenarioFile::new("the link", text, Path::new("."));
        file.parse(&Registry::builtin(), &[]).map_err(|error| Failure::input(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_scenario() {
        let scenario = |text: &str| {
            HandLink::parse(text).and_then(|link| link.scenario(7)).map_err(|failure| failure.to_string())
        };
        for text in [
            "link(rate=2 Mbit/s, loss=5 %, delay=40 ms, jitter=10 ms)",
            "link(rate=0.3 Mbit/s,loss=0.5%,delay=0 ms,jitter=0 ms)",
            "link(rate=1000 Mbit/s, loss=50 %, delay=2 s, jitter=500 ms)",
            "link(rate=100 kbit/s, loss=0 %, delay=12.5 ms, jitter=0.5 ms)",
        ] {
            assert_eq!(scenario(text).map(|scenario| scenario.seed), Ok(7), "{text}");
        }
        for text in [
            "link()",
            "link(rate=2 Mbit/s)",
            "link(rate=0.09 Mbit/s, loss=5 %, delay=40 ms, jitter=10 ms)",
            "link(rate=2 Mbit/s, loss=51 %, delay=40 ms, jitter=10 ms)",
            "link(rate=2 Mbit/s, loss=NaN %, delay=40 ms, jitter=10 ms)",
            "link(rate=2 Mbit/s, loss=-1 %, delay=40 ms, jitter=10 ms)",
            "link(rate=2 Mbit/s, loss=5 %, delay=3 s, jitter=10 ms)",
            "link(rate=2 Mbit/s, loss=5 %, delay=40 ms, jitter=10 ms, x=1)",
            "link(loss=5 %, rate=2 Mbit/s, delay=40 ms, jitter=10 ms)",
            "link(rate=2 Mbit/s\", loss=5 %, delay=40 ms, jitter=10 ms)",
        ] {
            assert!(scenario(text).is_err(), "{text}");
        }
    }
}
