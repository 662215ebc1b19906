//! What a live run says: a line a second for `--stats json`, and a summary at its end.

use super::sink::SinkReport;
use super::source::SourceReport;
use super::srt::SrtReport;
use crate::failure::Failure;
use seaway_mpeg::live::Report;
use seaway_mpeg::pipeline::CeilingReport;
use seaway_quality::statistics::Distribution;
use seaway_units::{TimeDelta, Timestamp};
use serde_json::{Value, json};
use std::io::Write;

/// How far behind its instant a packet may leave: a late thread of the sender.
const SLACK: TimeDelta = TimeDelta::from_millis(10);

#[derive(Debug)]
pub(super) struct Statistics {
    lines: bool,
    delay: TimeDelta,
    /// Bits of video in and out at the last line, and its instant.
    last: (Timestamp, u64, u64),
}

impl Statistics {
    pub(super) fn new(lines: bool, delay: TimeDelta) -> Statistics {
        Statistics { lines, delay, last: (Timestamp::ZERO, 0, 0) }
    }

    /// Prints the line of a second.
    pub(super) fn line(
        &mut self,
        now: Timestamp,
        source: &SourceReport,
        shaped: &Report,
        sent: &SinkReport,
    ) -> Result<(), Failure> {
        if !self.lines {
            return Ok(());
        }
        let mut line = self.document("sample", now, source, shaped, sent);
        let (bits_in, bits_out) = video_bits(shaped);
        let seconds = now.since(self.last.0).as_secs_f64().max(1e-3);
        line["video_rate_in_bps"] = json!(((bits_in - self.last.1) as f64 / seconds).round());
        line["video_rate_out_bps"] = json!(((bits_out - self.last.2) as f64 / seconds).round());
        self.last = (now, bits_in, bits_out);
        print(&line)
    }

    /// Prints the last line, and the summary where pictures were shaped; true where the delay and the ceiling were held, and no
    /// other video passed.
    pub(super) fn end(
        &mut self,
        now: Timestamp,
        source: &SourceReport,
        shaped: &Report,
        sent: &SinkReport,
    ) -> Result<bool, Failure> {
        let ceilings = shaped.programs.iter().filter_map(|program| program.report.ceiling.as_ref());
        let ceiling_held = ceilings.clone().all(CeilingReport::is_kept);
        let delays = sent.delay.distribution();
        let delay = |of: fn(&Distribution) -> f64| delays.as_ref().map_or(0.0, of);
        let is_late = sent.lateness.percentile(0.99) > SLACK;
        let is_long = delay(|delay| delay.p99) > (self.delay + SLACK).as_millis_f64();
        let delay_held = !is_late && !is_long;
        if self.lines {
            let mut line = self.document("end", now, source, shaped, sent);
            line["delay_held"] = json!(delay_held);
            line["ceiling_held"] = json!(ceiling_held);
            line["programs"] = json!(shaped.programs);
            print(&line)?;
        }
        if pictures(shaped) == 0 {
            return Ok(false);
        }
        let (bits_in, bits_out) = video_bits(shaped);
        let ms = |time: TimeDelta| format!("{:.1} ms", time.as_millis_f64());
        let mut text = format!(
            "{} packets in {:.1} s, video at {:.1} % of its bits; {} programmes, {} parts of pictures passed unchanged\n\
             delay {} stated; {:.1} ms in the middle, 99 of 100 within {:.1} ms, {:.1} ms at most; {} late at most\n",
            shaped.packets_in,
            now.as_secs_f64(),
            100.0 * bits_out as f64 / bits_in.max(1) as f64,
            shaped.programs.len(),
            shaped.given_up,
            ms(self.delay),
            delay(|delay| delay.p50),
            delay(|delay| delay.p99),
            delay(|delay| delay.max),
            ms(sent.lateness.max()),
        );
        text += &srt_line("SRT in", source.srt.as_ref());
        text += &srt_line("SRT out", sent.srt.as_ref());
        for (count, what) in [
            (source.malformed, "malformed datagrams"),
            (source.lost, "RTP packets lost before"),
            (source.late, "RTP packets repeated or too late"),
            (sent.refused, "datagrams refused by the kernel"),
            (shaped.resyncs, "times the source's clock was found anew"),
            (
                shaped.ahead_of_clock,
                "packets left ahead of the source's clock: a longer --delay covers more of its bursts",
            ),
            (shaped.unshaped_programs, "programmes that cannot be shaped"),
            (shaped.program_changes, "times the source had other programmes"),
        ] {
            if count > 0 {
                text += &format!("{count} {what}\n");
            }
        }
        if is_late {
            let late = ms(sent.lateness.percentile(0.99));
            text += &format!("MISSED: one packet in a hundred left more than {late} late\n");
        } else if is_long {
            let long = delay(|delay| delay.p99);
            text +=
                &format!("MISSED: one packet in a hundred left more than {long:.1} ms after its arrival\n");
        }
        if shaped.without_video > 0 {
            let times = shaped.without_video;
            text +=
                &format!("MISSED: {times} times the source turned to other video, which passed unchanged\n");
        }
        for ceiling in ceilings.filter(|ceiling| !ceiling.is_kept()) {
            let (level, second) = (100.0 * ceiling.highest_level, 100.0 * ceiling.fullest_second);
            text +=
                &format!("MISSED: a bucket filled to {level:.1} %, the fullest second at {second:.1} %\n");
        }
        std::io::stderr().write_all(text.as_bytes()).map_err(|error| Failure::output(&error))?;
        Ok(delay_held && ceiling_held && shaped.without_video == 0)
    }

