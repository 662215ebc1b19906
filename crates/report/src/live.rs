//! What a live session measures at an instant: the JSON lines, the page and `/metrics` show it.

use crate::metric::measured;
use schemars::JsonSchema;
use serde::Serialize;

measured! {
    /// The values of a live session at an instant. Rates and ratios are over the last half second.
    #[derive(Default)]
    pub struct Sample {
        /// The controller with its options.
        control: String,
        /// The state of the controller.
        phase: Option<&'static str>,
        /// The state of the session in one word.
        state: Option<&'static str>,
        /// The address of the other end.
        peer: Option<String>,
        /// The lanes of a bonded sender.
        lanes: Option<Vec<LaneSample>>,
        /// rate that the controller allows media and repair
        allowance_bps: Option<u64> = "Allowed", BitsPerSecond, Higher,
        /// rate at which the pacer may send
        pace_bps: Option<u64> = "Pacing rate", BitsPerSecond, Neutral,
        /// round-trip time as the sender measured it
        rtt_ms: Option<f64> = "Round trip", Milliseconds, Lower,
        /// bytes waiting in the send queue
        backlog_bytes: Option<u64> = "Send queue", Bytes, Lower,
        /// frames from the source
        frames_captured: Option<u64> = "Frames captured", One, Neutral,
        /// frames that were due at the rate of the source
        frames_due: Option<u64> = "Frames due", One, Higher,
        /// frames skipped by the encoder
        frames_skipped: Option<u64> = "Frames skipped", One, Lower,
        /// IP bits sent, every copy
        sent_bps: Option<u64> = "Sent", BitsPerSecond, Neutral,
        /// lost packets over those whose fate is known, before repair
        loss_ratio: Option<f64> = "Loss", Ratio, Lower,
        /// time from the capture of a frame to its playout that the receiver aims at
        playout_buffer_ms: Option<f64> = "Playout buffer", Milliseconds, Lower,
        /// bytes in the client's buffer (S000)
        buffer_bytes: Option<u64> = "Client's buffer", Bytes, Neutral,
        /// level below which it runs dry
        buffer_low_bytes: Option<u64> = "Runs dry below", Bytes, Neutral,
        /// level from which on it runs over
        buffer_high_bytes: Option<u64> = "Runs over from", Bytes, Neutral,
        /// IP bits received, every copy
        received_bps: Option<u64> = "Received", BitsPerSecond, Higher,
        /// lost packets over those whose fate is known, after repair
        residual_loss_ratio: Option<f64> = "Loss after repair", Ratio, Lower,
        /// lost packets that repair brought back in time
        packets_repaired: Option<u64> = "Packets repaired", One, Neutral,
        /// frames displayed
        frames_displayed: Option<u64> = "Frames shown", One, Higher,
        /// frames received and not shown, as there is no decoder for them
        frames_undecoded: Option<u64> = "Frames without a decoder", One, Neutral,
        /// gaps between displayed frames (webrtc-stats)
        freezes: Option<u64> = "Freezes", One, Lower,
        /// target rate of the encoder
        target_bps: Option<u64> = "Encoder target", BitsPerSecond, Higher,
        /// Width and height of the coded picture.
        resolution: Option<String>,
        /// rate of the emulated link
        capacity_bps: Option<u64> = "Capacity", BitsPerSecond, Neutral,
        /// waiting time in the queue of the emulated link
        queue_delay_ms: Option<f64> = "Queueing", Milliseconds, Lower,
        /// from the capture of a frame to its end as a coded one
        encoding_ms: Option<f64> = "Encoder", Milliseconds, Lower,
        /// from the end of coding to the first packet of a frame
        queueing_ms: Option<f64> = "Send queue's time", Milliseconds, Lower,
        /// from the first packet of a frame to its last at the sender
        pacing_ms: Option<f64> = "Pacing", Milliseconds, Lower,
        /// from the first packet of a frame to its last at the receiver, repair included
        assembly_ms: Option<f64> = "Assembly and repair", Milliseconds, Lower,
        /// from the last packet of a frame to its decoder
        playout_ms: Option<f64> = "Playout", Milliseconds, Lower,
        /// from there to the screen
        decoding_ms: Option<f64> = "Decoder", Milliseconds, Lower,
        /// level of the sound, RMS over 100 ms below full scale
        sound_level_dbfs: Option<f64> = "Sound", Decibels, Neutral,
        /// False where no level is measured: AAC is not decoded at the receiver.
        sound_level_measured: Option<bool>,
        /// packets of sound that were sent, or played
        sound_packets: Option<u64> = "Sound packets", One, Higher,
        /// packets of sound that did not come in time, repair included
        sound_lost: Option<u64> = "Sound packets lost", One, Lower,
        /// of those, packets that were made anew from the ones behind them (in-band FEC of Opus)
        sound_recovered: Option<u64> = "Sound packets recovered", One, Neutral,
        /// from capture to display
        delay_ms: Option<f64> = "Delay", Milliseconds, Lower,
        /// from capture to display by the stamp in the picture, where the clocks of both hosts agree
        glass_to_glass_ms: Option<f64> = "Glass to glass", Milliseconds, Lower,
        /// time since the capture of the picture on the screen
        picture_age_ms: Option<f64> = "Picture's age", Milliseconds, Lower,
        /// times that the picture on the screen became older than the bound
        stale: Option<u64> = "Stale pictures", One, Lower,
        /// luma PSNR of the picture on screen against the captured one
        psnr_db: Option<f64> = "PSNR", Decibels, Higher,
    }
}

/// The values of a lane at an instant.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct LaneSample {
    /// Its interface or address.
    pub via: String,
    /// `new`, `up`, `suspect` or `down`.
    pub state: &'static str,
    /// Rate that its controller allows.
    pub allowance_bps: u64,
    /// IP bits sent over the last half second, every copy.
    pub sent_bps: Option<u64>,
    /// Its round-trip time.
    pub rtt_ms: Option<f64>,
    /// Lost packets over those whose fate is known, before repair, over the last half second.
    pub loss_ratio: Option<f64>,
}

/// Why a rate was changed.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Because {
    /// What the controller looked at.
    pub signal: Signal,
    /// What it was compared with; null where that is not finite.
    pub threshold: Option<f64>,
    /// The rate before, bit/s.
    pub before_bps: u64,
    /// The rate after, bit/s.
    pub after_bps: u64,
    /// The state of the controller.
    pub phase: &'static str,
}

/// A quantity that a controller looks at.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Signal {
    /// Its name.
    pub name: &'static str,
    /// Its value; null where that is not finite.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
}
