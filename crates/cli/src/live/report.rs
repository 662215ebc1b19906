//! The report of a live session: the summary's numbers, and what only a real-time run has.

use super::session::Session;
use crate::failure::{Failure, MISSED};
use schemars::JsonSchema;
use seaway_media::h264::acceleration;
use seaway_net::Lateness;
use seaway_quality::statistics::Distribution;
use seaway_report::Summary;
use seaway_report::summary::{FlowSummary, Frames, Freezes, Packets, Psnr, Stale};
use seaway_session::{Refused, SentAudio};
use seaway_stream::source::Thinned;
use seaway_stream::{Receiver, RejectCounters, Sender};
use seaway_units::{Bitrate, Decibels, Timestamp};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// The report of a live session.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub(crate) struct Report {
    /// The version of this form.
    pub(crate) schema: u32,
    /// The version of Seaway.
    pub(crate) seaway: &'static str,
    /// Which code of the codec ran, as [`acceleration`] has it.
    pub(crate) h264_code: &'static str,
    /// The network, or `send` or `recv`.
    pub(crate) scenario: String,
    /// The seed of all random numbers.
    pub(crate) seed: u64,
    /// True if the machine was too busy: the numbers say nothing about the network.
    pub(crate) void: bool,
    /// How late the timers of the media thread ran.
    pub(crate) lateness_ms: Late,
    /// What `delay_ms` is measured from.
    pub(crate) delay_from: DelayFrom,
    /// Where the delay comes from.
    pub(crate) delay_parts_ms: DelayParts,
    /// The session as one flow.
    pub(crate) flows: Vec<FlowSummary>,
    /// Input that was rejected.
    pub(crate) refused: RefusedReport,
    /// The sound, where there is some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sound: Option<SoundReport>,
    /// Coded pictures that were left out because the controller allowed less than they have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thinned: Option<ThinnedReport>,
}

impl Report {
    /// The report of `session` at `now`.
    pub(crate) fn new(
        scenario: &str,
        seed: u64,
        session: &Session,
        now: Timestamp,
        lateness: &Lateness,
        delay_from: DelayFrom,
    ) -> Self {
        Self {
            schema: Summary::SCHEMA,
            seaway: seaway_report::VERSION,
            h264_code: acceleration(),
            scenario: scenario.to_owned(),
            seed,
            void: lateness.is_void(),
            lateness_ms: Late::of(lateness),
            delay_from,
            delay_parts_ms: DelayParts::of(session),
            flows: vec![flow(session, now)],
            refused: refused(session),
            sound: SoundReport::of(session),
            thinned: ThinnedReport::of(session),
        }
    }

    /// 3 if the run is void.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(if self.void { MISSED } else { 0 })
    }

    /// Prints it on standard output.
    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let written = if json {
            serde_json::to_writer_pretty(&mut out, self)
                .map_err(std::io::Error::from)
                .and_then(|()| writeln!(out))
        } else {
            self.write(&mut out)
        };
        written.map_err(|error| Failure::output(&error))
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        if self.void {
            let Late { p99, bound, .. } = self.lateness_ms;
            let what = "machine too busy: the media thread was";
            return writeln!(out, "{what} {p99:.1} ms late at p99, above the bound of {bound:.1} ms");
        }
        for flow in &self.flows {
            write_flow(out, flow)?;
        }
        self.delay_parts_ms.write(out)
    }
}

