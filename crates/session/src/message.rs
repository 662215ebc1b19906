//! The messages between endpoints, which encode to exactly the octets that they count.

use crate::payload::Payload;
use bytes::Bytes;
use seaway_control::Subflow;
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};
use seaway_wire::extension::{CtfrcData, Form, FrameMarking, TfrcData, TransportSequence, Writer};
use seaway_wire::rtp::{self, HEADER_LEN, Header};
use seaway_wire::{Error, MicrosClock, rtcp};

/// Packets that a receiver requests at most, in one request, of those that it does not know to have left.
pub(crate) const MOST_AHEAD: u64 = 64;

/// A packet that leaves; its content is the [`Message`] that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// When it leaves.
    pub at: Timestamp,
    /// The whole IP datagram, headers included.
    pub size: DataSize,
    /// The codepoint of its IP header.
    pub ecn: Ecn,
    /// The connection it leaves by; a driver with several sockets may use it.
    pub subflow: Subflow,
}

/// The content of one datagram. Every field has the resolution of the wire, so a simulator that carries the message and a
/// socket that carries its octets have the same effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Media, a retransmission, or padding.
    Rtp(RtpPacket),
    /// One or more RTCP packets, encoded.
    Rtcp(Bytes),
}

impl Default for Message {
    /// An empty message, to be written to.
    fn default() -> Self {
        Self::Rtcp(Bytes::new())
    }
}

impl Message {
    /// The message as an RTP packet of any content, to be written over.
    #[inline]
    pub(crate) fn rtp_mut(&mut self) -> &mut RtpPacket {
        if matches!(self, Self::Rtcp(_)) {
            *self = Self::Rtp(RtpPacket::default());
        }
        match self {
            Self::Rtp(packet) => packet,
            Self::Rtcp(_) => unreachable!("made above"),
        }
    }

    /// Octets of the UDP payload.
    #[inline]
    pub fn wire_len(&self) -> usize {
        match self {
            Self::Rtp(packet) => packet.wire_len(),
            Self::Rtcp(bytes) => bytes.len(),
        }
    }

    /// Appends the octets of the UDP payload to `buffer`. Synthetic payload becomes zeros.
    pub fn encode(&self, buffer: &mut Vec<u8>) {
        match self {
            Self::Rtp(packet) => packet.encode(buffer),
            Self::Rtcp(bytes) => buffer.extend_from_slice(bytes),
        }
    }

    /// Reads a UDP payload; the message keeps slices of `datagram` where it can.
    ///
    /// # Errors
    /// Malformed RTP or RTCP; RTP with contributing sources, padding or an extension of another profile, which no endpoint
    /// here sends.
    pub fn decode(datagram: &Bytes) -> Result<Self, Error> {
        if rtcp::is_rtcp(datagram) {
            rtcp::packets(datagram).try_for_each(|packet| packet.map(|_| ()))?;
            return Ok(Self::Rtcp(datagram.clone()));
        }
        RtpPacket::decode(datagram).map(Self::Rtp)
    }

    /// Reads a UDP payload of a sender that may be no endpoint of this project: contributing sources, padding and header
    /// extensions of others are passed over. `transport_id` is the local identifier of its transport-wide sequence numbers.
    ///
    /// # Errors
    /// Malformed RTP or RTCP.
    pub fn decode_plain(datagram: &Bytes, transport_id: Option<u8>) -> Result<Self, Error> {
        match Self::decode(datagram) {
            Ok(Self::Rtp(packet)) if packet.control.is_none() => {}
            Err(_) if !rtcp::is_rtcp(datagram) => {}
            decided => return decided,
        }
        RtpPacket::decode_plain(datagram, transport_id).map(Self::Rtp)
    }
}

/// An RTP packet (RFC 3550 section 5.1) with the header extensions of this project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RtpPacket {
    /// Set on the last packet of a frame.
    pub marker: bool,
    /// See [`payload_type`].
    pub payload_type: u8,
    /// Counts packets of the source, modulo 2^16.
    pub sequence_number: u16,
    /// The frame's capture time, in ticks of the stream's clock.
    pub timestamp: u32,
    /// Synchronisation source; see [`SourceId`](crate::SourceId).
    pub ssrc: u32,
    /// For the receiving half of the controller.
    pub control: Option<ControlData>,
    /// Its frame, and its place in the frame.
    pub marking: Option<FrameMarking>,
    /// Counts packets of the session, modulo 2^16, for transport-wide feedback.
    pub transport_sequence: Option<u16>,
    /// What it carries.
    pub payload: Payload,
}

/// RTP payload types: the usual ones of streams, and those that are the same in every session.
pub mod payload_type {
    use seaway_control::StreamId;