    fn document(
        &self,
        kind: &str,
        now: Timestamp,
        source: &SourceReport,
        shaped: &Report,
        sent: &SinkReport,
    ) -> Value {
        let delay = sent.delay.distribution();
        let lateness = |share| sent.lateness.percentile(share).as_millis_f64();
        let rates = shaped.programs.iter().map(|program| {
            json!({
                "program": program.program,
                "rate_bps": program.rate_bps,
                "pictures": program.report.totals.pictures,
                "bits_in": program.report.totals.bits_in,
                "bits_out": program.report.totals.bits_out,
            })
        });
        let mut output =
            json!({ "datagrams": sent.datagrams, "octets": sent.octets, "refused": sent.refused });
        if let Some(srt) = &sent.srt {
            output["srt"] = json!(srt);
        }
        json!({
            "type": kind,
            "time_s": now.as_secs_f64(),
            "stated_delay_ms": self.delay.as_millis_f64(),
            "input": source,
            "output": output,
            "packets_in": shaped.packets_in,
            "packets_out": shaped.packets_out,
            "dropped_without_program": shaped.dropped_without_program,
            "null_packets_dropped": shaped.null_packets_dropped,
            "resyncs": shaped.resyncs,
            "ahead_of_clock": shaped.ahead_of_clock,
            "given_up": shaped.given_up,
            "unshaped_programs": shaped.unshaped_programs,
            "program_changes": shaped.program_changes,
            "without_video": shaped.without_video,
            "load": shaped.load,
            "delay": {
                "p50_ms": delay.map(|delay| delay.p50),
                "p99_ms": delay.map(|delay| delay.p99),
                "max_ms": delay.map(|delay| delay.max),
            },
            "lateness": {
                "p50_ms": lateness(0.5),
                "p99_ms": lateness(0.99),
                "max_ms": sent.lateness.max().as_millis_f64(),
            },
            "rate_bps": shaped.rate_bps,
            "video": rates.collect::<Vec<_>>(),
        })
    }
}

fn srt_line(name: &str, report: Option<&SrtReport>) -> String {
    let Some(srt) = report else { return String::new() };
    let SrtReport { packets, lost, retransmitted, dropped, unsent, .. } = srt;
    let without = if *unsent > 0 { format!(", {unsent} without a connection") } else { String::new() };
    format!(
        "{name}: {packets} packets, {lost} lost, {retransmitted} retransmitted, {dropped} dropped{without}\n"
    )
}

/// Pictures that were shaped.
pub(super) fn pictures(shaped: &Report) -> u64 {
    shaped.programs.iter().map(|program| program.report.totals.pictures).sum()
}

fn video_bits(shaped: &Report) -> (u64, u64) {
    shaped.programs.iter().fold((0, 0), |(bits_in, bits_out), program| {
        let totals = &program.report.totals;
        (bits_in + totals.bits_in, bits_out + totals.bits_out)
    })
}

fn print(line: &Value) -> Result<(), Failure> {
    writeln!(std::io::stdout().lock(), "{line}").map_err(|error| Failure::output(&error))
}