fn write_flow(out: &mut impl Write, flow: &FlowSummary) -> std::io::Result<()> {
    let rate = |bps: Option<f64>| Bitrate::from_bps_f64(bps.unwrap_or(0.0));
    writeln!(out, "rate: {:.3} sent, {:.3} received", rate(flow.sent_bps), rate(flow.received_bps))?;
    if let Some(Frames { due, captured, displayed, undecoded: _, skipped, lost, late }) = flow.frames {
        let due = due.map_or_else(String::new, |due| format!("{due} due, "));
        let what = format!("{due}{captured} captured, {displayed} displayed");
        writeln!(out, "frames: {what}, {skipped} skipped, {lost} lost, {late} late")?;
    }
    if let Some(Distribution { p50, p95, p99, .. }) = flow.delay_ms {
        writeln!(out, "capture to display: p50 {p50:.0} ms, p95 {p95:.0} ms, p99 {p99:.0} ms")?;
    }
    if let Some(Distribution { p50, p95, p99, .. }) = flow.glass_to_glass_ms {
        writeln!(out, "glass to glass: p50 {p50:.0} ms, p95 {p95:.0} ms, p99 {p99:.0} ms")?;
    }
    if let Some(Stale { count, total_s }) = flow.stale {
        writeln!(out, "stale pictures: {count} times, {total_s:.2} s in all")?;
    }
    if let Some(Psnr { value, kind }) = flow.psnr_db {
        writeln!(out, "PSNR ({kind}): {value:.1} dB")?;
    }
    if let Some(encoder) = flow.encoder {
        let kept =
            encoder.within_tenth.map_or_else(|| "-".to_owned(), |part| format!("{:.0} %", part * 100.0));
        let left_out = encoder.left_out * 100.0;
        writeln!(
            out,
            "encoder: {kept} of the seconds within 10 % of its target, {left_out:.0} % left out (quantiser at a bound)"
        )?;
    }
    if let Some(Freezes { count, total_s }) = flow.freezes {
        writeln!(out, "freezes: {count}, {total_s:.2} s in all")?;
    }
    Ok(())
}

/// What delays are measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DelayFrom {
    /// The capture, on one clock.
    Capture,
    /// The least delay seen, plus half the round-trip time: the hosts have no common clock.
    LeastPlusHalfRoundTrip,
}

/// Means over the session in milliseconds, as the [samples](seaway_report::live::Sample) have them; what the delay has
/// beyond them is the way of the first packet.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
pub(crate) struct DelayParts {
    /// From the capture of a frame to its end as a coded one.
    encoding: Option<f64>,
    /// From there to its first packet.
    queueing: Option<f64>,
    /// From its first packet to its last at the sender.
    pacing: Option<f64>,
    /// From its first packet to its last at the receiver, repair included.
    assembly: Option<f64>,
    /// From there to its decoder.
    playout: Option<f64>,
    /// From there to the screen.
    decoding: Option<f64>,
}

impl DelayParts {
    fn of(session: &Session) -> Self {
        let sender = session.sender.as_ref().map(Sender::state);
        let receiver = session.receiver.as_ref().map(Receiver::state);
        Self {
            encoding: sender.and_then(|state| state.encoding.mean()),
            queueing: sender.and_then(|state| state.queueing.mean()),
            pacing: sender.and_then(|state| state.pacing.mean()),
            assembly: receiver.and_then(|state| state.assembly.mean()),
            playout: receiver.and_then(|state| state.playout.mean()),
            decoding: receiver.and_then(|state| state.decoding.mean()),
        }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let Self { encoding, queueing, pacing, assembly, playout, decoding } = *self;
        let all = [
            ("encoder", encoding),
            ("send queue", queueing),
            ("pacing", pacing),
            ("assembly and repair", assembly),
            ("playout", playout),
            ("decoder", decoding),
        ];
        let known = all.iter().filter_map(|(name, mean)| Some(format!("{name} {:.1} ms", (*mean)?)));
        let known: Vec<String> = known.collect();
        if known.is_empty() { Ok(()) } else { writeln!(out, "of it in the mean: {}", known.join(", ")) }
    }
}

/// Lateness of timers, in milliseconds.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
pub(crate) struct Late {
    /// Half of the timers were no later.
    pub(crate) p50: f64,
    /// 99 in 100 were no later.
    pub(crate) p99: f64,
    /// The latest.
    pub(crate) max: f64,
    /// Above this at p99 a run is void.
    pub(crate) bound: f64,
}

