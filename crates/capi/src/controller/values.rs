//! The structures of a controller, with the checks of what a caller writes in them.

#![expect(unsafe_code, reason = "structures of the header")]

use crate::SEAWAY_TEXT;
use crate::pointer::{Structure, text_member};
use crate::status::Failure;
use seaway_control::{Allowance, Content, Decision, FlowConfig, Marking, Probe, ProbeId, StreamId, Subflow};
use seaway_session::{Departure, Limits, PacketArrival, PacketResult};
use seaway_units::{Bitrate, DataSize, Ecn, RemoteTimestamp, TimeDelta, Timestamp};
use std::ffi::c_char;

/// `content`: a part of a frame.
pub const SEAWAY_CONTENT_MEDIA: u32 = 0;
/// `content`: a retransmitted part of a frame.
pub const SEAWAY_CONTENT_RETRANSMISSION: u32 = 1;
/// `content`: forward error correction.
pub const SEAWAY_CONTENT_FEC: u32 = 2;
/// `content`: padding of a probe.
pub const SEAWAY_CONTENT_PADDING: u32 = 3;

/// The latest instant and the longest time, in nanoseconds: 146 years.
const LONGEST_NS: u64 = (i64::MAX / 2) as u64;
/// The highest rate, in bits per second.
const HIGHEST_BPS: u64 = 1_000_000_000_000;
/// The most octets of a queue, a frame or a buffer.
const LARGEST: u64 = 1 << 40;

/// The configuration of a flow: its rates and its largest packet.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayFlow {
    /// `sizeof(SeawayFlow)`.
    pub struct_size: u32,
    /// The ECN codepoint that packets should carry where the controller responds to congestion marks: the two bits of the IP
    /// header, 0 to 3.
    pub ecn: u32,
    /// The largest packet in octets, as a whole IP datagram: 1 to 65535.
    pub packet_bytes: u64,
    /// The lowest rate, in bits per second; above 0.
    pub min_bps: u64,
    /// The first rate, for controllers without a slow start: from `min_bps` to `max_bps`.
    pub start_bps: u64,
    /// The highest target: what the encoders can use, at most 10^12.
    pub max_bps: u64,
}

/// A packet that leaves. With all fields zero except `struct_size` and `bytes` it is a media packet inside a frame, and no packet
/// waits behind it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayPacket {
    /// `sizeof(SeawayPacket)`.
    pub struct_size: u32,
    /// The index of its connection, below the count of `seaway_controller_subflows`.
    pub subflow: u32,
    /// The whole IP datagram in octets, headers included: 1 to 65535.
    pub bytes: u64,
    /// Octets that wait behind it; 0 means that the flow is application-limited.
    pub backlog_bytes: u64,
    /// One of `SEAWAY_CONTENT_…`.
    pub content: u32,
    /// The number of its encoder, 0 to 255.
    pub stream: u32,
    /// 1 where it belongs to a probe, else 0.
    pub is_probe: u32,
    /// The probe's `id`.
    pub probe: u32,
    /// 1 where it is the last of its frame, else 0.
    pub ends_frame: u32,
    /// Zero.
    pub reserved: u32,
}

/// The marking of a packet.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayMarking {
    /// `sizeof(SeawayMarking)`.
    pub struct_size: u32,
    /// The ECN codepoint of the IP header.
    pub ecn: u32,
    /// 1 where `tag` is set. It is for the receiving half, which runs here, so it need not be sent.
    pub has_tag: u32,
    /// The controller's own number of the packet.
    pub tag: u32,
}

/// The result of one packet in a report.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayPacketResult {
    /// `sizeof(SeawayPacketResult)`.
    pub struct_size: u32,
    /// 1 if it arrived, 0 if the report lists it as lost. A packet that no report lists counts as lost when later ones have arrived or
    /// after a timeout.
    pub received: u32,
    /// The id from `seaway_controller_on_sent`.
    pub id: u64,
    /// The arrival time in nanoseconds of the receiver's clock, from any origin.
    pub arrival_ns: u64,
    /// 1 where the report has `arrival_ns`.
    pub has_arrival: u32,
    /// The ECN codepoint with which it arrived.
    pub ecn: u32,
}

/// The rate that media and its repair may use together.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayTarget {
    /// `sizeof(SeawayTarget)`.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Rate of whole IP datagrams, in bits per second.
    pub rate_bps: u64,
    /// Loss of the channel, which a lower rate would not reduce, 0 to 1: repair should cover it.
    pub channel_loss: f64,
    /// The controller's phase in a word or two: "slow start".
    pub phase: [c_char; SEAWAY_TEXT],
}

