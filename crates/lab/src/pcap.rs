//! The packets of a run as a capture file that Wireshark opens.

use crate::payload::{Content, Payload};
use crate::tag::Tag;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};
use seaway_link::Packet;
use seaway_sim::Envelope;
use seaway_sim::tcp::{Segment, SegmentKind};
use seaway_units::{DataSize, Timestamp};
use seaway_wire::ip::{TcpHeader, append_tcp, append_udp, tcp_flag};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Where media is sent to: the port that RFC 3551 names for RTP. Its RTCP shares it (RFC 5761).
pub(crate) const RTP: u16 = 5004;
/// Where S002's transport is sent to; it has no port of its own.
pub(crate) const WINDOW: u16 = 5010;
/// Where padding is sent to: the discard port of RFC 863.
pub(crate) const DISCARD: u16 = 9;
/// Where TCP connects to: the discard port of RFC 863.
pub(crate) const SINK: u16 = 9;
/// The first of the senders' ports.
const FIRST_PORT: u16 = 10_000;
/// Between the ports of two flows: so many connections may one have before they meet.
const SPREAD: u32 = 997;
/// Ports before they are used again.
const PORTS: u32 = 50_000;

/// Writes the packets of each flow as the host that sends would see them: data as it leaves, answers as they arrive. A
/// capture counts from the Unix epoch, which is when the run begins. Where payload has no content it is zeros.
pub(crate) struct Capture {
    writer: PcapWriter<Box<dyn Write + Send>>,
    flows: Vec<CapturedFlow>,
    packet: Vec<u8>,
    payload: Vec<u8>,
    failure: Option<io::Error>,
}

/// A flow on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CapturedFlow {
    from: Ipv4Addr,
    to: Ipv4Addr,
    /// The receiver's port.
    port: u16,
    /// The payload of a full TCP segment.
    full: DataSize,
    /// The last TCP segment of a connection: the connection, the segment's number and length.
    last: Option<(u32, u64, u32)>,
}

impl CapturedFlow {
    /// A flow between two nodes, which are numbered; a full TCP segment carries `full`.
    pub(crate) const fn new(from: usize, to: usize, port: u16, full: DataSize) -> Self {
        Self { from: address(from), to: address(to), port, full, last: None }
    }
}

/// 10.0.0.1 and those behind it.
const fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits().wrapping_add(node as u32))
}

impl Capture {
    /// Begins a capture of these flows.
    pub(crate) fn new(out: Box<dyn Write + Send>, flows: Vec<CapturedFlow>) -> io::Result<Self> {
        let header = PcapHeader {
            datalink: DataLink::RAW,
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        Ok(Self {
            flows,
            writer: PcapWriter::with_header(out, header).map_err(io::Error::other)?,
            packet: Vec::new(),
            payload: Vec::new(),
            failure: None,
        })
    }

    /// Notes a packet that passes the sending host.
    pub(crate) fn note(&mut self, now: Timestamp, tag: Tag, packet: &Packet<Envelope<Payload>>) {
        if self.failure.is_some() {
            return;
        }
        self.packet.clear();
        self.payload.clear();
        match packet.payload.payload().content() {
            Some(Content::Segment(segment)) => self.append_segment(tag, packet, *segment),
            None => {
                self.payload.resize((packet.size.as_bytes() as usize).saturating_sub(28), 0);
                self.append_datagram(tag, packet);
            }
            Some(Content::Message(message)) => {
                message.encode(&mut self.payload);
                self.append_datagram(tag, packet);
            }
            Some(Content::Bytes(octets)) => {
                self.payload.extend_from_slice(octets);
                self.append_datagram(tag, packet);
            }
        }
        let at = Duration::from_nanos(now.as_nanos());
        let record = PcapPacket::new(at, self.packet.len() as u32, &self.packet);
        self.failure = self.writer.write_packet(&record).err().map(io::Error::other);
    }

    fn append_datagram(&mut self, tag: Tag, packet: &Packet<Envelope<Payload>>) {
        let (from, to) = self.ends(tag, (tag.flow as u32).wrapping_mul(SPREAD));
        append_udp(&mut self.packet, from, to, packet.ecn, &self.payload);
    }

    /// A connection counts its octets from 1, behind the SYN; the last segment has the FIN.
    fn append_segment(&mut self, tag: Tag, packet: &Packet<Envelope<Payload>>, segment: Segment) {
        let Segment { connection, kind } = segment;
        let flow = &mut self.flows[tag.flow];
        let full = flow.full.as_bytes();
        if let SegmentKind::Data { number, length, is_last: true, .. } = kind {
            flow.last = Some((connection, number, length));
        }
        let last = flow.last.filter(|(last, ..)| *last == connection);
        // Behind the last segment stands the FIN, which counts as an octet.
        let octet = |number: u64| match last {
            Some((_, last, length)) if number > last => (2 + last * full + u64::from(length)) as u32,
            _ => (1 + number * full) as u32,
        };
        let mut blocks = [(0, 0); 3];
        let mut header = TcpHeader {
            sequence_number: 1,
            acknowledgement_number: 1,
            flags: tcp_flag::ACK,
            window: u16::MAX,
            sacked: &[],
        };
        let mut payload = 0;
        match kind {
            SegmentKind::Syn => {
                (header.sequence_number, header.acknowledgement_number, header.flags) = (0, 0, tcp_flag::SYN);
            }
            SegmentKind::SynAck => {
                (header.sequence_number, header.flags) = (0, tcp_flag::SYN | tcp_flag::ACK);
            }
            SegmentKind::Data { number, length, is_last, cwr } => {
                header.sequence_number = octet(number);
                header.flags |= if is_last { tcp_flag::FIN } else { 0 } | if cwr { tcp_flag::CWR } else { 0 };
                payload = length as usize;
            }
            SegmentKind::Ack { next, echo, sacked } => {
                header.acknowledgement_number = octet(next);
                header.flags |= if echo { tcp_flag::ECE } else { 0 };
                let mut count = 0;
                for (slot, block) in blocks.iter_mut().zip(sacked.iter(next)) {
                    *slot = (octet(block.start), octet(block.end));
                    count += 1;
                }
                header.sacked = &blocks[..count];
            }
        }
        let (from, to) = self.ends(tag, (tag.flow as u32).wrapping_mul(SPREAD).wrapping_add(connection));
        append_tcp(&mut self.packet, from, to, packet.ecn, header, payload);
    }

    /// Source and destination; `number` distinguishes connections between the same two hosts.
    fn ends(&self, tag: Tag, number: u32) -> (SocketAddr, SocketAddr) {
        let flow = &self.flows[tag.flow];
        let port = FIRST_PORT + (number % PORTS) as u16;
        let ends = (SocketAddr::from((flow.from, port)), SocketAddr::from((flow.to, flow.port)));
        if tag.is_reverse { (ends.1, ends.0) } else { ends }
    }

    /// Flushes the file.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.writer.into_writer().flush(),
        }
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").field("flows", &self.flows.len()).finish_non_exhaustive()
    }
}