impl Late {
    pub(crate) fn of(lateness: &Lateness) -> Self {
        Self {
            p50: lateness.percentile(0.5).as_millis_f64(),
            p99: lateness.percentile(0.99).as_millis_f64(),
            max: lateness.max().as_millis_f64(),
            bound: Lateness::BOUND.as_millis_f64(),
        }
    }
}

/// Packets of sound, 20 ms each.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize)]
pub(crate) struct SoundReport {
    /// Those that left the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<u64>,
    /// Those that waited too long at the sender and did not leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    /// Those that were played at the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    played: Option<u64>,
    /// Those that did not come, and were not repaired in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
    /// Of those, packets that were made anew from the ones behind them (in-band FEC of Opus).
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<u64>,
    /// The level of the last 100 ms in dBFS, at the receiver where that is known; absent where it was silent, or is not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    level_dbfs: Option<f64>,
    /// False where the receiver measures no level: it does not decode AAC.
    #[serde(skip_serializing_if = "Option::is_none")]
    level_measured: Option<bool>,
}

impl SoundReport {
    /// `None` where there was none.
    fn of(session: &Session) -> Option<Self> {
        let mut report = Self::default();
        if let Some((state, session)) = session
            .sender
            .as_ref()
            .and_then(|sender| Some((sender.state(), sender.state().session.as_ref()?)))
        {
            let SentAudio { dropped, sent, .. } = session.statistics.audio;
            if sent.packets + dropped > 0 {
                (report.sent, report.dropped) = (Some(sent.packets), Some(dropped));
                report.level_dbfs = state.sound_level.map(Decibels::get);
            }
        }
        if let Some((state, session)) = session
            .receiver
            .as_ref()
            .and_then(|receiver| Some((receiver.state(), receiver.state().session.as_ref()?)))
        {
            let audio = session.statistics.audio;
            if audio.displayed + audio.lost > 0 {
                (report.played, report.lost) = (Some(audio.displayed), Some(audio.lost + audio.late));
                report.recovered = Some(state.sound_recovered);
                report.level_measured = (!state.is_sound_measured).then_some(false);
                report.level_dbfs = state.sound_level.map(Decibels::get);
            }
        }
        (report != Self::default()).then_some(report)
    }
}

/// Coded pictures that were left out, by reason.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
pub(crate) struct ThinnedReport {
    /// No other picture needed them.
    non_reference: u64,
    /// They were of a temporal layer that was left out.
    layers: u64,
    /// They, or one that they need, did not fit.
    until_key: u64,
}

impl ThinnedReport {
    fn of(session: &Session) -> Option<Self> {
        let Thinned { non_reference, layers, until_key } = session.sender.as_ref()?.state().source.thinned?;
        Some(Self { non_reference, layers, until_key })
    }
}

/// Input that was rejected, both ends together.
#[derive(Debug, Clone, Copy, Default, JsonSchema, Serialize)]
pub(crate) struct RefusedReport {
    /// Of another session, or of a second peer.
    pub(crate) unknown_ssrc: u64,
    /// Malformed.
    pub(crate) malformed: u64,
    /// Changed on the way, or made without the key.
    pub(crate) not_authentic: u64,
    /// Authentic, but came before.
    pub(crate) replayed: u64,
    /// Packets that came before.
    pub(crate) duplicates: u64,
    /// Reports for packets that were never sent or left long ago, packets far outside the present window.
    pub(crate) unmatched: u64,
    /// Beyond a bound: unread events, gaps beyond the memory.
    pub(crate) overflow: u64,
}

impl RefusedReport {
    fn add(&mut self, refused: &Refused, rejected: &RejectCounters) {
        self.unknown_ssrc += refused.unknown_ssrc + rejected.unknown_source;
        self.malformed += refused.malformed + rejected.malformed;
        self.not_authentic += rejected.not_authentic;
        self.replayed += rejected.replayed;
        self.duplicates += refused.duplicates;
        self.unmatched += refused.unmatched;
        self.overflow += refused.overflow;
    }
}