/// What one subflow may send: its next packet is due at the later of `due of the last + bytes / rate + gap` and `now - credit`, if
/// it fits in the window.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayAllowance {
    /// `sizeof(SeawayAllowance)`.
    pub struct_size: u32,
    /// 1 where `window_bytes` bounds what may leave now.
    pub has_window: u32,
    /// Pacing rate in bits per second; at 0 nothing leaves, at UINT64_MAX the window alone holds.
    pub rate_bps: u64,
    /// Pause behind each packet, in nanoseconds.
    pub gap_ns: u64,
    /// For how long unused rate may be caught up, in nanoseconds.
    pub credit_ns: u64,
    /// What may leave now, in octets.
    pub window_bytes: u64,
}

/// A burst by which a controller learns the capacity: padding fills it where media does not.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayProbe {
    /// `sizeof(SeawayProbe)`.
    pub struct_size: u32,
    /// Its id, for `probe` of `SeawayPacket`.
    pub id: u32,
    /// The rate to send it at, in bits per second.
    pub rate_bps: u64,
    /// The least number of octets.
    pub bytes: u64,
    /// The least number of packets.
    pub packets: u32,
    /// Zero.
    pub reserved: u32,
}

/// Why a rate or a phase changed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayDecision {
    /// `sizeof(SeawayDecision)`.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// The rate before, in bits per second.
    pub before_bps: u64,
    /// The rate after.
    pub after_bps: u64,
    /// The value of the signal that caused it.
    pub signal_value: f64,
    /// The value that it was compared with, in the same unit.
    pub threshold: f64,
    /// The rule that fired: "loss event".
    pub cause: [c_char; SEAWAY_TEXT],
    /// The name of the signal: "loss_event_rate".
    pub signal: [c_char; SEAWAY_TEXT],
    /// Its unit: "s", "ms", "bit/s", "B", or empty for a pure number.
    pub unit: [c_char; SEAWAY_TEXT],
    /// The phase from then on.
    pub phase: [c_char; SEAWAY_TEXT],
}

// SAFETY: each is `repr(C)`, of numbers and arrays of them, and begins with its size.
unsafe impl Structure for SeawayFlow {}
// SAFETY: as above.
unsafe impl Structure for SeawayPacket {}
// SAFETY: as above.
unsafe impl Structure for SeawayMarking {}
// SAFETY: as above.
unsafe impl Structure for SeawayPacketResult {}
// SAFETY: as above.
unsafe impl Structure for SeawayTarget {}
// SAFETY: as above.
unsafe impl Structure for SeawayAllowance {}
// SAFETY: as above.
unsafe impl Structure for SeawayProbe {}
// SAFETY: as above.
unsafe impl Structure for SeawayDecision {}

/// The size that a structure states.
pub(crate) const fn size_in<T>() -> u32 {
    size_of::<T>() as u32
}

/// A number of a caller that is at most `most`.
fn at_most(what: &str, value: u64, most: u64) -> Result<u64, Failure> {
    if value <= most {
        Ok(value)
    } else {
        Err(Failure::invalid(format_args!("{what} is {value}, above {most}")))
    }
}

fn switch(what: &str, value: u32) -> Result<bool, Failure> {
    Ok(at_most(what, value.into(), 1)? == 1)
}

fn octet(what: &str, value: u32) -> Result<u8, Failure> {
    u8::try_from(value).map_err(|_| Failure::invalid(format_args!("{what} is {value}, above 255")))
}

fn codepoint(value: u32) -> Result<Ecn, Failure> {
    Ok(Ecn::from_bits(at_most("ecn", value.into(), 3)? as u8))
}

pub(crate) fn timestamp(what: &str, ns: u64) -> Result<Timestamp, Failure> {
    Ok(Timestamp::from_nanos(at_most(what, ns, LONGEST_NS)?))
}

/// A time of at most an hour.
pub(crate) fn span(what: &str, ns: u64) -> Result<TimeDelta, Failure> {
    Ok(TimeDelta::from_nanos(at_most(what, ns, 3_600_000_000_000)? as i64))
}

pub(crate) fn size(what: &str, bytes: u64) -> Result<DataSize, Failure> {
    Ok(DataSize::from_bytes(at_most(what, bytes, LARGEST)?))
}

pub(crate) fn subflow(value: u32) -> Result<Subflow, Failure> {
    octet("subflow", value).map(Subflow)
}

pub(crate) fn stream(value: u32) -> Result<StreamId, Failure> {
    octet("stream", value).map(StreamId)
}

