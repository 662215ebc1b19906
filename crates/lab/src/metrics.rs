//! The numbers of a summary: their names, units and meaning.

use crate::scenario::Scenario;
use seaway_control::registry::nearest;

/// What a metric belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The run as a whole: `fairness.jain`.
    Run,
    /// A flow: `flow.video.received_bps`.
    Flow,
    /// A link: `link.bottleneck.utilisation`.
    Link,
}

/// A number of a summary, or a group of numbers with the same unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// What it belongs to.
    pub scope: Scope,
    /// Its key.
    pub name: &'static str,
    /// The keys inside it; empty for a single number.
    pub parts: &'static [&'static str],
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// What it says.
    pub about: &'static str,
}

const SPREAD: &[&str] = &["mean", "p50", "p95", "p99", "max"];

const fn metric(scope: Scope, name: &'static str, unit: &'static str, about: &'static str) -> Metric {
    Metric { scope, name, parts: &[], unit, about }
}

const fn group(
    scope: Scope,
    name: &'static str,
    parts: &'static [&'static str],
    unit: &'static str,
    about: &'static str,
) -> Metric {
    Metric { scope, name, parts, unit, about }
}

/// Every metric, in the order of the summary.
pub const METRICS: &[Metric] = &[
    metric(Scope::Run, "simulated_s", "s", "length of the run"),
    metric(Scope::Run, "events", "", "wake-ups and deliveries of the simulator"),
    group(
        Scope::Run,
        "fairness",
        &["jain"],
        "",
        "Jain's index over the received rates of the media and TCP flows",
    ),
    metric(Scope::Flow, "measured_s", "s", "span over which the flow is measured, without warm-up"),
    metric(Scope::Flow, "sent_bps", "bit/s", "IP bits sent, every copy"),
    metric(Scope::Flow, "received_bps", "bit/s", "IP bits received, every copy"),
    metric(
        Scope::Flow,
        "goodput_bps",
        "bit/s",
        "IP bits in order (tcp) or bits of displayable frames (media), once",
    ),
    group(
        Scope::Flow,
        "packets",
        &["sent", "received", "lost_queue", "lost_channel", "late", "repaired"],
        "",
        "packets by what became of them",
    ),
    metric(Scope::Flow, "loss_ratio", "", "lost packets over those whose fate is known, before repair"),
    metric(Scope::Flow, "residual_loss_ratio", "", "the same after repair"),
    metric(Scope::Flow, "loss_event_rate", "", "the controller's loss event rate at the end (RFC 5348)"),
    metric(Scope::Flow, "feedback_bps", "bit/s", "IP bits of feedback received by the sender"),
    metric(Scope::Flow, "repair_bps", "bit/s", "IP bits of retransmission sent"),
    metric(
        Scope::Flow,
        "convergence_s",
        "s",
        "from its start until its rate in 1 s bins keeps within a tenth of its fair share for 5 s",
    ),
    group(Scope::Flow, "lanes", &["mean", "max"], "", "connections inside the flow"),
    metric(Scope::Flow, "decisions", "", "rate changes with a cause"),
    group(Scope::Flow, "rtt_ms", SPREAD, "ms", "round-trip time as the sender measured it"),
    group(
        Scope::Flow,
        "path_rtt_ms",
        SPREAD,
        "ms",
        "one-way delay of data plus that of the latest feedback, per packet",
    ),
    group(Scope::Flow, "path_delay_ms", SPREAD, "ms", "from sending to arrival, per packet"),
    group(Scope::Flow, "path_jitter_ms", SPREAD, "ms", "by how much that differs from the packet before"),
    metric(Scope::Flow, "path_rise_ms", "ms", "the most by which a packet took longer than the one before"),
    group(Scope::Flow, "queue_delay_ms", SPREAD, "ms", "waiting in all queues on the way there, per packet"),
    group(
        Scope::Flow,
        "rate_cov",
        &["sent", "received"],
        "",
        "coefficient of variation of the rate in 0.5 s bins",
    ),
    group(
        Scope::Flow,
        "frames",
        &["captured", "displayed", "late", "lost", "skipped"],
        "",
        "frames by what became of them",
    ),
    group(Scope::Flow, "delay_ms", SPREAD, "ms", "from capture to display"),
    group(Scope::Flow, "freezes", &["count", "total_s"], "", "gaps between displayed frames (webrtc-stats)"),
    group(
        Scope::Flow,
        "psnr_db",
        &["value"],
        "",
        "luma PSNR in dB of what was shown against what was captured, repeats counted",
    ),
    group(
        Scope::Flow,
        "encoder",
        &["out_over_asked", "within_tenth", "worst", "left_out"],
        "",
        "bits out over bits asked in 1 s windows; the largest deviation; the part left out, quantiser at a bound",
    ),
    group(
        Scope::Flow,
        "tcp",
        &["timeouts", "recoveries", "mark_reductions", "transfers", "transfer_s"],
        "",
        "expired timers, recoveries without one, reductions for a mark; completed transfers, their mean time",
    ),
    group(
        Scope::Flow,
        "buffer",
        &["offered_bytes", "refused_events", "refused_bytes", "stalls"],
        "",
        "the receiver's bounded buffer",
    ),
    metric(Scope::Link, "utilisation", "", "busy time over time, weighed by the rate where it varies"),
    group(Scope::Link, "drops", &["queue", "aqm", "channel"], "", "packets dropped, by cause"),
    metric(Scope::Link, "marks", "", "packets marked CE"),
    group(Scope::Link, "queue", &["mean", "max"], "", "packets waiting, the one in service left out"),
];

/// The metric that a path of a scenario names.
///
/// # Errors
/// Says which part is unknown and what would be valid.
pub fn resolve(path: &str, scenario: &Scenario) -> Result<&'static Metric, String> {
    let parts: Vec<&str> = path.split('.').collect();
    let (scope, keys) = match parts[..] {
        ["flow", name, ref keys @ ..] => {
            known("flow", name, scenario.flows.iter().map(|flow| flow.name.as_str()))?;
            (Scope::Flow, keys)
        }
        ["link", name, ref keys @ ..] => {
            let names = crate::build::link_names(scenario);
            known("link", name, names.iter().map(String::as_str))?;
            (Scope::Link, keys)
        }
        _ => (Scope::Run, &parts[..]),
    };
    let (key, inside) = keys.split_first().ok_or_else(|| format!("`{path}` names no number"))?;
    let names = || METRICS.iter().filter(|metric| metric.scope == scope).map(|metric| metric.name);
    let metric = METRICS
        .iter()
        .find(|metric| metric.scope == scope && metric.name == *key)
        .ok_or_else(|| format!("unknown metric `{key}`; {}", nearest(key, names())))?;
    match inside {
        [] if metric.parts.is_empty() => Ok(metric),
        [part] if metric.parts.contains(part) => Ok(metric),
        _ if metric.parts.is_empty() => Err(format!("`{key}` is a single number")),
        _ => Err(format!("`{key}` has the parts {}", metric.parts.join(", "))),
    }
}

fn known<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), String> {
    if names.clone().any(|known| known == name) {
        return Ok(());
    }
    Err(format!("there is no {what} named `{name}`; {}", nearest(name, names)))
}
