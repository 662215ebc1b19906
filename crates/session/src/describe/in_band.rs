//! The description as the sender repeats it in-band: an application-defined RTCP packet `SEAW`, subtype 1, with each
//! sender report.
//!
//! ```text
//!  0                   1                   2                   3
//! |  version = 1  | feedback      |0|L|ECN|F| stripe|  streams n  |
//! |  packet size                  |  length of the control text   |
//! |  one octet a stream; then the control text; then four octets for each stream with a clock of its own;     |
//! |  four octets for each offer of AAC; zeros                                                                   |
//! ```
//!
//! L says that the subflows are lanes of a bonded session, F that repair packets of forward error correction may come. A stream's octet holds its format, 0x40 for audio, and 0x80 where its payload type or clock rate are not those of
//! video in that format: then four octets follow behind the control text, the payload type and the clock rate.
//!
//! AAC is offered in place of Opus, as which its stream stands there for receivers that know no more: its number, the payload type, and
//! its `AudioSpecificConfig` (RFC 3640 section 4.1) in two octets. A receiver that takes it says so by a packet of subtype 2 beside
//! each receiver report.

use super::{MediaKind, SessionDescription, StreamDescription};
use crate::config::{FeedbackFormat, Format, Stripe};
use crate::source_id::SourceId;
use seaway_units::{DataSize, Ecn};
use seaway_wire::aac::Config;
use seaway_wire::rtcp::App;

const NAME: [u8; 4] = *b"SEAW";
const SUBTYPE: u8 = 1;
const TAKES_AAC: u8 = 2;
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
        let known: Vec<_> = self.streams.iter().map(|stream| stream.without_offer()).collect();
        data.extend(known.iter().map(|stream| {
            let kind = if stream.kind == MediaKind::Audio { AUDIO } else { 0 };
            octet_of(stream.format) | kind | if stream.has_own_clock() { OWN_CLOCK } else { 0 }
        }));
        data.extend(text);
        for stream in known.iter().filter(|stream| stream.has_own_clock()) {
            let [_, rate @ ..] = stream.clock_rate.to_be_bytes();
            data.push(stream.payload_type);
            data.extend(rate);
        }
        for (stream, number) in self.streams.iter().zip(0..) {
            if let Format::Aac(config) = stream.format {
                data.extend([number, stream.payload_type]);
                data.extend(config.to_bytes());
            }
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
        let mut streams: Vec<_> =
            octets.iter().map(|octet| stream_of(*octet, &mut clocks)).collect::<Option<_>>()?;
        clocks.for_each(|offer| take_offer(offer, &mut streams));
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

/// A receiver takes the AAC that it is offered.
pub(crate) fn taking_aac(ssrc: u32) -> App<'static> {
    App { subtype: TAKES_AAC, ssrc, name: NAME, data: &[] }
}