pub(crate) fn limits(min: u64, start: u64, max: u64) -> Result<Limits, Failure> {
    if !(0 < min && min <= start && start <= max && max <= HIGHEST_BPS) {
        let why =
            format!("rates of {min}, {start} and {max} bit/s: expected 0 < min <= start <= max <= 10^12");
        return Err(Failure::invalid(why));
    }
    let [min, start, max] = [min, start, max].map(Bitrate::from_bps);
    Ok(Limits { min, start, max })
}

/// A whole IP datagram.
fn datagram(what: &str, bytes: u64) -> Result<DataSize, Failure> {
    if (1..=65_535).contains(&bytes) {
        return Ok(DataSize::from_bytes(bytes));
    }
    Err(Failure::invalid(format_args!("{what} is {bytes}: expected 1 to 65535")))
}

impl SeawayFlow {
    pub(crate) fn checked(&self) -> Result<(FlowConfig, Limits), Failure> {
        let packet = datagram("packet_bytes", self.packet_bytes)?;
        let limits = limits(self.min_bps, self.start_bps, self.max_bps)?;
        Ok((FlowConfig { packet, ecn: codepoint(self.ecn)? }, limits))
    }
}

impl SeawayPacket {
    pub(crate) fn checked(&self) -> Result<Departure, Failure> {
        let stream = stream(self.stream)?;
        let content = match self.content {
            SEAWAY_CONTENT_MEDIA => Content::Media(stream),
            SEAWAY_CONTENT_RETRANSMISSION => Content::Retransmission(stream),
            SEAWAY_CONTENT_FEC => Content::Fec(stream),
            SEAWAY_CONTENT_PADDING => Content::Padding,
            other => return Err(Failure::invalid(format_args!("content is {other}: expected 0 to 3"))),
        };
        Ok(Departure {
            subflow: subflow(self.subflow)?,
            size: datagram("bytes", self.bytes)?,
            content,
            probe: switch("is_probe", self.is_probe)?.then_some(ProbeId(self.probe)),
            backlog: size("backlog_bytes", self.backlog_bytes)?,
            ends_frame: switch("ends_frame", self.ends_frame)?,
        })
    }
}

impl SeawayPacketResult {
    pub(crate) fn checked(&self) -> Result<PacketResult, Failure> {
        let at = at_most("arrival_ns", self.arrival_ns, LONGEST_NS)?;
        let at = switch("has_arrival", self.has_arrival)?.then_some(RemoteTimestamp::from_nanos(at));
        let arrival = PacketArrival { at, ecn: codepoint(self.ecn)? };
        let arrival = switch("received", self.received)?.then_some(arrival);
        Ok(PacketResult { id: seaway_control::PacketId(self.id), arrival })
    }
}

impl From<Marking> for SeawayMarking {
    fn from(marking: Marking) -> Self {
        let (has_tag, tag) = (marking.tag.is_some().into(), marking.tag.unwrap_or_default().into());
        Self { struct_size: size_in::<Self>(), ecn: marking.ecn.bits().into(), has_tag, tag }
    }
}

/// A time that is not below zero.
fn nanos(span: TimeDelta) -> u64 {
    span.as_nanos().max(0) as u64
}

impl From<Allowance> for SeawayAllowance {
    fn from(Allowance { rate, gap, credit, window, .. }: Allowance) -> Self {
        Self {
            struct_size: size_in::<Self>(),
            has_window: window.is_some().into(),
            rate_bps: rate.as_bps(),
            gap_ns: nanos(gap),
            credit_ns: nanos(credit),
            window_bytes: window.map_or(0, DataSize::as_bytes),
        }
    }
}

impl From<Probe> for SeawayProbe {
    fn from(Probe { id, rate, size, packets, .. }: Probe) -> Self {
        Self {
            struct_size: size_in::<Self>(),
            id: id.0,
            rate_bps: rate.as_bps(),
            bytes: size.as_bytes(),
            packets: packets.into(),
            reserved: 0,
        }
    }
}

impl From<Decision> for SeawayDecision {
    fn from(decision: Decision) -> Self {
        let Decision { at, cause, signal, threshold, before, after, phase } = decision;
        Self {
            struct_size: size_in::<Self>(),
            reserved: 0,
            at_ns: at.as_nanos(),
            before_bps: before.as_bps(),
            after_bps: after.as_bps(),
            signal_value: signal.value,
            threshold,
            cause: text_member(cause),
            signal: text_member(signal.name),
            unit: text_member(signal.unit),
            phase: text_member(phase),
        }
    }
}
