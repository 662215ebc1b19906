//! Sender reports, the description in-band and the goodbye.

use super::Sender;
use super::lanes::Lanes;
use crate::message::{Message, Transmit};
use crate::source_id::SourceId;
use bytes::Bytes;
use seaway_control::{StreamId, Subflow};
use seaway_units::{Ecn, TimeDelta, Timestamp};
use seaway_wire::rtcp::{Bye, SenderReport, SourceName};
use seaway_wire::{List, NtpTime};

/// Between reports; RFC 3550's randomisation is for groups, here are two parties.
const INTERVAL: TimeDelta = TimeDelta::from_secs(1);
/// Until a receiver reports.
const UNANSWERED_INTERVAL: TimeDelta = TimeDelta::from_millis(100);

/// The clock of sender reports.
#[derive(Debug)]
pub(super) struct Reports {
    due: Option<Timestamp>,
    closing: bool,
}

impl Reports {
    /// The first is due `now`; of a `silent` sender only the goodbye.
    pub(super) fn new(now: Timestamp, silent: bool) -> Self {
        Self { due: (!silent).then_some(now), closing: false }
    }

    pub(super) fn due(&self) -> Option<Timestamp> {
        self.due
    }

    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// The goodbye has not left.
    pub(super) fn is_closing(&self) -> bool {
        self.closing && self.due.is_some()
    }

    /// The description changed, or a new receiver needs it.
    pub(super) fn describe_at(&mut self, now: Timestamp) {
        self.due = self.due.map(|due| due.min(now));
    }

    /// One last report, with a goodbye.
    pub(super) fn close(&mut self, now: Timestamp) {
        self.due = Some(now);
        self.closing = true;
    }
}

impl Sender {
    /// The report that is due: a sender report for each stream and the description in one compound packet.
    pub(super) fn report(&mut self, now: Timestamp, message: &mut Message) -> Transmit {
        let interval = if self.peer.is_present() { INTERVAL } else { UNANSWERED_INTERVAL };
        self.reports.due = (!self.reports.closing).then_some(now + interval);
        let mut octets = Vec::with_capacity(256);
        for stream in 0..self.config.streams.len() {
            self.emit_sender_report(now, StreamId(stream as u8), &mut octets);
        }
        match &self.config.plain {
            None => self.description().emit(&mut octets),
            Some(plain) => {
                let name = SourceName { ssrc: self.config.session, cname: plain.cname.as_bytes() };
                append(&mut octets, name.buffer_len(), |buffer| name.emit(buffer));
            }
        }
        if self.reports.closing {
            let ssrcs = [self.config.session];
            let bye = Bye { ssrcs: List::from(&ssrcs[..]), reason: &[] };
            append(&mut octets, bye.buffer_len(), |buffer| bye.emit(buffer));
        }
        *message = Message::Rtcp(Bytes::from(octets));
        let size = self.size_of(message.wire_len());
        self.statistics.control.add(size);
        let subflow = self.scheduler.lanes.as_mut().map_or(Subflow(0), Lanes::for_report);
        Transmit { at: now, size, ecn: Ecn::NotEct, subflow }
    }

    /// The clock of sender reports: the time of day where the receiver synchronises by it, else ours.
    pub(super) fn report_clock(&self, now: Timestamp) -> NtpTime {
        let origin = self.config.plain.as_ref().map_or(0, |plain| {
            // 32 bits of seconds, which wrap in 2036 as NTP's do, and 32 bits of fraction.
            let fraction = (u64::from(plain.wall_clock.subsec_nanos()) << 32) / 1_000_000_000;
            (plain.wall_clock.as_secs() << 32) | fraction
        });
        NtpTime::from_bits(origin.wrapping_add(NtpTime::from_timestamp(now).bits()))
    }

    /// Maps the stream's media clock to ours; the counts are those of the whole session.
    fn emit_sender_report(&self, now: Timestamp, stream: StreamId, octets: &mut Vec<u8>) {
        let first = SourceId { stream, subflow: Subflow(0), repair: false };
        let report = SenderReport {
            ssrc: first.ssrc(self.config.session),
            ntp_time: self.report_clock(now),
            rtp_timestamp: self.media_clock(stream).timestamp(now),
            packet_count: self.statistics.sent.packets as u32,
            octet_count: self.statistics.sent.size.as_bytes() as u32,
            ..SenderReport::default()
        };
        append(octets, report.buffer_len(), |buffer| report.emit(buffer));
    }
}

/// Appends what `emit` writes, `len` octets.
fn append(
    octets: &mut Vec<u8>,
    len: usize,
    emit: impl FnOnce(&mut [u8]) -> Result<usize, seaway_wire::Error>,
) {
    let start = octets.len();
    octets.resize(start + len, 0);
    // Sizes and counts are ours and fit.
    emit(&mut octets[start..]).unwrap_or_else(|error| unreachable!("{error}"));
}
