//! The text form of queues.

use seaway_units::{DataSize, TimeDelta};
use serde::Deserialize;

/// The discipline in front of a transmitter, as a scenario writes it: `{ kind = "drop-tail", packets = 100 }`.
///
/// Every kind takes a [`LimitConfig`]'s keys beside its own; all but drop-tail have a limit of their own where none
/// is given. `mark` means that packets whose sender takes part in ECN are marked where others would be dropped.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    expecting = "a queue such as { kind = \"drop-tail\", packets = 100 }"
)]
pub enum QueueConfig {
    /// What does not fit is refused.
    DropTail(DropTailConfig),
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay, RFC 8289.
    #[serde(rename = "codel")]
    CoDel(CoDelConfig),
    /// CoDel for each of many flows, RFC 8290.
    #[serde(rename = "fq-codel")]
    FqCoDel(FqCoDelConfig),
    /// RFC 8033.
    Pie(PieConfig),
    /// RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
}

impl QueueConfig {
    /// The keys that `kind` takes beside itself, a limit's first; those of every kind where there is no such kind.
    pub fn keys(kind: &str) -> &'static [&'static str] {
        const LIMIT: [&str; 6] = ["packets", "packets_waiting", "bytes", "time", "count_in_service", "live"];
        /// A limit's keys and others.
        macro_rules! keys {
            ($($own:literal),*) => { &[LIMIT[0], LIMIT[1], LIMIT[2], LIMIT[3], LIMIT[4], LIMIT[5], $($own),*] };
        }
        match kind {
            "drop-tail" => keys!["sojourn", "drop_front", "room"],
            "red" => keys![
                "preset",
                "min",
                "max",
                "max_p",
                "weight",
                "gentle",
                "wait",
                "byte_mode",
                "mean_packet",
                "adaptive",
                "mark",
                "mark_below"
            ],
            "codel" => keys!["target", "interval", "max_packet", "mark", "ce_threshold"],
            "fq-codel" => {
                keys!["flows", "quantum", "target", "interval", "max_packet", "mark", "ce_threshold"]
            }
            "pie" => keys!["target", "update", "max_burst", "measure", "mark", "mark_below", "cap"],
            "dualpi2" => {
                keys!["target", "max_rtt", "coupling", "min_threshold", "range", "scheduler", "mark"]
            }
            _ => &LIMIT,
        }
    }
}

/// How much a queue holds: one of `packets`, `packets_waiting`, `bytes` and `time`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LimitConfig {
    /// Packets, the one in service included.
    pub packets: Option<u64>,
    /// Packets that wait, the one in service not included.
    pub packets_waiting: Option<u64>,
    /// Octets that wait.
    pub bytes: Option<DataSize>,
    /// What the link carries in this time at its first rate.
    pub time: Option<TimeDelta>,
    /// For `bytes` and `time`: the packet in service counts too.
    pub count_in_service: bool,
    /// For `time`: at the present rate, not at the first.
    pub live: bool,
}

/// Drop-tail: a limit, or a lifetime, or both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DropTailConfig {
    /// When it is full.
    #[serde(flatten)]
    pub limit: LimitConfig,
    /// Packets older than this are dropped when their turn comes. Alone, it stands with
    /// [`DropTailConfig::HARD_LIMIT`].
    pub sojourn: Option<TimeDelta>,
    /// On overflow, drop the oldest and not the newest.
    pub drop_front: bool,
    /// For `bytes` and `time`: a packet is let in while so much would fit, though it be smaller. Devices stop their
    /// queue while a full packet would not fit, those of ns-3 among them.
    pub room: Option<DataSize>,
}

/// RED. What is absent comes from the preset. 250 packets wait at most where no limit is given.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RedConfig {
    /// When it is full.
    #[serde(flatten)]
    pub limit: LimitConfig,
    /// Where the values come from that are not given.
    pub preset: RedPreset,
    /// Average length from which on packets are dropped, in packets (of the mean size in byte mode).
    pub min: Option<f64>,
    /// Average length at which the drop probability reaches `max_p`.
    pub max: Option<f64>,
    /// Drop probability at `max`.
    pub max_p: f64,
    /// Weight of an arrival in the average, w_q.
    pub weight: Option<f64>,
    /// From `max` to twice `max` the probability rises to 1 and does not jump there.
    pub gentle: Option<bool>,
    /// At least 1/p packets pass between two early drops.
    pub wait: Option<bool>,
    /// Length and drop probability count octets in units of `mean_packet`.
    pub byte_mode: bool,
    /// The packet size that stands for all.
    pub mean_packet: DataSize,
    /// `max_p` follows the load.
    pub adaptive: bool,
    /// Mark instead of dropping.
    pub mark: bool,
    /// From this drop probability on, packets are dropped and not marked.
    pub mark_below: f64,
}

