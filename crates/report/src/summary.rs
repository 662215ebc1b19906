//! The summary of a run, as `--json` prints it. What does not apply is left out; there is no NaN.
//!
//! A metric is defined here and nowhere else: its field, its unit, its direction and its meaning.

use crate::metric::measured;
use schemars::JsonSchema;
use seaway_quality::statistics::Distribution;
use serde::Serialize;

measured! {
    /// The numbers of a run.
    pub struct Summary {
        /// The version of this form.
        schema: u32,
        /// The version of Seaway.
        seaway: &'static str,
        /// The scenario's name.
        scenario: String,
        /// The seed of all random numbers.
        seed: u64,
        /// length of the run in virtual time
        simulated_s: f64 = "Simulated", Seconds, Neutral,
        /// wake-ups and deliveries of the simulator
        events: u64 = "Events", One, Neutral,
        /// How long the run took; the only part that differs between two runs.
        timing: Option<Timing>,
        /// The scenario's expectations.
        expect: Vec<Expectation>,
        /// how evenly the media and TCP flows share
        fairness: Option<Fairness> = "", One, Neutral,
        /// The flows.
        flows: Vec<FlowSummary>,
        /// The links, each direction apart.
        links: Vec<LinkSummary>,
    }

    /// How long a run took.
    #[derive(Copy)]
    pub struct Timing {
        /// Seconds of wall-clock time.
        wall_s: f64,
    }

    /// How evenly the flows share.
    pub struct Fairness {
        /// Jain's index over the received rates of the media and TCP flows; 1 is even (RFC 5166)
        jain: f64 = "Jain's index", One, Higher,
        /// Which flows.
        over: Vec<String>,
    }

    /// The numbers of a flow.
    #[derive(Default)]
    pub struct FlowSummary {
        /// Its name.
        name: String,
        /// `media`, `tcp`, `udp` or `window`.
        kind: &'static str,
        /// The controller, or TCP's algorithm.
        control: Option<String>,
        /// span over which the flow is measured, without warm-up
        measured_s: f64 = "Measured", Seconds, Neutral,
        /// IP bits sent, every copy
        sent_bps: Option<f64> = "Rate sent", BitsPerSecond, Neutral,
        /// IP bits received, every copy
        received_bps: Option<f64> = "Rate received", BitsPerSecond, Higher,
        /// IP bits in order (tcp) or payload bits of displayable frames (media), each counted once
        goodput_bps: Option<f64> = "Goodput", BitsPerSecond, Higher,
        /// packets by outcome
        packets: Packets = "Packets", One, Neutral,
        /// lost packets over those whose fate is known, before repair
        loss_ratio: Option<f64> = "Packets lost", Ratio, Lower,
        /// lost packets over those whose fate is known, after repair
        residual_loss_ratio: Option<f64> = "Lost after repair", Ratio, Lower,
        /// the controller's loss event rate at the end (RFC 5348)
        loss_event_rate: Option<f64> = "Loss event rate", Ratio, Lower,
        /// loss that the controller holds for the channel's, at the end: slowing down would not lower it
        channel_loss: Option<f64> = "Channel loss reported", Ratio, Neutral,
        /// IP bits of feedback received by the sender
        feedback_bps: Option<f64> = "Feedback rate", BitsPerSecond, Lower,
        /// IP bits of retransmission sent
        repair_bps: Option<f64> = "Repair rate", BitsPerSecond, Lower,
        /// from its start until its rate in 1 s bins keeps within a tenth of its fair share for 5 s
        convergence_s: Option<f64> = "Convergence", Seconds, Lower,
        /// connections inside the flow
        subflows: Option<MeanMax> = "Connections", One, Neutral,
        /// rate changes with a cause
        decisions: Option<u64> = "Changes of the rate", One, Neutral,
        /// round-trip time as the sender measured it
        rtt_ms: Option<Distribution> = "Round trip", Milliseconds, Lower,
        /// one-way delay of data plus that of the latest feedback, per packet
        path_rtt_ms: Option<Distribution> = "Path round trip", Milliseconds, Lower,
        /// from sending to arrival, per packet
        path_delay_ms: Option<Distribution> = "One-way delay", Milliseconds, Lower,
        /// absolute difference between the one-way delays of a packet and the one before
        path_jitter_ms: Option<Distribution> = "Jitter", Milliseconds, Lower,
        /// largest increase of the one-way delay from one packet to the next
        path_rise_ms: Option<f64> = "Largest delay increase", Milliseconds, Lower,
        /// waiting in all queues of the forward path, per packet
        queue_delay_ms: Option<Distribution> = "Queueing", Milliseconds, Lower,
        /// coefficient of variation of the rate in 0.5 s bins
        rate_cov: Option<RateCov> = "", Ratio, Lower,
        /// frames by outcome
        frames: Option<Frames> = "", One, Neutral,
        /// from capture to display
        delay_ms: Option<Distribution> = "Capture to display", Milliseconds, Lower,
        /// from capture to display by the stamp in the picture, where the clocks of both hosts agree
        glass_to_glass_ms: Option<Distribution> = "Glass to glass", Milliseconds, Lower,
        /// sound beside the pictures
        sound: Option<Sound> = "Sound", One, Neutral,
        /// times that the picture on the screen was older than the bound
        stale: Option<Stale> = "", One, Lower,
        /// gaps between displayed frames (webrtc-stats)
        freezes: Option<Freezes> = "", One, Lower,
        /// luma PSNR of the picture on screen against the captured one, repeats counted
        psnr_db: Option<Psnr> = "", Decibels, Higher,
        /// how closely the live encoder keeps its target in windows of 1 s
        encoder: Option<Encoder> = "Encoder", Ratio, Neutral,
        /// events of the TCP sender
        tcp: Option<Tcp> = "TCP", One, Neutral,
        /// the receiver's bounded buffer
        buffer: Option<Buffer> = "Receiver buffer", One, Neutral,
    }

    /// A quality and how it was found.
    #[derive(Copy)]
    pub struct Psnr {
        /// mean over the captured frames
        value: f64 = "PSNR of what was seen", Decibels, Higher,
        /// `decoded` from pictures, or `modelled` from sizes.
        kind: &'static str,
    }

    /// Bits an encoder produced over its target in windows of 1 s. Windows with the quantiser at a bound are left out.
    #[derive(Copy)]
    pub struct Encoder {
        /// bits produced over the target, all windows together
        output_over_target: Option<f64> = "output over target", Ratio, Neutral,
        /// windows within a tenth of the target
        within_tenth: Option<f64> = "within a tenth", Ratio, Higher,
        /// largest deviation of a window from the target
        worst: f64 = "largest deviation", Ratio, Lower,
        /// windows left out because the mean quantiser was at a bound
        left_out: f64 = "left out", Ratio, Neutral,
    }

    /// Packets by outcome.
    #[derive(Copy, Default, Eq)]
    pub struct Packets {
        /// packets sent, every copy
        sent: u64 = "sent", One, Neutral,
        /// packets received, every copy
        received: u64 = "received", One, Neutral,
        /// packets dropped by a full or managed queue
        lost_queue: u64 = "lost in queues", One, Lower,
        /// packets lost by a channel
        lost_channel: u64 = "lost on channels", One, Lower,
        /// packets that arrived too late to be used
        late: Option<u64> = "late", One, Lower,
        /// lost packets that were replaced in time
        repaired: Option<u64> = "repaired", One, Neutral,
    }

    /// Mean over time and largest value.
    #[derive(Copy)]
    pub struct MeanMax {
        /// mean over time
        mean: f64 = "mean", OfGroup, Neutral,
        /// largest value
        max: f64 = "max", OfGroup, Neutral,
    }

    /// Coefficient of variation of the rate in 0.5 s bins.
    #[derive(Copy)]
    pub struct RateCov {
        /// at the sender
        sent: Option<f64> = "Variation of the rate sent", Ratio, Lower,
        /// at the receiver
        received: Option<f64> = "Variation of the rate", Ratio, Lower,
    }

    /// Frames by outcome.
    #[derive(Copy, Default, Eq)]
    pub struct Frames {
        /// frames that were due at the rate of a live source
        due: Option<u64> = "Frames due", One, Higher,
        /// frames from the source
        captured: u64 = "Frames captured", One, Neutral,
        /// frames displayed
        displayed: u64 = "Pictures displayed", One, Higher,
        /// frames received and not displayed, as there is no decoder for them
        undecoded: Option<u64> = "Pictures without a decoder", One, Neutral,
        /// frames complete after their playout time
        late: u64 = "Frames late", One, Lower,
        /// frames never complete, or not decodable without one that is missing
        lost: u64 = "Frames lost", One, Lower,
        /// frames skipped by the encoder
        skipped: u64 = "Frames skipped", One, Lower,
    }

    /// Sound beside the pictures; each frame is a packet.
    #[derive(Copy)]
    pub struct Sound {
        /// frames of sound that left, each once
        sent: u64 = "frames sent", One, Neutral,
        /// frames of sound that never left the send queue
        dropped: u64 = "frames dropped", One, Lower,
        /// frames of sound that were played
        played: u64 = "frames played", One, Higher,
        /// frames of sound that came after their playout time
        late: u64 = "frames late", One, Lower,
        /// frames of sound that never came, repair included
        lost: u64 = "frames lost", One, Lower,
        /// frames of sound played over those of the source
        delivered: Option<f64> = "delivered", Ratio, Higher,
        /// from the capture of a frame's first sample to its playing
        delay_ms: Option<Distribution> = "capture to playing", Milliseconds, Lower,
        /// absolute difference between the delays of sound and of the picture that was shown last
        offset_ms: Option<Distribution> = "against pictures", Milliseconds, Lower,
    }

    /// Times that the picture on the screen was older than the bound.
    #[derive(Copy)]
    pub struct Stale {
        /// number of such times
        count: u64 = "Stale pictures", One, Lower,
        /// total duration of those that ended
        total_s: f64 = "Stale", Seconds, Lower,
    }

    /// Gaps between displayed frames, as webrtc-stats defines them.
    #[derive(Copy)]
    pub struct Freezes {
        /// number of freezes
        count: u64 = "Freezes", One, Lower,
        /// total duration of freezes
        total_s: f64 = "Frozen", Seconds, Lower,
    }

    /// Events of a TCP sender.
    #[derive(Copy)]
    pub struct Tcp {
        /// expiries of the retransmission timer
        timeouts: u64 = "timeouts", One, Lower,
        /// fast recoveries
        recoveries: u64 = "recoveries", One, Lower,
        /// window reductions in response to ECN
        mark_reductions: u64 = "ECN reductions", One, Neutral,
        /// completed transfers
        transfers: Option<u64> = "transfers", One, Higher,
        /// mean completion time of the transfers
        transfer_s: Option<f64> = "transfer time", Seconds, Lower,
    }

    /// The receiver's bounded buffer.
    #[derive(Copy)]
    pub struct Buffer {
        /// packets refused because the buffer was full
        refused_events: u64 = "packets refused", One, Lower,
        /// bytes that arrived, with or without room for them
        offered_bytes: u64 = "bytes offered", Bytes, Neutral,
        /// bytes refused because the buffer was full
        refused_bytes: u64 = "bytes refused", Bytes, Lower,
        /// times the player found the buffer empty
        stalls: u64 = "stalls", One, Lower,
        /// part of the time in each state
        time_in: Option<TimeIn> = "time in", Ratio, Neutral,
    }

    /// Part of the time that a buffer spent in each state.
    #[derive(Copy)]
    pub struct TimeIn {
        /// below the low threshold
        underflow: f64 = "underflow", Ratio, Lower,
        /// between the thresholds
        stable: f64 = "stable", Ratio, Higher,
        /// above the high threshold
        overflow: f64 = "overflow", Ratio, Lower,
    }

    /// The numbers of one direction of a link.
    pub struct LinkSummary {
        /// Its name; the reverse direction is `name/back`.
        name: String,
        /// busy time over time, weighted by the rate where it varies
        utilisation: f64 = "Utilisation", Ratio, Higher,
        /// packets dropped, by cause
        drops: LinkDrops = "Dropped", One, Lower,
        /// packets marked CE
        marks: u64 = "CE marks", One, Neutral,
        /// packets waiting, without the one in service
        queue: MeanMax = "Queue", One, Lower,
        /// the association of an 802.11 station that associates by frames
        association: Option<Association> = "", One, Neutral,
    }

    /// The association of an 802.11 station.
    #[derive(Copy)]
    pub struct Association {
        /// times that it became associated
        made: u64 = "Associations", One, Neutral,
        /// times that the association was lost
        lost: u64 = "Associations lost", One, Lower,
        /// beacons not received while associated
        beacons_missed: u64 = "Beacons missed", One, Lower,
        /// time for which it was associated
        associated_s: f64 = "Associated", Seconds, Higher,
    }

    /// Packets dropped by a link.
    #[derive(Copy, Eq)]
    pub struct LinkDrops {
        /// by a full queue, or for their age
        queue: u64 = "queue", One, Lower,
        /// by active queue management
        aqm: u64 = "AQM", One, Lower,
        /// by the channel
        channel: u64 = "channel", One, Lower,
    }
}

impl Summary {
    /// The version of this form.
    pub const SCHEMA: u32 = 1;

    /// True unless an expectation was missed.
    pub fn holds(&self) -> bool {
        self.expect.iter().all(|expectation| expectation.held)
    }
}

/// An expectation and its outcome.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Expectation {
    /// The number's path.
    pub of: String,
    /// Its value; absent where it does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// At least, in the metric's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// At most, in the metric's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Whether the value kept both bounds; an absent value does not.
    pub held: bool,
}
