//! RTCP reports: which are due, their content, and how they share a datagram.

use super::report_time;
use super::session::{Session, SubflowState};
use crate::config::{FeedbackFormat, ReceiverConfig};
use crate::describe::in_band;
use crate::source_id::SourceId;
use crate::statistics::ReceiverStatistics;
use crate::unwrap::SequenceUnwrapper;
use bytes::Bytes;
use seaway_control::{BufferLevel, PeerReport, StreamId, Subflow};
use seaway_units::{Bitrate, DataSize, Probability, TimeDelta, Timestamp};
use seaway_wire::rtcp::ccfb;
use seaway_wire::rtcp::twcc::TwccWriter;
use seaway_wire::rtcp::{
    App, BufferAwareReport, BufferLevelReport, Nack, NackEntry, NadaReport, Pli, ReceiverReport, ReportBlock,
    SourceName, TfrcReport,
};
use seaway_wire::{Error, List, MicrosClock, NtpShort};
use std::collections::VecDeque;
use std::ops::Range;

/// Octets of a datagram of reports at most, headers left out, whatever the path carries.
const LONGEST: usize = 1200;
/// The number that SRTCP writes behind a packet, beside its tag (RFC 3711 section 3.4).
const SRTCP_INDEX: u64 = 4;
/// Reception blocks of a receiver report at most.
const BLOCKS: usize = 31;
/// The report of a stream is not split for less than this.
const FEWEST_BLOCKS: u64 = 16;
/// Datagrams that wait at most.
const WAITING: usize = 256;

/// Reports that wait to leave.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<(Subflow, Bytes)>,
    /// The lane that the datagrams leave by.
    lane: Subflow,
    /// Octets of a datagram at most, headers left out.
    longest: usize,
    /// The datagram being written.
    octets: Vec<u8>,
    /// What a datagram begins with where it must be a compound packet.
    head: Vec<u8>,
    /// The head says something new, so it leaves alone if need be.
    is_head_due: bool,
    /// Subflows whose report is due.
    due: Vec<(Subflow, PeerReport)>,
    /// The numbers to report, by source.
    ranges: Vec<(usize, Range<u64>)>,
}

/// What a subflow's reports echo: the newest packet of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SubflowEcho {
    pub(super) sent: MicrosClock,
    pub(super) at: Timestamp,
}

