//! A session in one line: while it runs, and at its end.

use super::session::Session;
use seaway_quality::statistics::Distribution;
use seaway_report::live::Sample;
use seaway_stream::source::Thinned;
use seaway_stream::{Receiver, Sender};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// The present state for the terminal: its name, the other end, size, rate, delay, loss and repair, as far as known.
pub(crate) fn line(sample: &Sample, is_sender: bool) -> String {
    let rate = |bps: u64| format!("{:.2}", Bitrate::from_bps(bps));
    let way = if is_sender { "to" } else { "from" };
    let parts = [
        sample.state.map(str::to_owned),
        sample.peer.as_ref().map(|peer| format!("{way} {peer}")),
        sample.resolution.clone(),
        sample.received_bps.or(sample.sent_bps).map(rate),
        sample.delay_ms.map(|delay| format!("delay {delay:.0} ms")),
        sample.glass_to_glass_ms.map(|delay| format!("glass to glass {delay:.0} ms")),
        sample.rtt_ms.map(|rtt| format!("round trip {rtt:.0} ms")),
        sample.residual_loss_ratio.or(sample.loss_ratio).map(|loss| format!("loss {:.1} %", loss * 100.0)),
        sample.sound_level_dbfs.map(|level| format!("sound {level:.0} dBFS")),
        sample.sound_level_measured.filter(|measured| !measured).map(|_| "sound not measured".into()),
        sample.packets_repaired.map(|repaired| format!("repaired {repaired}")),
        sample.freezes.map(|freezes| format!("freezes {freezes}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// What was sent until `now`.
pub(crate) fn of_sender(session: &Session, now: Timestamp) -> String {
    let Some(state) = session.sender.as_ref().map(Sender::state) else { return String::new() };
    let mut text = format!(
        "{:.1} s: {} of {} pictures that were due",
        session.time(now),
        state.supply.captured,
        state.supply.due()
    );
    if let Some(thinned) = state.source.thinned.filter(|thinned| thinned.total() > 0) {
        let Thinned { non_reference, layers, until_key } = thinned;
        text.push_str(&format!(
            ", left out {non_reference} that no other needs, {layers} of temporal layers and {until_key} until key frames"
        ));
    }
    if let Some(snapshot) = &state.session {
        let statistics = &snapshot.statistics;
        let mean = mean_rate(statistics.sent.size, session.time(now));
        let known = statistics.lost + statistics.received;
        let skipped = statistics.frames.skipped;
        text.push_str(&format!(", {skipped} skipped, {mean:.2} sent"));
        if known > 0 {
            let lost = statistics.lost as f64 * 100.0 / known as f64;
            text.push_str(&format!(", {lost:.1} % of the packets lost on the way"));
        }
    }
    text
}

/// What was received until `now`.
pub(crate) fn of_receiver(session: &Session, now: Timestamp) -> String {
    let Some(state) = session.receiver.as_ref().map(Receiver::state) else { return String::new() };
    let mut text = format!("{:.1} s: {} pictures", session.time(now), state.displayed);
    if state.undecoded > 0 {
        text.push_str(&format!(" shown, {} without a decoder", state.undecoded));
    }
    if let Some(snapshot) = &state.session {
        let statistics = &snapshot.statistics;
        let mean = mean_rate(statistics.received.size, session.time(now));
        let (lost, repaired) = (statistics.frames.lost + statistics.frames.late, statistics.repaired);
        text.push_str(&format!(", {lost} lost or late, {mean:.2}, {repaired} packets repaired"));
    }
    if let Some(Distribution { p50, p95, .. }) = Distribution::of(&mut state.delays.kept().to_vec()) {
        text.push_str(&format!(", delay {p50:.0} ms, of 95 % at most {p95:.0} ms"));
    }
    if let Some(Distribution { p50, p95, .. }) = Distribution::of(&mut state.glass_to_glass.kept().to_vec()) {
        text.push_str(&format!(", glass to glass {p50:.0} ms, of 95 % at most {p95:.0} ms"));
    }
    if let Some(times) = state.stale {
        let stale = state.stale_time.as_secs_f64();
        text.push_str(&format!(", {times} times a picture that was too old, {stale:.1} s in all"));
    }
    let frozen = state.frozen.as_secs_f64();
    text.push_str(&format!(", {} freezes of {frozen:.1} s in all", state.freezes));
    text
}

fn mean_rate(size: DataSize, seconds: f64) -> Bitrate {
    size.over(TimeDelta::from_nanos((seconds * 1e9) as i64)).unwrap_or(Bitrate::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_holds_what_is_known() {
        let sample = Sample { state: Some("waiting"), ..Sample::default() };
        assert_eq!(line(&sample, false), "waiting");
        let sample = Sample {
            state: Some("live"),
            peer: Some("192.0.2.7:5004".into()),
            resolution: Some("640x360".into()),
            received_bps: Some(1_250_000),
            residual_loss_ratio: Some(0.005),
            ..sample
        };
        assert_eq!(line(&sample, false), "live  from 192.0.2.7:5004  640x360  1.25 Mbit/s  loss 0.5 %");
    }
}
