//! Reads and rewrites the packets of the video PID.

use std::collections::VecDeque;
use std::ops::Range;

use super::packet::Packet;
use super::report::TransportReport;
use crate::container::pes;
use crate::container::track::VideoTrack;

/// A packet of the video with the parts of its payload.
#[derive(Debug)]
pub(super) struct VideoPacket {
    packet: Packet,
    /// Payload bytes before the elementary stream: the PES header, or the whole of an unreadable payload.
    header: usize,
    /// The rest of the payload, as positions in the input's elementary stream.
    video: Range<u64>,
    /// Number of the PES packet it belongs to.
    pes: u64,
    /// It starts that PES packet.
    starts: bool,
    /// It increments the continuity counter.
    counted: bool,
    /// Changes when the video moves to another PID.
    epoch: u64,
}

/// A PES packet of the video.
#[derive(Debug)]
struct PesPacket {
    video: Range<u64>,
    /// Its end is known.
    ended: bool,
    header: PesHeader,
}

#[derive(Clone, Copy, Debug)]
enum PesHeader {
    /// Not completely read.
    Pending,
    /// Unreadable.
    Unread,
    Read(pes::Header),
}

/// The content of the next packet's payload.
#[derive(Debug, Default)]
enum PayloadState {
    /// Unreadable, up to the next start of a PES packet.
    #[default]
    Opaque,
    /// The rest of a PES header that begins with these bytes.
    Header(Vec<u8>),
    /// The elementary stream.
    Video,
}

/// The last packet, to detect its duplicate.
#[derive(Debug)]
struct LastPacket {
    counter: u8,
    payload: Vec<u8>,
    header: usize,
    video: Range<u64>,
    starts: bool,
}

/// Reads and writes the packets of one PID.
#[derive(Debug)]
pub(super) struct VideoPid {
    pid: u16,
    state: PayloadState,
    last: Option<LastPacket>,
    packets: VecDeque<PesPacket>,
    /// Number of the first of `packets`.
    first: u64,
    epoch: u64,
    /// Packets of this epoch that have lost their payload, and so do not increment the continuity counter.
    removed: u64,
    removed_epoch: u64,
    scratch: Vec<u8>,
}

impl VideoPid {
    pub(super) fn new(pid: u16) -> VideoPid {
        VideoPid {
            pid,
            state: PayloadState::Opaque,
            last: None,
            packets: VecDeque::from([PesPacket { video: 0..0, ended: false, header: PesHeader::Unread }]),
            first: 0,
            epoch: 0,
            removed: 0,
            removed_epoch: 0,
            scratch: Vec::new(),
        }
    }

    pub(super) fn pid(&self) -> u16 {
        self.pid
    }

    /// The video continues with another PID.
    pub(super) fn follow(&mut self, pid: u16, track: &mut VideoTrack) {
        if pid != self.pid {
            track.close();
            self.end_packet(track);
            self.pid = pid;
            self.state = PayloadState::Opaque;
            self.last = None;
            self.epoch += 1;
        }
    }

    pub(super) fn end_packet(&mut self, track: &VideoTrack) {
        let packet = self.present();
        if !packet.ended {
            packet.video.end = track.position;
            packet.ended = true;
        }
    }

    pub(super) fn take(
        &mut self,
        packet: Packet,
        track: &mut VideoTrack,
        report: &mut TransportReport,
    ) -> VideoPacket {
        report.video_packets += 1;
        let here = track.position;
        let pes = self.first + self.packets.len() as u64 - 1;
        let mut entry = VideoPacket {
            header: 0,
            video: here..here,
            pes,
            starts: false,
            counted: false,
            epoch: self.epoch,
            packet,
        };
        let duplicate = self.duplicate(&entry.packet);
        // A packet has at most one duplicate, right behind it.
        if let Some(last) = self.last.as_mut().filter(|_| duplicate || entry.packet.payload().is_empty()) {
            last.payload.clear();
            if duplicate {
                report.repeated_packets += 1;
                (entry.header, entry.video, entry.starts) = (last.header, last.video.clone(), last.starts);
            }
        }
        if duplicate || entry.packet.payload().is_empty() {
            return entry;
        }
        entry.counted = true;
        self.check_continuity(&entry.packet, track, report);
        self.read_payload(&mut entry, track, report);
        self.last = Some(LastPacket {
            counter: entry.packet.continuity_counter(),
            payload: entry.packet.payload().to_vec(),
            header: entry.header,
            video: entry.video.clone(),
            starts: entry.starts,
        });
        entry
    }

    /// True for a duplicate of the last packet (2.4.3.3: equal except for the PCR).
    fn duplicate(&self, packet: &Packet) -> bool {
        let same = |last: &LastPacket| {
            last.counter == packet.continuity_counter()
                && !last.payload.is_empty()
                && last.payload == packet.payload()
        };
        !packet.discontinuity() && self.last.as_ref().is_some_and(same)
    }

    fn check_continuity(&self, packet: &Packet, track: &mut VideoTrack, report: &mut TransportReport) {
        let expected = self.last.as_ref().map(|last| (last.counter + 1) & 15);
        let gap = expected.is_some_and(|expected| expected != packet.continuity_counter());
        if gap && !packet.discontinuity() {
            report.continuity_errors += 1;
        }
        if gap || packet.transport_error() {
            track.mark_damage();
        }
    }