impl Outbox {
    pub(super) fn push(&mut self, datagram: Bytes) {
        if self.waiting.len() < WAITING {
            self.waiting.push_back((self.lane, datagram));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<(Subflow, Bytes)> {
        self.waiting.pop_front()
    }

    /// Queues the datagram being written.
    fn flush(&mut self) {
        if self.octets.len() > self.head.len() || std::mem::take(&mut self.is_head_due) {
            let datagram = Bytes::copy_from_slice(&self.octets);
            self.is_head_due = false;
            self.push(datagram);
        }
        self.octets.clear();
    }

    /// Makes room for a report whose length is not known beforehand.
    fn begin(&mut self) {
        if self.octets.len() > self.longest / 2 {
            self.flush();
        }
        self.begin_compound();
    }

    /// Appends a report of `len` octets; begins another datagram where it does not fit this one.
    fn append(&mut self, len: usize, emit: impl FnOnce(&mut [u8]) -> Result<usize, Error>) {
        if self.octets.len() + len > self.longest {
            self.flush();
        }
        self.begin_compound();
        let start = self.octets.len();
        self.octets.resize(start + len, 0);
        let written = emit(&mut self.octets[start..]).unwrap_or(0);
        self.octets.truncate(start + written);
    }

    fn begin_compound(&mut self) {
        if self.octets.is_empty() {
            self.octets.extend_from_slice(&self.head);
        }
    }
}

/// What every compound packet begins with: a receiver report and our canonical name (RFC 3550 section 6.1).
pub(super) fn compound_head(config: &ReceiverConfig, blocks: &[ReportBlock]) -> Vec<u8> {
    let report = ReceiverReport { ssrc: config.ssrc, blocks: List::from(blocks) };
    let name = SourceName { ssrc: config.ssrc, cname: config.cname.as_bytes() };
    let mut octets = vec![0; report.buffer_len() + name.buffer_len()];
    let written = report.emit(&mut octets).and_then(|len| Ok(len + name.emit(&mut octets[len..])?));
    octets.truncate(written.unwrap_or(0));
    octets
}

/// Octets of a datagram of reports at most, headers left out.
fn longest(config: &ReceiverConfig) -> usize {
    let headers = config.overhead + DataSize::from_bytes(SRTCP_INDEX);
    LONGEST.min(config.packet.saturating_sub(headers).as_bytes() as usize)
}

/// Reception blocks of a receiver report, of 24 octets each, that leave room for its head and our canonical name.
fn blocks_in(octets: usize, config: &ReceiverConfig) -> usize {
    let rest = octets.saturating_sub(24 + config.cname.len());
    BLOCKS.min(rest / 24)
}

impl Session {
    /// Puts the reports that are due by now into the outbox.
    pub(super) fn build_reports(
        &mut self,
        now: Timestamp,
        config: &ReceiverConfig,
        outbox: &mut Outbox,
        statistics: &mut ReceiverStatistics,
    ) {
        outbox.longest = longest(config);
        outbox.due.clear();
        while let Some(report) = self.source.poll_report(now) {
            outbox.due.push(report);
        }
        if outbox.due.is_empty() && !self.has_requests(now) {
            return;
        }
        // Ends of this project agree on reduced-size RTCP (RFC 5506) by their in-band description.
        outbox.head = if self.is_plain() { compound_head(config, &[]) } else { Vec::new() };
        let best = self.best_lane().0;
        outbox.lane = best;
        if self.take_report_turn(now) {
            self.append_receiver_report(now, config, outbox);
        }
        if self.description.lanes {
            self.append_by_lane(now, config, outbox);
            outbox.lane = best;
        } else {
            self.append_feedback(now, config, outbox);
        }
        self.append_requests(now, config.ssrc, outbox, statistics);
        outbox.flush();
    }

    /// The report of each lane goes back by that lane: its round-trip time is the lane's, and it shows that the lane is up both ways.
    fn append_by_lane(&mut self, now: Timestamp, config: &ReceiverConfig, outbox: &mut Outbox) {
        for report in std::mem::take(&mut outbox.due) {
            outbox.flush();
            (outbox.lane, outbox.due) = (report.0, vec![report]);
            self.append_feedback(now, config, outbox);
        }
        outbox.flush();
        outbox.due.clear();
    }

    /// Feedback on the subflows that are due.
    fn append_feedback(&mut self, now: Timestamp, config: &ReceiverConfig, outbox: &mut Outbox) {
        if !outbox.due.is_empty() {
            match self.description.feedback {
                FeedbackFormat::Twcc => self.append_transport_feedback(config.ssrc, outbox),
                FeedbackFormat::Ccfb => self.append_arrivals(now, config.ssrc, outbox),
                FeedbackFormat::Native => {
                    self.append_arrivals(now, config.ssrc, outbox);
                    self.append_computed(now, config.ssrc, outbox);
                }
                FeedbackFormat::Computed => self.append_computed(now, config.ssrc, outbox),
            }
        }
    }

    fn append_receiver_report(&mut self, now: Timestamp, config: &ReceiverConfig, outbox: &mut Outbox) {
        let ssrcs: Vec<u32> = (0..self.logs.len()).map(|index| self.ssrc(index)).collect();
        let mut blocks = [ReportBlock::default(); BLOCKS];
        let mut count = 0;
        let logs = self.logs.iter_mut().enumerate().filter_map(|(index, log)| Some((index, log.as_mut()?)));
        let most = blocks_in(outbox.longest, config);
        for ((index, log), block) in logs.zip(&mut blocks[..most]) {
            *block = log.report_block(ssrcs[index]);
            if let Some((report, at)) = self.last_report {
                block.last_sender_report = Some(report);
                block.delay_since_last = NtpShort::from_span(now.since(at));
            }
            count += 1;
        }
        if self.is_plain() {
            (outbox.head, outbox.is_head_due) = (compound_head(config, &blocks[..count]), true);
            return outbox.begin_compound();
        }
        let report = ReceiverReport { ssrc: config.ssrc, blocks: List::from(&blocks[..count]) };
        let taking = self.description.has_aac().then(|| in_band::taking_aac(config.ssrc));
        let taking_len = taking.as_ref().map_or(0, App::buffer_len);
        // The two belong together: a sender looks for both in one message.
        outbox.append(report.buffer_len() + taking_len, |buffer| {
            let len = report.emit(buffer)?;
            Ok(len + taking.map_or(Ok(0), |taking| taking.emit(&mut buffer[len..]))?)
        });
    }

    /// RFC 8888: the arrivals of the subflows that are due, in as many packets as it takes.
    fn append_arrivals(&mut self, now: Timestamp, ssrc: u32, outbox: &mut Outbox) {
        let session = self.description.session;
        let mut ranges = std::mem::take(&mut outbox.ranges);
        ranges.clear();
        for (index, log) in self.logs.iter_mut().enumerate() {
            let Some(log) = log.as_mut().filter(|log| log.has_unreported()) else { continue };
            let subflow =
                SourceId::of(session.wrapping_add(index as u32), session).map(|source| source.subflow);
            if outbox.due.iter().any(|(due, _)| Some(*due) == subflow) {
                ranges.push((index, log.range_to_report(now)));
                log.on_reported();
            }
        }
        let mut rest = &mut ranges[..];
        while !rest.is_empty() {
            outbox.begin();
            let start = outbox.octets.len();
            outbox.octets.resize(outbox.longest, 0);
            let written = self.emit_ccfb(now, ssrc, &mut rest, &mut outbox.octets[start..]).unwrap_or(0);
            outbox.octets.truncate(start + written);
            if !rest.is_empty() {
                outbox.flush();
            }
        }
        outbox.ranges = ranges;
    }

    /// Writes one packet of metric blocks, and removes from `rest` what it reports.
    fn emit_ccfb(
        &self,
        now: Timestamp,
        ssrc: u32,
        rest: &mut &mut [(usize, Range<u64>)],
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        let mut writer = ccfb::Writer::new(buffer, ssrc)?;
        while let Some((index, range)) = rest.first_mut() {
            let needed = range.end - range.start;
            let fit = writer.blocks_left() as u64;
            if fit < needed.min(FEWEST_BLOCKS) {
                break;
            }
            let end = range.end.min(range.start + fit);
            let media = self.ssrc(*index);
            if let Some(log) = &self.logs[*index] {
                writer.stream(media, range.start as u16, log.metrics(range.start..end, now))?;
            }
            range.start = end;
            if range.is_empty() {
                *rest = &mut std::mem::take(rest)[1..];
            }
        }
        writer.finish(report_time(now))
    }

    /// What the receiving half computed, a report a subflow.
    fn append_computed(&mut self, now: Timestamp, sender_ssrc: u32, outbox: &mut Outbox) {
        let due = std::mem::take(&mut outbox.due);
        let level = self.buffer_level();
        for (subflow, peer) in &due {
            let Some(state) = self.subflows.get(usize::from(subflow.0)) else { continue };
            let Some(echo) = state.echo else { continue };
            let first = SourceId { stream: StreamId(0), subflow: *subflow, repair: false };
            let report =
                SubflowReport { sender_ssrc, media_ssrc: first.ssrc(self.description.session), echo, now };
            report.append(peer, level, state, outbox);
        }
        outbox.due = due;
    }

    fn append_transport_feedback(&mut self, ssrc: u32, outbox: &mut Outbox) {
        let Some(media_ssrc) = self.transport.media_ssrc else { return };
        loop {
            let feedback_count = self.transport.feedback_count;
            let writer = TwccWriter { sender_ssrc: ssrc, media_ssrc, feedback_count };
            outbox.begin();
            let start = outbox.octets.len();
            outbox.octets.resize(outbox.longest, 0);
            let emitted = match self.transport.pending() {
                Some((base, arrivals)) => writer.emit(base, arrivals, &mut outbox.octets[start..]).ok(),
                None => None,
            };
            outbox.octets.truncate(start + emitted.map_or(0, |emitted| emitted.len));
            let Some(emitted) = emitted.filter(|emitted| emitted.statuses > 0) else { break };
            self.transport.on_reported(emitted.statuses);
        }
    }

    fn append_requests(
        &mut self,
        now: Timestamp,
        ssrc: u32,
        outbox: &mut Outbox,
        statistics: &mut ReceiverStatistics,
    ) {
        let session = self.description.session;
        let mut requests = std::mem::take(&mut self.requests);
        requests.sort_unstable();
        statistics.requests += requests.len() as u64;
        for of_source in requests.chunk_by(|a, b| a.0 == b.0) {
            let numbers = of_source.iter().map(|(_, sequence)| *sequence as u16);
            let mut entries = [NackEntry::default(); 64];
            let mut packed = NackEntry::pack(numbers).peekable();
            while packed.peek().is_some() {
                let mut count = 0;
                for (place, entry) in entries.iter_mut().zip(&mut packed) {
                    *place = entry;
                    count += 1;
                }
                let entries = List::from(&entries[..count]);
                let nack = Nack { sender_ssrc: ssrc, media_ssrc: of_source[0].0.ssrc(session), entries };
                outbox.append(nack.buffer_len(), |buffer| nack.emit(buffer));
            }
        }
        requests.clear();
        self.requests = requests;
        self.poll_key_requests(now, |stream| {
            let source = SourceId { stream, subflow: Subflow(0), repair: false };
            let pli = Pli { sender_ssrc: ssrc, media_ssrc: source.ssrc(session) };
            outbox.append(pli.buffer_len(), |buffer| pli.emit(buffer));
            statistics.picture_losses += 1;
        });
    }
}

/// What the reports of a subflow have in common.
struct SubflowReport {
    sender_ssrc: u32,
    media_ssrc: u32,
    echo: SubflowEcho,
    now: Timestamp,
}

impl SubflowReport {
    /// `present` is the level of the buffer, which is reported with every controller.
    fn append(
        &self,
        peer: &PeerReport,
        present: Option<BufferLevel>,
        state: &SubflowState,
        outbox: &mut Outbox,
    ) {
        let Self { sender_ssrc, media_ssrc, .. } = *self;
        let computed = peer.loss_event_rate.is_some() || peer.receive_rate.is_some();
        if let Some(congestion) = peer.congestion {
            let report = NadaReport {
                sender_ssrc,
                media_ssrc,
                ramp_up: congestion.ramp_up,
                congestion: congestion.delay,
                receive_rate: peer.receive_rate.unwrap_or(Bitrate::ZERO),
            };
            outbox.append(report.buffer_len(), |buffer| report.emit(buffer));
        } else if computed {
            let report = TfrcReport {
                sender_ssrc,
                media_ssrc,
                echo: self.echo.sent,
                delay: self.delay(),
                receive_rate: peer.receive_rate.unwrap_or(Bitrate::ZERO),
                loss_event_rate: peer.loss_event_rate.unwrap_or(Probability::ZERO),
                new_loss: peer.new_loss_event,
                ecn: peer.ce_packets.is_some(),
                ce_packets: peer.ce_packets.unwrap_or(0),
            };
            outbox.append(report.buffer_len(), |buffer| report.emit(buffer));
        }
        let Some(BufferLevel { held, capacity }) = peer.buffer.or(present) else { return };
        if computed || peer.congestion.is_some() || peer.buffer.is_none() {
            let report = BufferLevelReport { sender_ssrc, media_ssrc, held, capacity };
            outbox.append(report.buffer_len(), |buffer| report.emit(buffer));
        } else {
            let (highest_sequence, lost) = state.highest_and_lost();
            let (echo, delay) = (self.echo.sent, self.delay());
            let report = BufferAwareReport {
                sender_ssrc,
                media_ssrc,
                held,
                capacity,
                echo,
                delay,
                highest_sequence,
                lost,
            };
            outbox.append(report.buffer_len(), |buffer| report.emit(buffer));
        }
    }

    fn delay(&self) -> TimeDelta {
        self.echo.delay(self.now)
    }
}

/// Arrivals by transport-wide number, for the draft's feedback.
#[derive(Debug, Default)]
pub(super) struct TransportLog {
    sequence: Option<SequenceUnwrapper<16>>,
    /// Number of the first slot: what was not reported yet.
    base: u64,
    slots: VecDeque<Option<Timestamp>>,
    media_ssrc: Option<u32>,
    feedback_count: u8,
}

/// Numbers that wait for a report at most.
const TRANSPORT_WINDOW: u64 = 8192;

impl TransportLog {
    pub(super) fn on_arrival(&mut self, at: Timestamp, ssrc: u32, number: u16) {
        self.media_ssrc = Some(ssrc);
        let unwrap = self.sequence.get_or_insert_with(|| {
            let unwrap = SequenceUnwrapper::new(number.into());
            self.base = unwrap.highest();
            unwrap
        });
        let sequence = unwrap.next(number.into());
        // A number that was reported missing is not reported again.
        let Some(index) = sequence.checked_sub(self.base) else { return };
        if index >= TRANSPORT_WINDOW {
            self.slots.clear();
            self.base = sequence;
        }
        let index = (sequence - self.base) as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, None);
        }
        self.slots[index].get_or_insert(at);
    }

