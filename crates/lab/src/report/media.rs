//! What the two ends of a media flow add to its summary.

use crate::agent::{DisplayStatistics, MediaReceiver, MediaSender};
use crate::scenario::{MediaFlow, SourceConfig};
use crate::source::LiveSource;
use seaway_media::encoder::AdherenceReport;
use seaway_quality::histogram::Histogram;
use seaway_report::summary::{Buffer, Encoder, FlowSummary, Frames, Freezes, MeanMax, Psnr, Sound, TimeIn};
use seaway_session::{BufferStatistics, ReceiverStatistics, Sender, SenderStatistics};
use seaway_units::{DataSize, Probability, TimeDelta, Timestamp};

/// Begin and end of the time in which the flow is measured.
struct Measured {
    sender: (SenderStatistics, SenderStatistics),
    receiver: (ReceiverStatistics, ReceiverStatistics),
}

impl Measured {
    fn sent(&self, count: impl Fn(&SenderStatistics) -> u64) -> u64 {
        count(&self.sender.1).saturating_sub(count(&self.sender.0))
    }

    fn received(&self, count: impl Fn(&ReceiverStatistics) -> u64) -> u64 {
        count(&self.receiver.1).saturating_sub(count(&self.receiver.0))
    }
}

pub(super) fn complete(
    summary: &mut FlowSummary,
    media: &MediaFlow,
    sender: &MediaSender,
    receiver: &MediaReceiver,
    end: Timestamp,
) {
    let measured = Measured { sender: sender.measured(), receiver: receiver.measured() };
    let seconds = summary.measured_s;
    let per_second = |octets: u64| (seconds > 0.0).then(|| octets as f64 * 8.0 / seconds);
    let repairs = media.repair.is_some_and(|repair| repair.retransmit || repair.fec);
    let has_frames = media.source != SourceConfig::Saturated;

    let gauge = |name| sender.session().and_then(|sender| gauge(sender, name));
    summary.loss_event_rate = gauge("loss_event_rate");
    summary.channel_loss = gauge("channel_loss");
    summary.decisions = Some(measured.sent(|sender| sender.decisions));
    summary.rtt_ms = sender.with_round_trips(Histogram::distribution);
    let (mean, max) = sender.subflows(end);
    if max > 1 {
        summary.subflows = Some(MeanMax { mean, max: f64::from(max) });
    }
    if repairs {
        summary.repair_bps = per_second(measured.sent(|sender| sender.repair.size.as_bytes()));
        summary.packets.repaired = Some(measured.received(|receiver| receiver.repaired));
        summary.residual_loss_ratio = residual_loss(&measured);
    }
    if has_frames {
        summary.goodput_bps = per_second(measured.received(|receiver| receiver.goodput.as_bytes()));
        summary.frames = Some(Frames {
            due: None,
            captured: measured.sent(|sender| sender.frames.captured),
            displayed: measured.received(|receiver| receiver.frames.displayed),
            undecoded: None,
            late: measured.received(|receiver| receiver.frames.late),
            lost: measured.received(|receiver| receiver.frames.lost),
            skipped: measured.sent(|sender| sender.frames.skipped),
        });
        summary.delay_ms = receiver.delays().distribution();
        let frozen = |receiver: &ReceiverStatistics| receiver.freezes.total;
        summary.freezes = Some(Freezes {
            count: measured.received(|receiver| receiver.freezes.count),
            total_s: (frozen(&measured.receiver.1) - frozen(&measured.receiver.0)).as_secs_f64(),
        });
    }
    summary.sound = (!media.stream.is_empty()).then(|| sound(&measured, receiver));
    if let (Some(live), Some(sink)) = (sender.live(), receiver.decoder()) {
        complete_pictures(summary, live, sink.seen(end));
    }
    if let Some(sink) = receiver.model() {
        summary.psnr_db = sink.psnr().map(|value| Psnr { value, kind: "modelled" });
    }
    summary.buffer = measured.receiver.1.buffer.map(|end| {
        let begin = measured.receiver.0.buffer.unwrap_or_default();
        buffer_summary(&begin, &end)
    });
}