    /// MPEG-1/2 video (RFC 2250), the static assignment of RFC 3551.
    pub const MPV: u8 = 32;
    /// MPEG transport streams (RFC 2250), the static assignment of RFC 3551.
    pub const MP2T: u8 = 33;
    /// H.264 (RFC 6184).
    pub const H264: u8 = 96;
    /// Frames cut at the packet size, nothing added.
    pub const OPAQUE: u8 = 97;
    /// Opus (RFC 7587), the usual one of browsers.
    pub const OPUS: u8 = 111;
    /// H.265 (RFC 7798).
    pub const H265: u8 = 98;
    /// AV1 (AOM's payload format).
    pub const AV1: u8 = 100;
    /// AAC (RFC 3640).
    pub const AAC: u8 = 101;
    /// Padding for probes; its payload is ignored.
    pub const PADDING: u8 = 99;

    /// The first of those that no stream may use: a payload type for each stream's retransmissions, then one for each
    /// stream's repair packets.
    const RESERVED: u8 = 112;

    /// Retransmissions of a stream (RFC 4588 section 8.1: one payload type for each that is sent again).
    pub const fn retransmission(stream: StreamId) -> u8 {
        RESERVED + stream.0 % crate::SourceId::STREAMS
    }

    /// Repair packets of a stream (RFC 8681).
    pub const fn fec(stream: StreamId) -> u8 {
        RESERVED + crate::SourceId::STREAMS + stream.0 % crate::SourceId::STREAMS
    }

    /// True where no stream may use it.
    pub(crate) const fn is_reserved(payload_type: u8) -> bool {
        payload_type == PADDING || payload_type >= RESERVED
    }

    /// The payload type of frames in this format.
    pub const fn of(format: crate::Format) -> u8 {
        match format {
            crate::Format::Opaque => OPAQUE,
            crate::Format::H264 => H264,
            crate::Format::Mpv => MPV,
            crate::Format::Opus => OPUS,
            crate::Format::Aac(_) => AAC,
            crate::Format::Mp2t => MP2T,
            crate::Format::H265 => H265,
            crate::Format::Av1 => AV1,
        }
    }
}

/// Header fields for the receiving half of the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlData {
    /// Counts packets of the subflow, modulo 2^32.
    pub sequence_number: u32,
    /// When the packet left.
    pub sent: MicrosClock,
    /// The sender's round-trip estimate, in whole microseconds from one up.
    pub rtt: Option<TimeDelta>,
    /// A number of the controller's own.
    pub tag: Option<u16>,
}

/// Local identifier of transport-wide sequence numbers.
pub const TRANSPORT_SEQUENCE_ID: u8 = 4;

/// Local identifiers of the header extension elements.
mod element {
    pub(super) use seaway_wire::extension::{CtfrcData, FrameMarking, TfrcData};
    pub(super) const TRANSPORT_SEQUENCE: u8 = super::TRANSPORT_SEQUENCE_ID;
}

/// Octets of an element's identifier and length.
const ELEMENT_HEAD: usize = 2;
/// The longest extension: control data with a tag, frame data, transport-wide number.
const LONGEST: usize = 3 * ELEMENT_HEAD + CtfrcData::LEN + FrameMarking::LEN + 2;

impl RtpPacket {
    /// Octets of an encoded packet before its payload.
    pub(crate) const fn header_len(tagged: bool, framed: bool, transport_wide: bool) -> usize {
        let control = ELEMENT_HEAD + if tagged { CtfrcData::LEN } else { TfrcData::LEN };
        let frame = if framed { ELEMENT_HEAD + FrameMarking::LEN } else { 0 };
        let transport = if transport_wide { ELEMENT_HEAD + 2 } else { 0 };
        HEADER_LEN + 4 + (control + frame + transport).div_ceil(4) * 4
    }

    #[inline]
    pub(crate) fn wire_len(&self) -> usize {
        let Some(control) = self.control else { return self.measured_len() };
        let (frame, transport) = (self.marking.is_some(), self.transport_sequence.is_some());
        Self::header_len(control.tag.is_some(), frame, transport) + self.payload.len()
    }

    /// The length of a foreign packet, found by writing its header.
    #[cold]
    fn measured_len(&self) -> usize {
        let mut scratch = [0; LONGEST];
        self.header(&mut scratch).buffer_len() + self.payload.len()
    }

