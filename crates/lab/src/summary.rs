//! The summary of a run, as `--json` prints it. What does not apply is left out; there is no NaN.

use seaway_media::encoder::ObedienceReport;
use seaway_units::Probability;
use serde::Serialize;

/// The numbers of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The version of this form.
    pub schema: u32,
    /// The version of Seaway.
    pub seaway: &'static str,
    /// The scenario's name.
    pub scenario: String,
    /// Where all randomness came from.
    pub seed: u64,
    /// How long the run lasted in virtual time.
    pub simulated_s: f64,
    /// Wake-ups and deliveries.
    pub events: u64,
    /// How long it took; the only part that differs from run to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// The scenario's expectations.
    pub expect: Vec<Expectation>,
    /// Among the flows that compete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
    /// One by one.
    pub flows: Vec<FlowSummary>,
    /// One by one, each direction apart.
    pub links: Vec<LinkSummary>,
}

impl Summary {
    /// The version of this form.
    pub const SCHEMA: u32 = 1;

    /// True unless an expectation was missed.
    pub fn holds(&self) -> bool {
        self.expect.iter().all(|expectation| expectation.held)
    }
}

/// How long a run took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Timing {
    /// Seconds on the wall.
    pub wall_s: f64,
}

/// An expectation and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expectation {
    /// The number's path.
    pub of: String,
    /// What it was; absent where it does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// At least, in the metric's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// At most, in the metric's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Whether the value kept both bounds; a value that is absent does not.
    pub held: bool,
}

/// How evenly the flows shared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fairness {
    /// Jain's index of the received rates.
    pub jain: f64,
    /// Which flows.
    pub over: Vec<String>,
}

/// The numbers of a flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// `media`, `tcp`, `udp` or `window`.
    pub kind: &'static str,
    /// The controller, or TCP's algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// The span that the numbers below are about.
    pub measured_s: f64,
    /// IP bits sent a second, every copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_bps: Option<f64>,
    /// IP bits received a second, every copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_bps: Option<f64>,
    /// IP bits a second of segments in order (tcp), payload bits of displayable frames (media), once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Packets by what became of them.
    pub packets: Packets,
    /// Lost packets over those whose fate is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_ratio: Option<f64>,
    /// The same after repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_loss_ratio: Option<f64>,
    /// The controller's loss event rate at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_event_rate: Option<f64>,
    /// IP bits of feedback a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback_bps: Option<f64>,
    /// IP bits of retransmission a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair_bps: Option<f64>,
    /// From its start until its rate keeps within a tenth of its fair share for 5 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub convergence_s: Option<f64>,
    /// Connections inside the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<MeanMax>,
    /// Changes of rate with a cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<u64>,
    /// Round-trip time as the sender measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<Spread>,
    /// Delay there plus delay back of the latest feedback, per packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_rtt_ms: Option<Spread>,
    /// From sending to arrival, per packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_delay_ms: Option<Spread>,
    /// By how much that differs from the packet before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_jitter_ms: Option<Spread>,
    /// The most by which a packet took longer than the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_rise_ms: Option<f64>,
    /// Waiting in all queues on the way there, per packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_delay_ms: Option<Spread>,
    /// Coefficient of variation of the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_cov: Option<RateCov>,
    /// Frames by what became of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// From capture to display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Spread>,
    /// Gaps between displayed frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freezes: Option<Freezes>,
    /// Luma PSNR of what was shown against what was captured, repeats counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psnr_db: Option<Psnr>,
    /// How well the live encoder obeyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<Encoder>,
    /// What TCP did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
    /// The receiver's bounded buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
}

/// A quality and how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Psnr {
    /// In decibels.
    pub value: f64,
    /// `decoded` from pictures, or `modelled` from sizes.
    pub kind: &'static str,
}

/// Bits out of an encoder over bits asked, in windows of one second. Where the mean quantiser stood at a bound, the
/// scene needed less than was asked, or more, and the window says nothing of obedience.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Encoder {
    /// In all windows together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_over_asked: Option<f64>,
    /// Part of the windows inside the bounds that kept within a tenth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_tenth: Option<f64>,
    /// The largest deviation in those windows, as a part of what was asked.
    pub worst: f64,
    /// Part of the windows that were left out, the quantiser being at a bound.
    pub left_out: f64,
}

impl From<ObedienceReport> for Encoder {
    fn from(report: ObedienceReport) -> Self {
        Self {
            out_over_asked: report.ratio(),
            within_tenth: report.within_tenth().map(Probability::get),
            worst: report.worst,
            left_out: report.left_out().get(),
        }
    }
}

/// Packets by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Packets {
    /// Every copy.
    pub sent: u64,
    /// Every copy.
    pub received: u64,
    /// Dropped by a queue, full or managed.
    pub lost_queue: u64,
    /// Lost by a channel.
    pub lost_channel: u64,
    /// Arrived too late to be of use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Lost, and replaced in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repaired: Option<u64>,
}

/// Mean and largest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanMax {
    /// Over time.
    pub mean: f64,
    /// At any time.
    pub max: f64,
}

/// How a quantity is distributed; percentiles are nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Arithmetic.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95 of 100 lie at or below.
    pub p95: f64,
    /// 99 of 100 lie at or below.
    pub p99: f64,
    /// None lies above.
    pub max: f64,
}

/// Coefficient of variation of the rate in 0.5 s bins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateCov {
    /// At the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<f64>,
    /// At the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<f64>,
}

/// Frames by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Frames {
    /// Given by the source.
    pub captured: u64,
    /// Shown.
    pub displayed: u64,
    /// Complete after their time.
    pub late: u64,
    /// Never complete, or of no use without another.
    pub lost: u64,
    /// Left out by the encoder.
    pub skipped: u64,
}

/// Gaps between displayed frames, as webrtc-stats defines them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Freezes {
    /// How many.
    pub count: u64,
    /// How long in all.
    pub total_s: f64,
}

/// What TCP did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tcp {
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Recoveries begun without one.
    pub recoveries: u64,
    /// Reductions of the window for a mark.
    pub mark_reductions: u64,
    /// Transfers that came to their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<u64>,
    /// How long these took, in the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_s: Option<f64>,
}

/// The receiver's bounded buffer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Buffer {
    /// Packets refused because it was full.
    pub refused_events: u64,
    /// Octets that came, whether or not there was room.
    pub offered_bytes: u64,
    /// Octets refused because it was full.
    pub refused_bytes: u64,
    /// Times the player found it empty.
    pub stalls: u64,
    /// Part of the time in each state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_in: Option<TimeIn>,
}

/// Part of the time that a buffer spent in each state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeIn {
    /// Below the low threshold.
    pub underflow: f64,
    /// Between the thresholds.
    pub stable: f64,
    /// Above the high threshold.
    pub overflow: f64,
}

/// The numbers of one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Its name; the way back is `name/back`.
    pub name: String,
    /// Busy time over time, weighed by the rate where it varies.
    pub utilisation: f64,
    /// Packets dropped, by cause.
    pub drops: LinkDrops,
    /// Packets marked CE.
    pub marks: u64,
    /// Packets waiting.
    pub queue: MeanMax,
}

/// Packets dropped by a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LinkDrops {
    /// The queue was full, or they were too old.
    pub queue: u64,
    /// Active queue management.
    pub aqm: u64,
    /// The channel.
    pub channel: u64,
}