/// The flow's numbers up to `now`.
fn flow(session: &Session, now: Timestamp) -> FlowSummary {
    let seconds = session.time(now);
    let sender = session.sender.as_ref().map(Sender::state);
    let receiver = session.receiver.as_ref().map(Receiver::state);
    let per_second = |octets: u64| (seconds > 0.0).then(|| octets as f64 * 8.0 / seconds);
    let mut flow = FlowSummary {
        name: "video".into(),
        kind: "media",
        control: Some(sender.map(|state| state.control.to_string()).unwrap_or_default()),
        measured_s: seconds,
        ..FlowSummary::default()
    };
    let mut packets = Packets::default();
    let mut frames = Frames::default();
    if let Some(session) = sender.and_then(|state| state.session.as_ref()) {
        let statistics = &session.statistics;
        packets.sent = statistics.sent.packets;
        frames.captured = statistics.frames.captured;
        frames.due = sender.map(|state| state.supply.due());
        frames.skipped = statistics.frames.skipped;
        flow.sent_bps = per_second(statistics.sent.size.as_bytes());
        flow.repair_bps = per_second(statistics.repair.size.as_bytes());
        flow.decisions = Some(statistics.decisions);
        let known = statistics.lost + statistics.received;
        flow.loss_ratio = (known > 0).then(|| statistics.lost as f64 / known as f64);
        let gauge = session.gauges.iter().find(|gauge| gauge.name == "loss_event_rate");
        flow.loss_event_rate = gauge.map(|gauge| gauge.value).filter(|value| value.is_finite());
    }
    if let Some((state, session)) = receiver.and_then(|state| Some((state, state.session.as_ref()?))) {
        let statistics = &session.statistics;
        packets.received = statistics.received.packets;
        packets.repaired = Some(statistics.repaired);
        frames.displayed = state.displayed;
        frames.undecoded = Some(state.undecoded).filter(|undecoded| *undecoded > 0);
        frames.late = statistics.frames.late;
        frames.lost = statistics.frames.lost;
        flow.received_bps = per_second(statistics.received.size.as_bytes());
        flow.goodput_bps = per_second(statistics.goodput.as_bytes());
        flow.feedback_bps = per_second(statistics.feedback.size.as_bytes());
        flow.buffer = statistics.buffer.map(|end| seaway_lab::buffer_summary(&Default::default(), &end));
        let total_s = state.stale_time.as_secs_f64();
        flow.stale = state.stale.map(|count| Stale { count, total_s });
        flow.freezes = Some(Freezes { count: state.freezes, total_s: state.frozen.as_secs_f64() });
    }
    flow.packets = packets;
    flow.frames = Some(frames);
    flow.encoder = sender.and_then(|state| state.source.adherence.as_ref()).map(seaway_lab::encoder_summary);
    flow.delay_ms = receiver.and_then(|state| Distribution::of(&mut state.delays.kept().to_vec()));
    flow.glass_to_glass_ms =
        receiver.and_then(|state| Distribution::of(&mut state.glass_to_glass.kept().to_vec()));
    flow.psnr_db = receiver.and_then(|state| state.psnr.mean()).map(|value| Psnr { value, kind: "decoded" });
    flow
}

/// Input that both ends rejected.
fn refused(session: &Session) -> RefusedReport {
    let mut report = RefusedReport::default();
    if let Some(session) = session.sender.as_ref().and_then(|sender| sender.state().session.as_ref()) {
        report.add(&session.statistics.refused, &session.rejected);
    }
    if let Some(session) = session.receiver.as_ref().and_then(|receiver| receiver.state().session.as_ref()) {
        report.add(&session.statistics.refused, &session.rejected);
    }
    report
}