    fn header<'a>(&self, scratch: &'a mut [u8; LONGEST]) -> Header<'a> {
        // Others read the one-byte form; elements of our own do not fit it.
        let form =
            if self.control.is_none() && self.marking.is_none() { Form::OneByte } else { Form::TwoByte };
        let mut writer = Writer::new(form, scratch);
        let mut push =
            |id, data: &[u8]| writer.push(id, data).unwrap_or_else(|error| unreachable!("{error}"));
        if let Some(control) = self.control {
            let tfrc =
                TfrcData { sequence_number: control.sequence_number, sent: control.sent, rtt: control.rtt };
            match control.tag {
                None => push(element::TfrcData::DEFAULT_ID, &tfrc.to_bytes()),
                Some(virtual_sequence) => {
                    let data = CtfrcData { tfrc, virtual_sequence, is_virtual: true };
                    push(element::CtfrcData::DEFAULT_ID, &data.to_bytes());
                }
            }
        }
        if let Some(frame) = self.marking {
            push(element::FrameMarking::DEFAULT_ID, &frame.to_bytes());
        }
        if let Some(number) = self.transport_sequence {
            push(element::TRANSPORT_SEQUENCE, &TransportSequence(number).to_bytes());
        }
        Header {
            marker: self.marker,
            payload_type: self.payload_type,
            sequence_number: self.sequence_number,
            timestamp: self.timestamp,
            ssrc: self.ssrc,
            extension: writer.finish(),
            ..Header::default()
        }
    }

    fn encode(&self, buffer: &mut Vec<u8>) {
        let mut scratch = [0; LONGEST];
        let header = self.header(&mut scratch);
        let start = buffer.len();
        buffer.resize(start + header.buffer_len(), 0);
        // The payload type is a constant of ours or came from seven bits; the rest cannot fail.
        header.emit(&mut buffer[start..]).unwrap_or_else(|error| unreachable!("{error}"));
        self.payload.write(buffer);
    }

    fn decode(datagram: &Bytes) -> Result<Self, Error> {
        let packet = rtp::Packet::parse(datagram)?;
        let header = packet.header;
        let unexpected =
            |field, seen: usize, expected| Error::Invalid { field, offset: 0, seen: seen as u64, expected };
        if !header.csrc.is_empty() {
            return Err(unexpected("RTP CSRC count", header.csrc.len(), "0"));
        }
        if packet.padding != 0 {
            return Err(unexpected("RTP padding", packet.padding.into(), "none"));
        }
        let mut decoded = Self::without_extension(datagram, &packet);
        // Elements with identifiers of our own are in the two-byte form.
        if let Some(extension) = header.extension
            && Form::of_profile(extension.profile) == Some(Form::TwoByte)
        {
            decoded.read_elements(&extension)?;
        }
        // A packet without elements of our own is of others, whose identifiers the session description gives.
        if decoded.control.is_none() && decoded.marking.is_none() {
            decoded.transport_sequence = None;
        }
        Ok(decoded)
    }

    fn without_extension(datagram: &Bytes, packet: &rtp::Packet<'_>) -> Self {
        let header = packet.header;
        Self {
            marker: header.marker,
            payload_type: header.payload_type,
            sequence_number: header.sequence_number,
            timestamp: header.timestamp,
            ssrc: header.ssrc,
            control: None,
            marking: None,
            transport_sequence: None,
            payload: Payload::from(datagram.slice_ref(packet.payload)),
        }
    }

    /// RTP of any sender. Of its header extension the transport-wide sequence number counts, whose identifier the session
    /// description gives.
    fn decode_plain(datagram: &Bytes, transport_id: Option<u8>) -> Result<Self, Error> {
        let packet = rtp::Packet::parse(datagram)?;
        let mut decoded = Self::without_extension(datagram, &packet);
        let number = packet.header.extension.zip(transport_id).and_then(|(extension, id)| extension.find(id));
        decoded.transport_sequence =
            number.and_then(|data| TransportSequence::parse(data).ok()).map(|number| number.0);
        Ok(decoded)
    }

    fn read_elements(&mut self, extension: &rtp::Extension<'_>) -> Result<(), Error> {
        for element in extension.elements() {
            let element = element?;
            match element.id {
                element::TfrcData::DEFAULT_ID => {
                    self.control = Some(ControlData::from_tfrc(TfrcData::parse(element.data)?, None));
                }
                element::CtfrcData::DEFAULT_ID => {
                    let data = CtfrcData::parse(element.data)?;
                    let tag = data.is_virtual.then_some(data.virtual_sequence);
                    self.control = Some(ControlData::from_tfrc(data.tfrc, tag));
                }
                element::FrameMarking::DEFAULT_ID => self.marking = Some(FrameMarking::parse(element.data)?),
                element::TRANSPORT_SEQUENCE => {
                    self.transport_sequence = Some(TransportSequence::parse(element.data)?.0);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl ControlData {
    fn from_tfrc(data: TfrcData, tag: Option<u16>) -> Self {
        Self { sequence_number: data.sequence_number, sent: data.sent, rtt: data.rtt, tag }
    }
}
