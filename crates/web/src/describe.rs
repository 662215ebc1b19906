//! What a page offers: scenarios, controllers, and the link that its sliders change.

use seaway_control::{ControllerInfo, Registry};
use seaway_lab::compare::flow_metrics;
use seaway_lab::library::{self, BundledScenario};
use seaway_lab::scenario::{Flow, FlowKind, Link, Scenario, SourceConfig};
use seaway_link::{JitterConfig, LossConfig, QueueConfig};
use seaway_report::Metric;
use seaway_units::TimeDelta;
use serde::Serialize;

/// The scenarios of the library, the controllers, and the metrics of a run in their order.
#[derive(Debug, Serialize)]
pub(crate) struct Listing {
    seaway: &'static str,
    scenarios: Vec<ListedScenario>,
    controls: Vec<ListedControl>,
    metrics: Vec<Metric>,
}

#[derive(Debug, Serialize)]
struct ListedScenario {
    name: &'static str,
    /// The folder: `networks`.
    group: &'static str,
    about: String,
    text: &'static str,
}

#[derive(Debug, Serialize)]
struct ListedControl {
    name: &'static str,
    source: &'static str,
}

impl Listing {
    pub(crate) fn new() -> Self {
        let control = |info: &ControllerInfo| ListedControl { name: info.name, source: info.source };
        Self {
            seaway: seaway_report::VERSION,
            scenarios: library::entries().iter().filter_map(ListedScenario::of).collect(),
            controls: Registry::builtin().controllers().iter().map(control).collect(),
            metrics: flow_metrics().collect(),
        }
    }
}

impl ListedScenario {
    /// A scenario that runs without the bundled clip, which a page does not have.
    fn of(entry: &BundledScenario) -> Option<Self> {
        let scenario = entry.parse(&[]).ok().filter(|scenario| !scenario.flows.iter().any(is_of_clip))?;
        let about = scenario.about.unwrap_or_default();
        Some(Self { name: entry.name, group: entry.group(), about, text: entry.text })
    }
}

fn is_of_clip(flow: &Flow) -> bool {
    let source = match &flow.kind {
        FlowKind::Media(media) => Some(&media.source),
        FlowKind::Window(window) => window.source.as_ref(),
        FlowKind::Tcp(_) | FlowKind::Udp(_) => None,
    };
    matches!(source, Some(SourceConfig::Shaper { file: None, .. } | SourceConfig::Clip { file: None, .. }))
}

/// A scenario.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    name: String,
    about: Option<String>,
    duration_s: f64,
    /// The media flows, as the summary names them.
    flows: Vec<FlowDescription>,
    /// The link with a recorded capacity, else that with the lowest first rate; absent where there is none, such as in a cell.
    link: Option<LinkDescription>,
}

/// A media flow.
#[derive(Debug, Serialize)]
struct FlowDescription {
    name: String,
    /// The entry of the scenario; several flows come of one with a `count`.
    entry: String,
    control: String,
}

/// What the sliders change. A value is absent where the scenario's cannot be said by one number.
#[derive(Debug, Serialize)]
struct LinkDescription {
    name: String,
    rate_bps: Option<u64>,
    /// The rate changes, or follows a trace.
    varies: bool,
    /// The capacity is recorded, and no rate replaces it.
    is_trace: bool,
    delay_ms: f64,
    jitter_ms: Option<f64>,
    loss: Option<f64>,
    /// The loss has a mean and a length of bursts.
    is_bursty: bool,
    queue_ms: Option<f64>,
}

impl Description {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let flows = scenario.flows.iter().filter_map(|flow| match &flow.kind {
            FlowKind::Media(media) => Some(FlowDescription {
                name: flow.name.clone(),
                entry: flow.name.split('#').next().unwrap_or_default().to_owned(),
                control: media.control.to_string(),
            }),
            _ => None,
        });
        let slowest = scenario.links.iter().min_by_key(|link| link.forward.config.rate);
        Self {
            name: scenario.name.clone(),
            about: scenario.about.clone(),
            duration_s: scenario.duration.as_secs_f64(),
            flows: flows.collect(),
            link: slowest.map(LinkDescription::of),
        }
    }
}

impl LinkDescription {
    fn of(link: &Link) -> Self {
        let config = &link.forward.config;
        let is_trace = config.trace.is_some();
        Self {
            name: link.name.clone(),
            rate_bps: config.rate.map(seaway_units::Bitrate::as_bps),
            varies: is_trace || !config.steps.is_empty(),
            is_trace,
            delay_ms: config.delay.as_millis_f64(),
            jitter_ms: match config.jitter {
                None => Some(0.0),
                Some(JitterConfig::Rfc8868 { std, .. } | JitterConfig::Reordering { std, .. }) => {
                    Some(std.as_millis_f64())
                }
            },
            loss: match &config.loss {
                None => Some(0.0),
                Some(LossConfig::Independent { rate, .. }) => Some(*rate),
                Some(LossConfig::Periodic { every, .. }) => Some(1.0 / *every as f64),
                Some(LossConfig::GilbertElliott { mean, .. }) => *mean,
                Some(_) => None,
            },
            is_bursty: matches!(&config.loss, Some(LossConfig::GilbertElliott { mean: Some(_), .. })),
            queue_ms: match &config.queue {
                Some(QueueConfig::DropTail(queue)) => queue.time.map(TimeDelta::as_millis_f64),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_lab::scenario::Text;

    #[test]
    fn the_link_of_a_lossy_network() {
        let scenario = library::find("lossy-wifi").unwrap().parse(&[]).unwrap();
        let description = Description::of(&scenario);
        assert_eq!(description.flows[0].entry, "video");
        let link = description.link.unwrap();
        assert_eq!((link.rate_bps, link.delay_ms, link.jitter_ms), (Some(6_000_000), 20.0, Some(0.0)));
        assert_eq!((link.loss, link.is_bursty, link.queue_ms), (Some(0.02), true, Some(200.0)));
        assert!(!link.varies);
    }

    #[test]
    fn flows_of_one_entry_name_it() {
        let scenarios = library::entries();
        let counted = scenarios.iter().find(|entry| entry.text.contains("\ncount = "));
        let description = Description::of(&counted.unwrap().parse(&[]).unwrap());
        for flow in description.flows {
            assert!(!flow.entry.contains('#') && flow.name.starts_with(&flow.entry), "{flow:?}");
        }
    }

    #[test]
    fn a_cell_alone_has_no_link_to_change() {
        let text = r#"
            schema = 1
            name = "cell"
            duration = "5 s"
            [[wlan]]
            name = "cell"
            standard = "802.11n"
            mcs = 11
            ap = { name = "ap" }
            plan = { kind = "circle", count = 1, radius = "10 m" }
            [[flow]]
            name = "video"
            kind = "media"
            control = "nada"
            source = { kind = "frames" }
            from = "ap"
            to = "sta0"
        "#;
        let scenario = Scenario::parse(Text::alone("cell.toml", text), &[]).unwrap();
        assert!(Description::of(&scenario).link.is_none());
    }

    #[test]
    fn the_listing_says_what_each_scenario_is() {
        let Listing { scenarios, controls, metrics, .. } = Listing::new();
        assert!(scenarios.iter().all(|scenario| !scenario.about.is_empty() && !scenario.group.is_empty()));
        let names: Vec<_> = scenarios.iter().map(|scenario| scenario.name).collect();
        assert!(names.contains(&"s002-bottleneck") && !names.contains(&"s002-shaper"));
        assert!(controls.iter().any(|control| control.name == "seaway") && metrics.len() > 5);
    }
}
