//! What the two ends of a window flow add to its summary.

use crate::agent::{WindowSink, WindowSource};
use seaway_report::summary::{FlowSummary, Frames};

pub(super) fn complete(summary: &mut FlowSummary, source: &WindowSource, sink: &WindowSink) {
    let (sent_before, sent) = source.measured();
    let (seen_before, seen) = sink.measured();
    let octets = seen.octets - seen_before.octets;
    summary.goodput_bps = (summary.measured_s > 0.0).then(|| octets as f64 * 8.0 / summary.measured_s);
    summary.packets.late = Some(seen.late - seen_before.late);
    summary.packets.repaired = Some(seen.repaired - seen_before.repaired);
    summary.frames = Some(Frames {
        due: None,
        captured: sent.captured - sent_before.captured,
        displayed: seen.shown - seen_before.shown,
        undecoded: None,
        late: 0,
        lost: seen.concealed - seen_before.concealed,
        skipped: sent.sender.refused_frames - sent_before.sender.refused_frames,
    });
}
