//! What the two ends of a TCP flow add to its summary.

use crate::agent::{TcpReceiver, TcpSender};
use crate::scenario::TcpFlow;
use seaway_report::summary::{FlowSummary, Tcp};
use seaway_sim::tcp::HEADERS;

pub(super) fn complete(
    summary: &mut FlowSummary,
    flow: &TcpFlow,
    sender: &TcpSender,
    receiver: &TcpReceiver,
) {
    let (begin, end) = sender.measured();
    let (taken_before, taken) = receiver.measured();
    let seconds = summary.measured_s;
    let per_second = |octets: u64| (seconds > 0.0).then(|| octets as f64 * 8.0 / seconds);
    let segments = taken.segments - taken_before.segments;
    let payload = taken.payload - taken_before.payload;
    // As every rate, in IP datagrams: the headers of a segment count once, as its payload does.
    summary.goodput_bps = per_second((payload + HEADERS * segments).as_bytes());
    summary.repair_bps = per_second((end.sender.resent - begin.sender.resent) * flow.packet.as_bytes());
    summary.rtt_ms = sender.round_trips().distribution();
    let completed = end.transfers.completed - begin.transfers.completed;
    let completion = end.transfers.completion - begin.transfers.completion;
    summary.tcp = Some(Tcp {
        timeouts: end.sender.timeouts - begin.sender.timeouts,
        recoveries: end.sender.recoveries - begin.sender.recoveries,
        mark_reductions: end.sender.mark_reductions - begin.sender.mark_reductions,
        transfers: flow.size.map(|_| completed),
        transfer_s: (completed > 0).then(|| completion.as_secs_f64() / completed as f64),
    });
}