/// Whether a packet says so.
pub(crate) fn takes_aac(app: &App<'_>) -> bool {
    (app.name, app.subtype) == (NAME, TAKES_AAC)
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

/// Where four octets offer AAC in place of a stream of Opus, the stream is that.
fn take_offer(octets: &[u8], streams: &mut [StreamDescription]) {
    let &[number, payload_type, a, b] = octets else { return };
    let Ok(config) = Config::parse([a, b]) else { return };
    let opus = streams.get_mut(usize::from(number)).filter(|stream| **stream == StreamDescription::opus());
    let offered = StreamDescription { payload_type, ..StreamDescription::aac(config) };
    opus.filter(|_| offered.is_valid()).into_iter().for_each(|stream| *stream = offered);
}

fn feedback_of(octet: u8) -> Option<FeedbackFormat> {
    [FeedbackFormat::Native, FeedbackFormat::Ccfb, FeedbackFormat::Twcc, FeedbackFormat::Computed]
        .get(usize::from(octet))
        .copied()
}

fn stripe_of(octet: u8) -> Option<Stripe> {
    [Stripe::Packet, Stripe::Frame, Stripe::Gop].get(usize::from(octet)).copied()
}

/// The formats by their numbers.
const FORMATS: [Format; 7] =
    [Format::Opaque, Format::H264, Format::Mpv, Format::Opus, Format::Mp2t, Format::H265, Format::Av1];

fn format_of(octet: u8) -> Option<Format> {
    FORMATS.get(usize::from(octet)).copied()
}

fn octet_of(format: Format) -> u8 {
    FORMATS.iter().zip(0..).find(|(known, _)| **known == format).map_or(0, |(_, octet)| octet)
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
                StreamDescription::aac(Config::parse([0x12, 0x10]).unwrap()),
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

    #[test]
    fn other_packets_are_no_description() {
        let mut bytes = Vec::new();
        description().emit(&mut bytes);
        let packet = App::parse(rtcp::packets(&bytes).next().unwrap().unwrap()).unwrap();
        let of = |app: App<'_>| SessionDescription::parse(&app);
        assert_eq!(of(packet), Some(description()));
        assert!(of(App { name: *b"SEAL", ..packet }).is_none());
        assert!(of(App { subtype: TAKES_AAC, ..packet }).is_none());
        assert!(!takes_aac(&packet) && !takes_aac(&App { name: *b"SEAL", ..taking_aac(7) }));
        // The version, and how many streams there are.
        for (at, octet) in [(0, 2), (3, 0), (3, SourceId::STREAMS + 1), (3, 255)] {
            let mut data = packet.data.to_vec();
            data[at] = octet;
            assert!(of(App { data: &data, ..packet }).is_none(), "{octet} at {at}");
        }
    }

    /// Blanks before the options of a controller change nothing but how long its text is.
    #[test]
    fn a_control_text_has_a_bound() {
        let of = |len: usize| {
            let text = format!("tfrc({}profile=ns2)", " ".repeat(len - "tfrc(profile=ns2)".len()));
            let head = [VERSION, 0, 0, 1, 4, 176, (len >> 8) as u8, len as u8, 0];
            let data = [&head[..], text.as_bytes(), &[0; 3]].concat();
            SessionDescription::parse(&App { subtype: SUBTYPE, ssrc: 1, name: NAME, data: &data })
        };
        assert!(of(100).is_some() && of(LONGEST).is_some());
        assert!(of(LONGEST + 1).is_none() && of(LONGEST + 100).is_none());
    }

    #[test]
    fn there_are_one_to_eight_streams() {
        let of = |streams: u8| {
            let head = [VERSION, 0, 0, streams, 4, 176, 0, 3];
            let data = [&head[..], &vec![0; streams.into()], b"gcc"].concat();
            SessionDescription::parse(&App { subtype: SUBTYPE, ssrc: 1, name: NAME, data: &data })
        };
        assert_eq!([0, 1, 8, 9].map(|streams| of(streams).is_some()), [false, true, true, false]);
    }

    #[test]
    fn each_flag_comes_back() {
        for (lanes, fec) in [(false, false), (false, true), (true, false)] {
            let (mut bytes, description) = (Vec::new(), SessionDescription { lanes, fec, ..description() });
            description.emit(&mut bytes);
            assert_eq!(parse(&bytes), Some(description));
        }
    }

    /// Of the streams, the second and the fourth have a clock of their own, and the last is offered as AAC.
    #[test]
    fn only_unusual_streams_take_four_octets() {
        let (mut bytes, text) = (Vec::new(), description().control.to_string());
        description().emit(&mut bytes);
        let own =
            description().streams.iter().filter(|stream| stream.without_offer().has_own_clock()).count();
        assert!(!StreamDescription::video(Format::H264).has_own_clock());
        let data = HEAD_LEN + description().streams.len() + text.len() + own * CLOCK_LEN + 4;
        assert_eq!(bytes.len(), 12 + data.next_multiple_of(4));
    }

    /// What follows the clocks is zeros to a receiver that knows no AAC: the last stream is Opus to it.
    #[test]
    fn aac_is_offered_in_place_of_opus() {
        let mut bytes = Vec::new();
        description().emit(&mut bytes);
        // Stream 5, payload type 101, AAC-LC at 44.1 kHz in two channels.
        let offer = bytes.len() - 4;
        assert_eq!(bytes[offer..], [5, 101, 0x12, 0x10]);
        for octets in
            [[0; 4], [6, 101, 0x12, 0x10], [0, 101, 0x12, 0x10], [5, 112, 0x12, 0x10], [5, 101, 0x12, 0]]
        {
            bytes[offer..].copy_from_slice(&octets);
            assert_eq!(parse(&bytes), Some(description().without_aac()), "{octets:?}");
        }
        assert!(description().has_aac() && !description().without_aac().has_aac());
        let answer = taking_aac(7);
        assert!(takes_aac(&answer) && SessionDescription::parse(&answer).is_none());
    }

    proptest! {
        #[test]
        fn damage_never_panics(at in 4usize..90, octet in any::<u8>()) {
            let mut bytes = Vec::new();
            description().emit(&mut bytes);
            let at = at % bytes.len();
            bytes[at] = octet;
            parse(&bytes);
        }
    }
}