/// Sets of values for RED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RedPreset {
    /// As comparisons with ns-2 set it: 25, 125, weight 0.002, gentle, wait.
    #[default]
    Ns2C,
    /// As ns-2 sets itself from rate and delay of the link; gentle, wait.
    Auto,
    /// As RFC 2309 outlines it: weight 0.002, neither gentle nor wait; thresholds must be given.
    Rfc2309,
}

/// CoDel. 1000 packets wait at most where no limit is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoDelConfig {
    /// When it is full.
    #[serde(flatten)]
    pub limit: LimitConfig,
    /// Acceptable standing wait.
    pub target: TimeDelta,
    /// A worst-case round trip.
    pub interval: TimeDelta,
    /// With no more than this left behind, a long wait is not held against the queue.
    pub max_packet: DataSize,
    /// Mark instead of dropping.
    pub mark: bool,
    /// Packets that waited longer are marked at once, where their sender takes part in ECN.
    pub ce_threshold: Option<TimeDelta>,
}

/// FQ-CoDel. 10 240 packets wait at most where no limit is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FqCoDelConfig {
    /// When it is full.
    #[serde(flatten)]
    pub limit: LimitConfig,
    /// Queues over which flows are spread.
    pub flows: usize,
    /// What one round gives a flow.
    pub quantum: DataSize,
    /// As for CoDel.
    pub target: TimeDelta,
    /// As for CoDel.
    pub interval: TimeDelta,
    /// As for CoDel.
    pub max_packet: DataSize,
    /// Mark instead of dropping.
    pub mark: bool,
    /// As for CoDel.
    pub ce_threshold: Option<TimeDelta>,
}

/// PIE. 1000 packets wait at most where no limit is given.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PieConfig {
    /// When it is full.
    #[serde(flatten)]
    pub limit: LimitConfig,
    /// Reference delay, QDELAY_REF.
    pub target: TimeDelta,
    /// Time between two updates, T_UPDATE.
    pub update: TimeDelta,
    /// Bursts up to this are left alone, MAX_BURST.
    pub max_burst: TimeDelta,
    /// How the delay is known.
    pub measure: PieMeasure,
    /// Mark instead of dropping.
    pub mark: bool,
    /// From this drop probability on, packets are dropped and not marked.
    pub mark_below: f64,
    /// From a drop probability of 0.1 on, no update adds more than 0.02.
    pub cap: bool,
}

/// How PIE knows the queueing delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PieMeasure {
    /// The wait of the packet that left last.
    #[default]
    Timestamp,
    /// Octets waiting over a measured departure rate.
    Rate,
}

/// DualPI2. It holds 250 ms at the first rate where no limit is given.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DualPi2Config {
    /// When the two queues together are full.
    #[serde(flatten)]
    pub limit: LimitConfig,
    /// Delay target of the classic queue.
    pub target: TimeDelta,
    /// Longest round trip that must stay stable.
    pub max_rtt: TimeDelta,
    /// Coupling factor, k.
    pub coupling: f64,
    /// Wait from which on the L queue marks by itself.
    pub min_threshold: TimeDelta,
    /// From there marking rises to certainty over this; zero is a step.
    pub range: TimeDelta,
    /// Which queue is served when both hold packets.
    pub scheduler: DualPi2Scheduler,
    /// Without marking, all packets are classic and none takes part in ECN.
    pub mark: bool,
}

/// Which of DualPI2's queues is served when both hold packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DualPi2Scheduler {
    /// Deficit round robin in octets, fifteen to one for L.
    #[default]
    RoundRobin,
    /// The one whose head is older, L's age counted 50 ms longer.
    TimeShifted,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key that is said to be valid is, and no other would be.
    #[test]
    fn keys_are_those_that_are_read() {
        // A field more here is a key more there.
        let LimitConfig { packets: _, packets_waiting: _, bytes: _, time: _, count_in_service: _, live: _ } =
            LimitConfig::default();
        let fields = [
            ("drop-tail", format!("{:?}", DropTailConfig::default())),
            ("red", format!("{:?}", RedConfig::default())),
            ("codel", format!("{:?}", CoDelConfig::default())),
            ("fq-codel", format!("{:?}", FqCoDelConfig::default())),
            ("pie", format!("{:?}", PieConfig::default())),
            ("dualpi2", format!("{:?}", DualPi2Config::default())),
        ];
        for (kind, debug) in fields {
            let keys = QueueConfig::keys(kind);
            for key in keys {
                assert!(debug.contains(&format!("{key}: ")), "{kind}: {key}");
                let error =
                    toml::from_str::<QueueConfig>(&format!("kind = '{kind}'\n{key} = []")).unwrap_err();
                assert!(!error.message().contains("unknown field"), "{kind}: {key}: {error}");
            }
            // The keys, `limit` itself, and nothing else.
            assert_eq!(debug.matches(": ").count(), keys.len() + 1, "{debug}");
        }
    }
}
