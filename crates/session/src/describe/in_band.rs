//! The description as the sender repeats it in-band: an application-defined RTCP packet `SEAW`, subtype 1, with each
//! sender report.
//!
//! ```text
//!  0                   1                   2                   3
//! |  version = 1  | feedback      |0|L|ECN|F| stripe|  streams n  |
//! |  packet size                  |  length of the control text   |
//! |  one octet a stream; then the control text; then four octets for each stream with a clock of its own; zeros |
//! ```
//!
//! L says that the subflows are lanes of a bonded session, F that repair packets of forward error correction may come. A stream's octet holds its format, 0x40 for audio, and 0x80 where its payload type or clock rate are not those of
//! video in that format: then four octets follow behind the control text, the payload type and the clock rate.

use super::{MediaKind, SessionDescription, StreamDescription};
use crate::config::{FeedbackFormat, Format, Stripe};
use crate::source_id::SourceId;
use seaway_units::{DataSize, Ecn};
use seaway_wire::rtcp::App;

const NAME: [u8; 4] = *b"SEAW";
const SUBTYPE: u8 = 1;
const VERSION: u8 = 1;
const HEAD_LEN: usize = 8;
/// Longest control text; a controller's options are far below.
const LONGEST: usize = 512;
const FEC: u8 = 0x08;
const STRIPE: u8 = 0x07;
const LANES: u8 = 0x40;
const AUDIO: u8 = 0x40;
const OWN_CLOCK: u8 = 0x80;
const CLOCK_LEN: usize = 4;

impl SessionDescription {
    /// Appends the RTCP packet to `buffer`.
    pub(crate) fn emit(&self, buffer: &mut Vec<u8>) {
        let text = self.control.to_string();
        let text = &text.as_bytes()[..text.len().min(LONGEST)];
        let packet = u16::try_from(self.packet.as_bytes()).unwrap_or(u16::MAX);
        let mut data = Vec::with_capacity(HEAD_LEN + self.streams.len() + text.len());
        let fec = if self.fec { FEC } else { 0 };
        let lanes = if self.lanes { LANES } else { 0 };
        data.extend([VERSION, self.feedback as u8, lanes | self.ecn.bits() << 4 | fec | self.stripe as u8]);
        data.push(self.streams.len() as u8);
        data.extend(packet.to_be_bytes());
        data.extend((text.len() as u16).to_be_bytes());
        data.extend(self.streams.iter().map(|stream| {
            let kind = if stream.kind == MediaKind::Audio { AUDIO } else { 0 };
            stream.format as u8 | kind | if stream.has_own_clock() { OWN_CLOCK } else { 0 }
        }));
        data.extend(text);
        for stream in self.streams.iter().filter(|stream| stream.has_own_clock()) {
            let [_, rate @ ..] = stream.clock_rate.to_be_bytes();
            data.push(stream.payload_type);
            data.extend(rate);
        }
        let app = App { subtype: SUBTYPE, ssrc: self.session, name: NAME, data: &data };
        let start = buffer.len();
        buffer.resize(start + app.buffer_len(), 0);
        app.emit(&mut buffer[start..]).unwrap_or_else(|error| unreachable!("{error}"));
    }

    /// Reads it back; `None` where the packet is another or malformed.
    pub(crate) fn parse(app: &App<'_>) -> Option<Self> {
        if app.name != NAME || app.subtype != SUBTYPE {
            return None;
        }
        let (head, rest) = app.data.split_at_checked(HEAD_LEN)?;
        let streams = usize::from(head[3]);
        let len = usize::from(u16::from_be_bytes([head[6], head[7]]));
        if head[0] != VERSION || !(1..=usize::from(SourceId::STREAMS)).contains(&streams) || len > LONGEST {
            return None;
        }
        let (octets, rest) = rest.split_at_checked(streams)?;
        let (text, clocks) = rest.split_at_checked(len)?;
        let mut clocks = clocks.chunks_exact(CLOCK_LEN);
        let streams = octets.iter().map(|octet| stream_of(*octet, &mut clocks)).collect::<Option<_>>()?;
        Some(Self {
            session: app.ssrc,
            control: std::str::from_utf8(text).ok()?.parse().ok()?,
            ecn: Ecn::from_bits(head[2] >> 4 & 3),
            packet: DataSize::from_bytes(u16::from_be_bytes([head[4], head[5]]).into()),
            feedback: feedback_of(head[1])?,
            stripe: stripe_of(head[2] & STRIPE)?,
            lanes: head[2] & LANES != 0,
            fec: head[2] & FEC != 0,
            streams,
        })
    }
}

impl StreamDescription {
    fn has_own_clock(&self) -> bool {
        let usual = Self::video(self.format);
        (self.payload_type, self.clock_rate) != (usual.payload_type, usual.clock_rate)
    }
}

fn stream_of<'a>(octet: u8, clocks: &mut impl Iterator<Item = &'a [u8]>) -> Option<StreamDescription> {
    let mut stream = StreamDescription::video(format_of(octet & !(AUDIO | OWN_CLOCK))?);
    if octet & AUDIO != 0 {
        stream.kind = MediaKind::Audio;
    }
    if octet & OWN_CLOCK != 0 {
        let &[payload_type, a, b, c] = clocks.next()? else { return None };
        stream.payload_type = payload_type;
        stream.clock_rate = u32::from_be_bytes([0, a, b, c]);
    }
    stream.is_valid().then_some(stream)
}

fn feedback_of(octet: u8) -> Option<FeedbackFormat> {
    [FeedbackFormat::Native, FeedbackFormat::Ccfb, FeedbackFormat::Twcc, FeedbackFormat::Computed]
        .get(usize::from(octet))
        .copied()
}

fn stripe_of(octet: u8) -> Option<Stripe> {
    [Stripe::Packet, Stripe::Frame, Stripe::Gop].get(usize::from(octet)).copied()
}

fn format_of(octet: u8) -> Option<Format> {
    [Format::Opaque, Format::H264, Format::Mpv, Format::Opus, Format::Mp2t, Format::H265, Format::Av1]
        .get(usize::from(octet))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use seaway_wire::rtcp;

    fn description() -> SessionDescription {
        SessionDescription {
            session: 0x0102_0304,
            control: "tfrc(profile=ns2, t_rto=0.3 s)".parse().unwrap(),
            ecn: Ecn::Ect1,
            packet: DataSize::from_bytes(1200),
            feedback: FeedbackFormat::Twcc,
            stripe: Stripe::Frame,
            lanes: true,
            fec: true,
            streams: vec![
                StreamDescription::video(Format::H264),
                StreamDescription::audio(Format::Opaque, 111, 48_000),
                StreamDescription::video(Format::Opaque),
                StreamDescription::audio(Format::Opaque, 0, 8_000),
                StreamDescription::opus(),
            ],
        }
    }

    fn parse(bytes: &[u8]) -> Option<SessionDescription> {
        let packet = rtcp::packets(bytes).next()?.ok()?;
        SessionDescription::parse(&App::parse(packet).ok()?)
    }

    #[test]
    fn comes_back_whole() {
        let mut bytes = Vec::new();
        description().emit(&mut bytes);
        assert_eq!(parse(&bytes), Some(description()));
    }

    proptest! {
        #[test]
        fn damage_never_panics(at in 4usize..60, octet in any::<u8>()) {
            let mut bytes = Vec::new();
            description().emit(&mut bytes);
            let at = at % bytes.len();
            bytes[at] = octet;
            parse(&bytes);
        }
    }
}