    fn pending(&self) -> Option<(u16, impl Iterator<Item = Option<Timestamp>> + Clone + '_)> {
        (!self.slots.is_empty()).then(|| (self.base as u16, self.slots.iter().copied()))
    }

    fn on_reported(&mut self, statuses: u16) {
        let count = usize::from(statuses).min(self.slots.len());
        self.slots.drain(..count);
        self.base += count as u64;
        self.feedback_count = self.feedback_count.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_reports_wait_and_no_more() {
        let mut outbox = Outbox::default();
        for number in 0..WAITING + 44 {
            outbox.push(Bytes::from(vec![0; number]));
        }
        let waiting: Vec<_> =
            std::iter::from_fn(|| outbox.pop()).map(|(_, datagram)| datagram.len()).collect();
        assert!(waiting.iter().copied().eq(0..WAITING), "the oldest: {waiting:?}");
        assert!(outbox.is_empty());
        outbox.push(Bytes::new());
        assert!(!outbox.is_empty(), "there is room again");
    }

    /// An outbox of datagrams of 100 octets that begin with ten of head.
    fn outbox() -> Outbox {
        Outbox { longest: 100, head: vec![1; 10], ..Outbox::default() }
    }

    fn append(outbox: &mut Outbox, len: usize) {
        outbox.append(len, |buffer| {
            buffer.fill(2);
            Ok(len)
        });
    }

    #[test]
    fn a_datagram_is_filled_and_no_longer() {
        let mut outbox = outbox();
        (0..7).for_each(|_| append(&mut outbox, 30));
        outbox.flush();
        let datagrams: Vec<_> = std::iter::from_fn(|| outbox.pop()).map(|(_, datagram)| datagram).collect();
        assert_eq!(datagrams.iter().map(Bytes::len).collect::<Vec<_>>(), [100, 100, 40]);
        assert!(datagrams.iter().all(|datagram| datagram[..10] == [1; 10] && datagram[10] == 2));
    }

    /// A head alone says nothing, unless it is due.
    #[test]
    fn a_head_alone_leaves_where_it_is_due() {
        for due in [false, true] {
            let mut outbox = Outbox { is_head_due: due, ..outbox() };
            outbox.begin_compound();
            outbox.flush();
            assert_eq!(outbox.pop().is_some(), due);
            outbox.begin_compound();
            outbox.flush();
            assert!(outbox.is_empty(), "once");
        }
    }

    /// What is of unknown length gets half a datagram at least.
    #[test]
    fn a_report_of_unknown_length_has_half_a_datagram() {
        for (len, flushed) in [(10, false), (40, false), (41, true), (90, true)] {
            let mut outbox = outbox();
            append(&mut outbox, len);
            outbox.begin();
            assert_eq!(!outbox.is_empty(), flushed, "{len}");
            assert_eq!(outbox.octets.len(), if flushed { 10 } else { 10 + len });
        }
        let mut outbox = outbox();
        outbox.begin();
        assert_eq!(outbox.octets, [1; 10]);
    }

    /// RFC 3550 section 6.1: a receiver report, then the canonical name; with as many blocks as the datagram has room for.
    #[test]
    fn a_compound_packet_has_a_report_and_a_name() {
        for packet in (500..1400).step_by(4) {
            let config = ReceiverConfig { packet: DataSize::from_bytes(packet), ..ReceiverConfig::new(7) };
            let room = longest(&config);
            assert_eq!(room, (packet as usize - 28 - 4).min(1200), "IPv4, UDP and the number of SRTCP");
            let blocks = vec![ReportBlock::default(); BLOCKS + 1];
            let most = blocks_in(room, &config);
            let head = compound_head(&config, &blocks[..most]);
            let (report, rest) = seaway_wire::rtcp::Packet::parse(&head).unwrap();
            let report = ReceiverReport::parse(report).unwrap();
            assert_eq!((report.ssrc, report.blocks.len()), (7, most));
            let (name, rest) = seaway_wire::rtcp::Packet::parse(rest).unwrap();
            assert_eq!(SourceName::parse(name).unwrap().cname, b"seaway");
            assert!(rest.is_empty() && head.len() <= room);
            let more = compound_head(&config, &blocks[..(most + 1).min(BLOCKS)]);
            assert!(most == BLOCKS || more.len() + 4 > room, "{most} blocks in {room}");
        }
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(ms)
    }

    /// Transport-wide numbers: what was reported, arrived or not, is not reported again.
    #[test]
    fn a_transport_wide_number_is_reported_once() {
        let mut log = TransportLog::default();
        let pending =
            |log: &TransportLog| log.pending().map(|(base, arrivals)| (base, arrivals.collect::<Vec<_>>()));
        [65_534, 65_535, 1].into_iter().for_each(|number| log.on_arrival(at(1), 9, number));
        assert_eq!(pending(&log), Some((65_534, vec![Some(at(1)), Some(at(1)), None, Some(at(1))])));
        log.on_reported(3);
        log.on_arrival(at(2), 9, 0);
        assert_eq!(pending(&log), Some((1, vec![Some(at(1))])), "0 was reported missing");
        log.on_reported(1);
        assert_eq!(pending(&log), None);
        log.on_arrival(at(3), 9, 4);
        assert_eq!(pending(&log), Some((2, vec![None, None, Some(at(3))])));
        assert_eq!(log.feedback_count, 2);
    }

    /// Which packets report what the receiving half of a controller computed, by their names.
    #[test]
    fn each_computed_report_has_its_packet() {
        let level = BufferLevel { held: DataSize::from_bytes(1), capacity: DataSize::from_bytes(2) };
        let congestion =
            Some(seaway_control::Congestion { delay: TimeDelta::from_millis(5), ramp_up: false });
        let (none, buffer) = (PeerReport::default(), Some(level));
        let (rate, loss) = (Some(Bitrate::from_kbps(8)), Some(Probability::clamped(0.5)));
        for (peer, present, expected) in [
            (none, None, vec![]),
            (none, buffer, vec![BufferLevelReport::NAME]),
            (PeerReport { buffer, ..none }, None, vec![BufferAwareReport::NAME]),
            (PeerReport { receive_rate: rate, ..none }, None, vec![TfrcReport::NAME]),
            (PeerReport { loss_event_rate: loss, ..none }, None, vec![TfrcReport::NAME]),
            (
                PeerReport { receive_rate: rate, ..none },
                buffer,
                vec![TfrcReport::NAME, BufferLevelReport::NAME],
            ),
            (
                PeerReport { receive_rate: rate, buffer, ..none },
                None,
                vec![TfrcReport::NAME, BufferLevelReport::NAME],
            ),
            (PeerReport { congestion, ..none }, None, vec![NadaReport::NAME]),
            (
                PeerReport { congestion, buffer, ..none },
                None,
                vec![NadaReport::NAME, BufferLevelReport::NAME],
            ),
        ] {
            let mut outbox = Outbox { longest: 1000, ..Outbox::default() };
            let echo = SubflowEcho { sent: MicrosClock::from_bits(77), at: at(100) };
            let report = SubflowReport { sender_ssrc: 1, media_ssrc: 2, echo, now: at(130) };
            report.append(&peer, present, &SubflowState::default(), &mut outbox);
            let mut names = Vec::new();
            let mut rest = &outbox.octets[..];
            while !rest.is_empty() {
                let (packet, after) = seaway_wire::rtcp::Packet::parse(rest).unwrap();
                if let Ok(report) = TfrcReport::parse(packet) {
                    assert_eq!((report.delay, report.echo.bits()), (TimeDelta::from_millis(30), 77));
                }
                names.push(seaway_wire::rtcp::App::parse(packet).unwrap().name);
                rest = after;
            }
            assert_eq!(names, expected.into_iter().copied().collect::<Vec<_>>(), "{peer:?} {present:?}");
        }
    }
}
