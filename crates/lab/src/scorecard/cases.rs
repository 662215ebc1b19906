//! The cases of a scorecard: the scenarios of two RFCs, points on curves, and networks with bars.

use super::bars::{self, Bar};
use crate::library;
use crate::scenario::{FlowKind, Override, Scenario, SourceConfig};
use crate::source::ClipLadder;
use seaway_control::{Registry, nearest};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A set of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// Wired networks: RFC 8867.
    Rfc8867,
    /// Cellular networks and Wi-Fi: RFC 8869.
    Rfc8869,
    /// One network, of which loss, jitter and capacity change.
    Curves,
    /// What a controller is accepted by, with bars.
    Acceptance,
    /// Loss in episodes as it is measured, with bars.
    RealLoss,
    /// What broke controllers in the field, with bars.
    Traps,
}

impl Suite {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Rfc8867, Self::Rfc8869, Self::Curves, Self::Acceptance, Self::RealLoss, Self::Traps];
    /// Those that compare controllers without bars.
    pub const COMPARED: [Self; 3] = [Self::Rfc8867, Self::Rfc8869, Self::Curves];

    /// Whether its networks have bars, which a controller reaches or misses.
    pub const fn has_bars(self) -> bool {
        matches!(self, Self::Acceptance | Self::RealLoss | Self::Traps)
    }

    /// Its name on the command line and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc8867 => "rfc8867",
            Self::Rfc8869 => "rfc8869",
            Self::Curves => "curves",
            Self::Acceptance => "acceptance",
            Self::RealLoss => "real-loss",
            Self::Traps => "traps",
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Suite {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.into_iter().map(Self::name);
        Self::ALL
            .into_iter()
            .find(|suite| suite.name() == text)
            .ok_or_else(|| format!("{text:?}: no such suite; {}", nearest(text, known())))
    }
}

/// What changes along a curve, and where it is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Curve {
    /// Its name in documents.
    pub name: &'static str,
    /// What changes.
    pub label: &'static str,
    /// The unit of that.
    pub unit: &'static str,
    points: &'static [f64],
    /// What makes the network of a point.
    change: fn(f64) -> String,
}

const LOSSES: &[f64] = &[0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0];

/// The curves.
pub const CURVES: &[Curve] = &[
    Curve {
        name: "loss",
        label: "random loss",
        unit: "%",
        points: LOSSES,
        change: |percent| format!("loss={{ kind = 'independent', rate = {} }}", percent / 100.0),
    },
    Curve {
        name: "burst",
        label: "loss in bursts of 4 (Gilbert-Elliott)",
        unit: "%",
        points: LOSSES,
        change: |percent| {
            format!("loss={{ kind = 'gilbert-elliott', mean = {}, burst = 4 }}", percent / 100.0)
        },
    },
    Curve {
        name: "jitter",
        label: "jitter, standard deviation",
        unit: "ms",
        points: &[0.0, 5.0, 10.0, 15.0, 20.0, 30.0],
        change: |ms| format!("jitter={{ kind = 'rfc8868', std = '{ms} ms' }}"),
    },
    Curve {
        name: "drop",
        label: "capacity that is left from 20 s to 40 s",
        unit: "%",
        points: &[100.0, 75.0, 50.0, 30.0, 20.0, 10.0],
        change: |percent| format!("steps=[['20 s', '{} kbit/s'], ['40 s', '3 Mbit/s']]", percent * 30.0),
    },
];

/// The network of the curves.
const CURVE_NETWORK: &str = "scorecard-curve";

/// One network with its flows.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) suite: Suite,
    pub(super) name: String,
    pub(super) about: String,
    /// Where it stands on which curve.
    pub(super) point: Option<(&'static Curve, f64)>,
    pub(super) scenario: Scenario,
    /// The row of its suite that it belongs to, and what must be reached in it.
    pub(super) row: Option<RowName>,
    pub(super) bars: Vec<Bar>,
}

/// A row of a suite with bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowName {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
}

/// The cases of these suites. Video is the pre-encoded ladder of the bundled clip, so that quality can be modelled.
pub(super) fn cases(registry: &Registry, suites: &[Suite]) -> Result<Vec<Case>, String> {
    let ladder = Arc::new(ClipLadder::bundled()?);
    let mut cases = Vec::new();
    for &suite in suites {
        match suite {
            Suite::Rfc8867 | Suite::Rfc8869 => {
                let prefix = format!("{suite}-");
                for entry in library::entries().iter().filter(|entry| entry.name.starts_with(&prefix)) {
                    let scenario = entry.parse_with(registry, &[]).map_err(|error| error.to_string())?;
                    let name = entry.name[prefix.len()..].to_owned();
                    cases.push(case(suite, name, None, scenario, &ladder));
                }
            }
            Suite::Curves => {
                for curve in CURVES {
                    for &x in curve.points {
                        let scenario = on_curve(registry, curve, x)?;
                        let name = format!("{}-{x}", curve.name);
                        cases.push(case(suite, name, Some((curve, x)), scenario, &ladder));
                    }
                }
            }
            Suite::Acceptance | Suite::RealLoss | Suite::Traps => {
                for row in bars::rows(suite) {
                    let name = RowName { name: row.name, about: row.about };
                    for network in row.networks {
                        let scenario = network.scenario(registry)?;
                        let case = case(suite, network.name, None, scenario, &ladder);
                        cases.push(Case { row: Some(name), bars: network.bars, ..case });
                    }
                }
            }
        }
    }
    Ok(cases)
}

fn on_curve(registry: &Registry, curve: &Curve, x: f64) -> Result<Scenario, String> {
    // Nothing lost, no jitter: the network as it is.
    let change = (x > 0.0).then(|| format!("link.bottleneck.{}", (curve.change)(x)).parse::<Override>());
    let changes: Vec<Override> = change.into_iter().collect::<Result<_, _>>()?;
    library::find(CURVE_NETWORK)?.parse_with(registry, &changes).map_err(|error| error.to_string())
}

fn case(
    suite: Suite,
    name: String,
    point: Option<(&'static Curve, f64)>,
    mut scenario: Scenario,
    ladder: &Arc<ClipLadder>,
) -> Case {
    scenario.expect.clear();
    for flow in &mut scenario.flows {
        if let FlowKind::Media(media) = &mut flow.kind
            && match media.source {
                SourceConfig::Ladder { .. } => true,
                SourceConfig::Frames { .. } => !suite.has_bars(),
                _ => false,
            }
        {
            media.source = SourceConfig::Ladder { file: None, ladder: Some(Arc::clone(ladder)) };
        }
    }
    let about = match point {
        Some((curve, x)) => format!("{}: {x} {}", curve.label, curve.unit),
        None => scenario.about.clone().unwrap_or_default(),
    };
    Case { suite, name, about, point, scenario, row: None, bars: Vec::new() }
}
