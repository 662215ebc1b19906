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

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_control::StreamId;

    fn packet() -> RtpPacket {
        RtpPacket {
            marker: true,
            payload_type: payload_type::H264,
            sequence_number: 0x1234,
            timestamp: 0x0102_0304,
            ssrc: 0x0506_0708,
            payload: Bytes::from_static(&[0x41, 0x9A, 1]).into(),
            ..RtpPacket::default()
        }
    }

    fn control(tag: Option<u16>) -> ControlData {
        let sent = MicrosClock::from_timestamp(Timestamp::from_nanos(7_000_000));
        ControlData { sequence_number: 9, sent, rtt: Some(TimeDelta::from_millis(50)), tag }
    }

    fn marking() -> FrameMarking {
        let (start, end, independent, discardable) = (true, false, true, false);
        FrameMarking { start, end, independent, discardable, frame: 5, sequence_number: 6 }
    }

    fn octets(packet: &RtpPacket) -> Bytes {
        let message = Message::Rtp(packet.clone());
        let mut octets = Vec::new();
        message.encode(&mut octets);
        assert_eq!(octets.len(), message.wire_len(), "{packet:?}");
        octets.into()
    }

    #[test]
    fn packets_take_the_octets_that_they_count_and_come_back() {
        for control in [control(None), control(Some(3))] {
            for marking in [None, Some(marking())] {
                for transport_sequence in [None, Some(8)] {
                    let packet =
                        RtpPacket { control: Some(control), marking, transport_sequence, ..packet() };
                    let octets = octets(&packet);
                    let is_tagged = control.tag.is_some();
                    let head =
                        RtpPacket::header_len(is_tagged, marking.is_some(), transport_sequence.is_some());
                    assert_eq!(octets.len(), head + 3);
                    let decoded = Ok(Message::Rtp(packet));
                    assert_eq!(Message::decode(&octets), decoded);
                    assert_eq!(Message::decode_plain(&octets, Some(4)), decoded, "one of this project");
                }
            }
        }
        let marked = RtpPacket { marking: Some(marking()), transport_sequence: Some(8), ..packet() };
        assert_eq!(Message::decode(&octets(&marked)), Ok(Message::Rtp(marked)));
    }

    /// The identifier of the number is that of the session description, and there may be none.
    #[test]
    fn numbers_of_others_are_read_by_their_identifier() {
        let numbered = RtpPacket { transport_sequence: Some(8), ..packet() };
        let octets = octets(&numbered);
        assert_eq!(octets.len(), HEADER_LEN + 4 + 4 + 3);
        assert_eq!(Message::decode(&octets), Ok(Message::Rtp(packet())));
        assert_eq!(Message::decode_plain(&octets, Some(4)), Ok(Message::Rtp(numbered)));
        assert_eq!(Message::decode_plain(&octets, Some(5)), Ok(Message::Rtp(packet())));
        assert_eq!(Message::decode_plain(&octets, None), Ok(Message::Rtp(packet())));
    }

    /// A contributing source, or two octets of padding.
    #[test]
    fn what_no_endpoint_here_sends_is_passed_over_in_plain_packets() {
        let plain = octets(&packet());
        let (mut contributed, mut padded) = (plain.to_vec(), plain.to_vec());
        contributed[0] |= 1;
        contributed.splice(HEADER_LEN..HEADER_LEN, [1, 2, 3, 4]);
        padded[0] |= 0x20;
        padded.extend([0, 2]);
        for octets in [contributed, padded].map(Bytes::from) {
            assert!(Message::decode(&octets).is_err());
            assert_eq!(Message::decode_plain(&octets, None), Ok(Message::Rtp(packet())));
        }
        assert!(Message::decode_plain(&plain.slice(..HEADER_LEN - 1), None).is_err());
    }

    /// What is in them belongs to others; elements of our own are never so short.
    #[test]
    fn malformed_elements_are_refused() {
        for id in
            [TfrcData::DEFAULT_ID, CtfrcData::DEFAULT_ID, FrameMarking::DEFAULT_ID, TRANSPORT_SEQUENCE_ID]
        {
            let mut octets = octets(&packet()).to_vec();
            octets[0] |= 0x10;
            octets.splice(HEADER_LEN..HEADER_LEN, [0x10, 0, 0, 1, id, 1, 7, 0]);
            let octets = Bytes::from(octets);
            assert!(Message::decode(&octets).is_err(), "{id}");
            assert_eq!(Message::decode_plain(&octets, None), Ok(Message::Rtp(packet())));
        }
    }

    /// It is no RTP either, though its version is the same.
    #[test]
    fn malformed_rtcp_is_refused() {
        // A receiver report of one word, a whole one, and one that is cut off behind it.
        let report = [0x80, 201, 0, 1, 0, 0, 0, 7];
        let whole = Bytes::copy_from_slice(&report);
        assert_eq!(Message::decode(&whole), Ok(Message::Rtcp(whole.clone())));
        assert_eq!(Message::decode_plain(&whole, None), Ok(Message::Rtcp(whole.clone())));
        assert_eq!(Message::Rtcp(whole.clone()).wire_len(), 8);
        let cut = Bytes::from([&report[..], &report[..4]].concat());
        assert!(Message::decode(&cut).is_err() && Message::decode_plain(&cut, None).is_err());
    }

    #[test]
    fn each_stream_has_payload_types_of_its_own() {
        let of = |payload_type: fn(StreamId) -> u8| {
            (0..8).map(|id| payload_type(StreamId(id))).collect::<Vec<_>>()
        };
        assert_eq!(of(payload_type::retransmission), (112..120).collect::<Vec<_>>());
        assert_eq!(of(payload_type::fec), (120..128).collect::<Vec<_>>());
        assert_eq!((payload_type::retransmission(StreamId(9)), payload_type::fec(StreamId(9))), (113, 121));
    }

    #[test]
    fn a_message_is_written_over() {
        let mut message = Message::Rtp(packet());
        message.rtp_mut().sequence_number += 1;
        let next = RtpPacket { sequence_number: 0x1235, ..packet() };
        assert_eq!(message, Message::Rtp(next));
        let mut message = Message::default();
        *message.rtp_mut() = packet();
        assert_eq!(message, Message::Rtp(packet()));
    }
}
