//! What a sender tells of itself in-band, so that a receiver needs no session description.

use crate::config::{FeedbackFormat, Format, Stripe};
use crate::source_id::SourceId;
use seaway_control::ControlSpec;
use seaway_units::{DataSize, Ecn};
use seaway_wire::rtcp::App;

/// The facts of a session: an application-defined RTCP packet `SEAW`, subtype 1, repeated with each sender
/// report.
///
/// ```text
///  0                   1                   2                   3
/// |  version = 1  | feedback      | ECN | stripe  |  streams n    |
/// |  packet size                  |  length of the control text   |
/// |  one octet a stream: its format; then the control text; zeros |
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDescription {
    /// First of the 1024 synchronisation sources of the session.
    pub session: u32,
    /// The controller, whose receiving half the receiver is to run.
    pub control: ControlSpec,
    /// The codepoint its packets may carry.
    pub ecn: Ecn,
    /// The largest packet, as an IP datagram.
    pub packet: DataSize,
    /// How the receiver is to report.
    pub feedback: FeedbackFormat,
    /// What is kept together on a lane.
    pub stripe: Stripe,
    /// How the frames of each stream are written into packets.
    pub streams: Vec<Format>,
}

const NAME: [u8; 4] = *b"SEAW";
const SUBTYPE: u8 = 1;
const VERSION: u8 = 1;
const HEAD_LEN: usize = 8;
/// Longest control text; a controller's options are far below.
const LONGEST: usize = 512;

impl SessionDescription {
    /// Appends the RTCP packet to `buffer`.
    pub(crate) fn emit(&self, buffer: &mut Vec<u8>) {
        let text = self.control.to_string();
        let text = &text.as_bytes()[..text.len().min(LONGEST)];
        let packet = u16::try_from(self.packet.as_bytes()).unwrap_or(u16::MAX);
        let mut data = [0; HEAD_LEN + SourceId::STREAMS as usize + LONGEST];
        data[0] = VERSION;
        data[1] = self.feedback as u8;
        data[2] = self.ecn.bits() << 4 | self.stripe as u8;
        data[3] = self.streams.len() as u8;
        data[4..6].copy_from_slice(&packet.to_be_bytes());
        data[6..8].copy_from_slice(&(text.len() as u16).to_be_bytes());
        let formats = HEAD_LEN + self.streams.len();
        for (octet, format) in data[HEAD_LEN..].iter_mut().zip(&self.streams) {
            *octet = *format as u8;
        }
        data[formats..formats + text.len()].copy_from_slice(text);
        let app =
            App { subtype: SUBTYPE, ssrc: self.session, name: NAME, data: &data[..formats + text.len()] };
        let start = buffer.len();
        buffer.resize(start + app.buffer_len(), 0);
        app.emit(&mut buffer[start..]).unwrap_or_else(|error| unreachable!("{error}"));
    }

    /// Reads it back; `None` where the packet is another or makes no sense.
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
        let (formats, rest) = rest.split_at_checked(streams)?;
        let control = std::str::from_utf8(rest.get(..len)?).ok()?.parse().ok()?;
        Some(Self {
            session: app.ssrc,
            control,
            ecn: Ecn::from_bits(head[2] >> 4),
            packet: DataSize::from_bytes(u16::from_be_bytes([head[4], head[5]]).into()),
            feedback: feedback_of(head[1])?,
            stripe: stripe_of(head[2] & 0x0F)?,
            streams: formats.iter().map(|octet| format_of(*octet)).collect::<Option<_>>()?,
        })
    }
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
    [Format::Opaque, Format::H264, Format::Mpv].get(usize::from(octet)).copied()
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
            streams: vec![Format::H264, Format::Mpv, Format::Opaque],
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