    fn read_payload(
        &mut self,
        entry: &mut VideoPacket,
        track: &mut VideoTrack,
        report: &mut TransportReport,
    ) {
        let packet = &entry.packet;
        let payload = packet.payload();
        entry.header = payload.len();
        if packet.scrambled() {
            report.scrambled_packets += 1;
            self.state = PayloadState::Opaque;
            return;
        }
        if packet.payload_unit_start() {
            self.end_packet(track);
            let here = track.position;
            let readable = payload.len() >= pes::FIXED && pes::is_video(payload[3]);
            let (state, header) = if readable {
                (PayloadState::Header(Vec::new()), PesHeader::Pending)
            } else {
                (PayloadState::Opaque, PesHeader::Unread)
            };
            self.packets.push_back(PesPacket { video: here..here, ended: false, header });
            self.state = state;
            entry.pes += 1;
            entry.starts = true;
        }
        entry.header = match &mut self.state {
            PayloadState::Opaque => payload.len(),
            PayloadState::Video => 0,
            PayloadState::Header(seen) => {
                let before = seen.len();
                seen.extend_from_slice(payload);
                match pes::parse(seen) {
                    Err(pes::HeaderError::Incomplete) => payload.len(),
                    Ok(header) if !header.scrambled => {
                        self.begin_video(header, track);
                        header.len - before
                    }
                    Ok(_) | Err(pes::HeaderError::Malformed) => {
                        report.scrambled_packets += 1;
                        self.state = PayloadState::Opaque;
                        self.present().header = PesHeader::Unread;
                        payload.len()
                    }
                }
            }
        };
        track.push(&payload[entry.header..]);
        entry.video.end = track.position;
        let present = self.present();
        // Payload beyond a wrong length is video too, and the length is left wrong.
        let declared = present.read_header().and_then(|header| header.payload_len());
        if let Some(end) = declared.map(|len| present.video.start + len)
            && !present.ended
            && end <= entry.video.end
        {
            (present.video.end, present.ended) = (end, true);
        }
    }

    fn begin_video(&mut self, header: pes::Header, track: &mut VideoTrack) {
        if let Some(pts) = header.pts {
            track.push_time_stamp(pts, header.dts);
        }
        self.state = PayloadState::Video;
        self.present().header = PesHeader::Read(header);
    }

    fn present(&mut self) -> &mut PesPacket {
        self.packets.back_mut().expect("there is always a present packet")
    }

    fn pes(&self, number: u64) -> &PesPacket {
        &self.packets[(number - self.first) as usize]
    }

    /// True where everything needed to rewrite a packet is known: its own video, and that of its whole PES packet if that
    /// is bounded.
    pub(super) fn is_ready(&self, entry: &VideoPacket, track: &VideoTrack) -> bool {
        let pes = self.pes(entry.pes);
        let pes_known = match pes.header {
            PesHeader::Pending => pes.ended,
            PesHeader::Unread => true,
            PesHeader::Read(_) => !pes.is_bounded() || pes.ended && pes.video.end <= track.writable,
        };
        entry.video.end <= track.writable && pes_known
    }

    /// The position of the first video that [`VideoPid::rewrite`] needs for a packet and later ones.
    pub(super) fn needed_from(&self, entry: &VideoPacket) -> u64 {
        let pes = self.pes(entry.pes);
        if pes.is_bounded() { pes.video.start } else { entry.video.start }
    }

    /// The output for a packet that is ready, and the bytes of video in it.
    pub(super) fn rewrite(
        &mut self,
        entry: VideoPacket,
        track: &VideoTrack,
        report: &mut TransportReport,
    ) -> (Packet, u64) {
        while self.first < entry.pes {
            self.packets.pop_front();
            self.first += 1;
        }
        if self.removed_epoch != entry.epoch {
            (self.removed, self.removed_epoch) = (0, entry.epoch);
        }
        self.compose_payload(&entry, track);
        let mut packet = entry.packet;
        if self.scratch != packet.payload() {
            packet.set_payload(&self.scratch);
            let emptied = !packet.has_payload();
            self.removed += u64::from(emptied && entry.counted);
            if emptied && !packet.adaptation_matters() {
                report.freed_packets += 1;
                packet.make_null();
                return (packet, 0);
            }
        }
        packet.set_continuity_counter(packet.continuity_counter().wrapping_sub(self.removed as u8));
        let bytes = if entry.counted { track.written_len(&entry.video) } else { 0 };
        (packet, bytes)
    }

    /// Writes the new payload into the scratch buffer.
    fn compose_payload(&mut self, entry: &VideoPacket, track: &VideoTrack) {
        let (header, video) = entry.packet.payload().split_at(entry.header);
        let pes = &self.packets[(entry.pes - self.first) as usize];
        self.scratch.clear();
        self.scratch.extend_from_slice(header);
        if let Some(known) = pes.read_header().filter(|_| pes.is_bounded()) {
            let left = track.written_len(&pes.video);
            let gone = pes.video.end - pes.video.start - left;
            if gone > 0 && left == 0 && !track.starts_in(&pes.video) {
                self.scratch.clear(); // a PES packet inside a picture lost all its payload
            } else if gone > 0 && entry.starts {
                pes::set_packet_length(&mut self.scratch, (known.packet_length as u64 - gone) as u16);
            }
        }
        if entry.starts
            && pes.read_header().is_some_and(|header| header.aligned)
            && track.shrunk_before(pes.video.start)
            && !self.scratch.is_empty()
        {
            pes::clear_alignment(&mut self.scratch);
        }
        track.write(&entry.video, video, &mut self.scratch);
    }
}

impl PesPacket {
    fn read_header(&self) -> Option<pes::Header> {
        match self.header {
            PesHeader::Read(header) => Some(header),
            PesHeader::Pending | PesHeader::Unread => None,
        }
    }

    /// True where its header has a length, and that is at least the length of the header.
    fn is_bounded(&self) -> bool {
        self.read_header().is_some_and(|header| header.payload_len().is_some())
    }
}