/// Sound beside the pictures.
fn sound(measured: &Measured, receiver: &MediaReceiver) -> Sound {
    let sent = measured.sent(|sender| sender.audio.sent.packets);
    let dropped = measured.sent(|sender| sender.audio.dropped);
    let played = measured.received(|receiver| receiver.audio.displayed);
    let due = sent + dropped;
    Sound {
        sent,
        dropped,
        played,
        late: measured.received(|receiver| receiver.audio.late),
        lost: measured.received(|receiver| receiver.audio.lost),
        delivered: (due > 0).then(|| played as f64 / due as f64),
        delay_ms: receiver.sound().delays().distribution(),
        offset_ms: receiver.sound().offsets().distribution(),
    }
}

/// What the viewer saw takes the place of what the receiver gave out.
fn complete_pictures(summary: &mut FlowSummary, live: &LiveSource, seen: DisplayStatistics) {
    if let Some(frames) = &mut summary.frames {
        frames.displayed = seen.displayed;
        frames.lost += seen.held;
    }
    summary.freezes = Some(Freezes { count: seen.freezes, total_s: seen.frozen.as_secs_f64() });
    summary.psnr_db =
        (seen.scored > 0).then(|| Psnr { value: seen.psnr / seen.scored as f64, kind: "decoded" });
    let adherence = live.adherence();
    summary.encoder = (adherence.windows > 0).then(|| encoder_summary(&adherence));
}

/// How closely a live encoder kept its target.
pub fn encoder_summary(report: &AdherenceReport) -> Encoder {
    Encoder {
        output_over_target: report.ratio(),
        within_tenth: report.within_tenth().map(Probability::get),
        worst: report.worst,
        left_out: report.left_out().get(),
    }
}

/// Media packets that neither came by themselves nor were repaired, over those that were sent.
fn residual_loss(measured: &Measured) -> Option<f64> {
    let missing = measured.received(|receiver| receiver.missing);
    let found = measured.received(|receiver| receiver.reordered + receiver.repaired);
    let first = measured
        .received(|receiver| receiver.received.packets - receiver.repair.packets - receiver.padding.packets);
    let reordered = measured.received(|receiver| receiver.reordered);
    let expected = (first + missing).saturating_sub(reordered);
    (expected > 0).then(|| missing.saturating_sub(found) as f64 / expected as f64)
}

/// The gauge of that name, where the controller has one.
fn gauge(sender: &Sender, name: &str) -> Option<f64> {
    let mut found = None;
    sender.controller().inspect(&mut |gauge| {
        if gauge.name == name {
            found = Some(gauge.value).filter(|value| value.is_finite());
        }
    });
    found
}

/// What a receiver's buffer of bytes did from `begin` to `end`.
pub fn buffer_summary(begin: &BufferStatistics, end: &BufferStatistics) -> Buffer {
    let states: [fn(&BufferStatistics) -> TimeDelta; 3] =
        [|buffer| buffer.underflow, |buffer| buffer.stable, |buffer| buffer.overflow];
    let [underflow, stable, overflow] = states.map(|state| (state(end) - state(begin)).as_secs_f64());
    let whole = underflow + stable + overflow;
    let since = |of: fn(&BufferStatistics) -> DataSize| of(end).saturating_sub(of(begin)).as_bytes();
    Buffer {
        refused_events: end.refused_events - begin.refused_events,
        offered_bytes: since(|buffer| buffer.offered),
        refused_bytes: since(|buffer| buffer.refused),
        stalls: end.stalls - begin.stalls,
        time_in: (whole > 0.0).then(|| TimeIn {
            underflow: underflow / whole,
            stable: stable / whole,
            overflow: overflow / whole,
        }),
    }
}
