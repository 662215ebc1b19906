//! Streams as SDP (RFC 8866): by which FFmpeg, GStreamer and VLC receive ours, and by which we receive theirs.

use super::{MediaKind, PlainRtp, PlainVideo, StreamDescription, sdp_sound};
use crate::config::{FeedbackFormat, Format};
use crate::message::{TRANSPORT_SEQUENCE_ID, payload_type};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use core::net::SocketAddr;
use seaway_control::StreamId;
use seaway_wire::aac::Config;
use seaway_wire::h264::annex_b;
use std::str::FromStr;

/// Octets of a session description at most.
const LONGEST: usize = 1 << 16;
/// Payload types are numbers of seven bits: a longer list names some twice.
pub(super) const PAYLOAD_TYPES: usize = 128;
/// The formats that are received, by their names in descriptions.
const FORMATS: [(&str, Format); 4] =
    [("H264", Format::H264), ("H265", Format::H265), ("AV1", Format::Av1), ("MP2T", Format::Mp2t)];
/// The header extension of transport-wide sequence numbers.
const TRANSPORT_WIDE: &str = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";

/// A session description of these streams as a player at `to` receives them. Streams whose format no player knows are left out.
/// Each stream stands with the payload type of its retransmissions (RFC 4588 section 8.6) and with the feedback that the sender
/// takes (RFC 4585 section 4.2). Parameter sets come with each key frame and not here, because the picture size changes with the
/// rate. RTCP goes to the port above that of RTP.
pub fn to_sdp(streams: &[StreamDescription], to: SocketAddr) -> String {
    let control = to.port().saturating_add(1);
    let (family, host, port) = (if to.is_ipv4() { "IP4" } else { "IP6" }, to.ip(), to.port());
    let head = format!("v=0\r\no=- 0 0 IN {family} {host}\r\ns=Seaway\r\nc=IN {family} {host}\r\nt=0 0\r\n");
    streams.iter().zip(0..).fold(head, |text, (stream, id)| {
        let StreamDescription { kind, format, payload_type, clock_rate } = stream;
        let rtx = payload_type::retransmission(StreamId(id));
        let is_audio = *kind == MediaKind::Audio;
        let kind = if is_audio { "audio" } else { "video" };
        let takes_pli = !is_audio && *format != Format::Mp2t;
        let pli = if !takes_pli { String::new() } else { format!("a=rtcp-fb:{payload_type} nack pli\r\n") };
        let (name, channels, parameters) = match format {
            Format::Opaque => return text,
            Format::Mp2t => ("MP2T", String::new(), String::new()),
            Format::H264 => ("H264", String::new(), format!("a=fmtp:{payload_type} packetization-mode=1\r\n")),
            Format::H265 => ("H265", String::new(), String::new()),
            Format::Av1 => ("AV1", String::new(), String::new()),
            Format::Mpv => ("MPV", String::new(), String::new()),
            Format::Aac(config) => ("mpeg4-generic", channels(*config), aac_parameters(*payload_type, *config)),
            // Two channels by name, whatever the packets carry (RFC 7587 section 7).
            Format::Opus => ("opus", "/2".to_owned(), format!("a=fmtp:{payload_type} sprop-stereo=1\r\n")),
        };
        format!(
            "{text}m={kind} {port} RTP/AVPF {payload_type} {rtx}\r\na=rtpmap:{payload_type} {name}/{clock_rate}{channels}\r\n\
             {parameters}a=rtpmap:{rtx} rtx/{clock_rate}\r\na=fmtp:{rtx} apt={payload_type}\r\n\
             a=rtcp:{control}\r\na=rtcp-fb:{payload_type} nack\r\n{pli}\
             a=rtcp-fb:{payload_type} transport-cc\r\na=extmap:{TRANSPORT_SEQUENCE_ID} {TRANSPORT_WIDE}\r\na=sendonly\r\n"
        )
    })
}

/// The channels in the name of AAC.
fn channels(config: Config) -> String {
    format!("/{}", config.channels())
}

/// The format parameters of AAC (RFC 3640 sections 4.1 and 3.3.6), its profile level that of "no audio profile specified" (ISO/IEC 14496-3
/// table 1.14).
fn aac_parameters(payload_type: u8, config: Config) -> String {
    let [a, b] = config.to_bytes();
    format!(
        "a=fmtp:{payload_type} streamtype=5; profile-level-id=254; mode=AAC-hbr; config={a:02X}{b:02X}; sizelength=13; indexlength=3; \
         indexdeltalength=3\r\n"
    )
}

impl FromStr for PlainRtp {
    type Err = String;

    /// Reads the first video stream of a session description that can be received, and the first such sound. Addresses are passed
    /// over; other streams are [left out](Self::left_out).
    fn from_str(text: &str) -> Result<Self, String> {
        let sections = media_sections(text);
        let (place, video) = first_video(text, &sections, is_plain, "RTP/AVP or RTP/AVPF")?;
        let (sound, left_out) = sdp_sound::beside(&sections, place, &video);
        Ok(Self { video: Some(video), sound, left_out })
    }
}

impl PlainRtp {
    /// Reads the answer of a media server (RFC 8829): its video and, on the same port, its sound.
    ///
    /// # Errors
    /// It has no video that can be received.
    pub fn of_answer(text: &str) -> Result<Self, String> {
        const PROFILE: &str = "UDP/TLS/RTP/SAVPF";
        let sections = media_sections(text);
        let (_, video) = first_video(text, &sections, |profile| profile == PROFILE, PROFILE)?;
        let sound = sections.iter().find_map(|media| sdp_sound::of_answer(media, PROFILE));
        Ok(Self { video: Some(video), sound, left_out: Vec::new() })
    }
}

/// RTP without protection.
pub(super) fn is_plain(profile: &str) -> bool {
    profile.starts_with("RTP/") && !profile.contains("SAVP")
}

/// The first video stream whose format is understood, by a profile that `is_known`, and the place of its media description.
fn first_video(
    text: &str,
    sections: &[Vec<&str>],
    is_known: impl Fn(&str) -> bool,
    expected: &str,
) -> Result<(usize, PlainVideo), String> {
    if text.len() > LONGEST {
        return Err(format!("{} octets; expected a session description of at most {LONGEST}", text.len()));
    }
    if !text.starts_with("v=0") {
        return Err("expected a session description (RFC 8866), which begins with v=0".into());
    }
    let mut seen = Vec::new();
    for (place, media) in sections.iter().enumerate() {
        let Some(transport) = media.first().and_then(|line| line.strip_prefix("m=video ")) else {
            continue;
        };
        let mut words = transport.split_ascii_whitespace().skip(1);
        let profile = words.next().unwrap_or_default();
        if !is_known(profile) {
            return Err(format!("video by {profile}; expected {expected}"));
        }
        for payload_type in words.filter_map(payload_type_of).take(PAYLOAD_TYPES) {
            match video(media, payload_type) {
                Ok(video) => return Ok((place, video)),
                Err(name) => seen.push(name),
            }
        }
    }
    Err(match seen.first() {
        Some(name) => format!("video as {name}; expected {}", FORMATS.map(|(name, _)| name).join(" or ")),
        None => "no video; expected a line m=video".into(),
    })
}

/// The payload type that is written there. The eighth bit is none of it.
pub(super) fn payload_type_of(word: &str) -> Option<u8> {
    word.parse().ok().filter(|number| usize::from(*number) < PAYLOAD_TYPES)
}

/// The lines of each media description.
fn media_sections(text: &str) -> Vec<Vec<&str>> {
    let mut sections: Vec<Vec<&str>> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if line.starts_with("m=") {
            sections.push(Vec::new());
        }
        sections.last_mut().into_iter().for_each(|section| section.push(line));
    }
    sections
}

/// The stream with this payload type; the name of its format where it cannot be received.
fn video(media: &[&str], payload_type: u8) -> Result<PlainVideo, String> {
    // Static payload types need no name.
    let usual = (payload_type == payload_type::MP2T).then_some("MP2T/90000");
    let map = of_type(media, "rtpmap", payload_type).next().or(usual);
    let map = map.ok_or_else(|| format!("payload type {payload_type} without a name"))?;
    let (name, rate) = map.split_once('/').unwrap_or((map, ""));
    let format = FORMATS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    let &(_, format) = format.ok_or_else(|| name.to_owned())?;
    let rate = rate.split('/').next().and_then(|rate| rate.parse().ok());
    let clock_rate = rate.filter(|rate| (1..1 << 24).contains(rate)).unwrap_or(90_000);
    let parameters = of_type(media, "fmtp", payload_type).next().unwrap_or_default();
    let don = parameter(parameters, "sprop-max-don-diff").unwrap_or("0");
    if format == Format::H265 && don != "0" {
        return Err(format!("H265 in another order than it is decoded (sprop-max-don-diff={don})"));
    }
    let feedback: Vec<&str> = of_type(media, "rtcp-fb", payload_type).collect();
    let takes = |what: &str| feedback.contains(&what);
    let transport_id = attribute(media, "extmap").find_map(transport_id);
    let feedback_format = match transport_id {
        Some(_) if takes("transport-cc") => Some(FeedbackFormat::Twcc),
        _ => takes("ack ccfb").then_some(FeedbackFormat::Ccfb),
    };
    let apt = format!("apt={payload_type}");
    let is_retransmission = |value: &&str| value.split([' ', ';']).any(|parameter| parameter.trim() == apt);
    let retransmission = attribute(media, "fmtp")
        .find(is_retransmission)
        .and_then(|value| payload_type_of(value.split(' ').next()?));
    Ok(PlainVideo {
        clock_rate,
        retransmission,
        nack: takes("nack"),
        pli: format != Format::Mp2t && (takes("nack pli") || feedback.is_empty()),
        feedback: feedback_format,
        transport_id,
        parameter_sets: parameter_sets(format, parameters),
        ..PlainVideo::of(format, payload_type)
    })
}

/// The identifier that an `extmap` gives transport-wide sequence numbers (RFC 8285 section 8).
fn transport_id(extmap: &str) -> Option<u8> {
    let (id, uri) = extmap.split_once(' ')?;
    let id = id.split('/').next()?.parse().ok()?;
    (uri.trim() == TRANSPORT_WIDE && id != 0).then_some(id)
}

/// The values of an attribute in a media description.
fn attribute<'a>(media: &[&'a str], name: &str) -> impl Iterator<Item = &'a str> {
    media.iter().filter_map(move |line| line.strip_prefix("a=")?.strip_prefix(name)?.strip_prefix(':'))
}

/// Those of a payload type, without its number.
pub(super) fn of_type<'a>(media: &[&'a str], name: &str, payload_type: u8) -> impl Iterator<Item = &'a str> {
    attribute(media, name).filter_map(move |value| {
        let (head, rest) = value.split_once(' ')?;
        (head == "*" || head.parse() == Ok(payload_type)).then(|| rest.trim())
    })
}

/// The value of a format parameter, whose name may be written in capitals.
pub(super) fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    let pairs = parameters.split(';').filter_map(|parameter| parameter.trim().split_once('='));
    pairs.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
}

/// The parameter sets in the format parameters (RFC 6184 section 8.1, RFC 7798 section 7.1) as a byte stream; what is no base64 is left
/// out.
fn parameter_sets(format: Format, parameters: &str) -> Bytes {
    let names: &[&str] = match format {
        Format::H264 => &["sprop-parameter-sets"],
        Format::H265 => &["sprop-vps", "sprop-sps", "sprop-pps"],
        _ => &[],
    };
    let sets = names.iter().filter_map(|name| parameter(parameters, name));
    let units = sets.flat_map(|sets| sets.split(',')).filter_map(|set| STANDARD.decode(set).ok());
    let units = units.filter(|unit| !unit.is_empty());
    units.flat_map(|unit| annex_b::START_CODE.into_iter().chain(unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::PlainSound;
    use super::*;

    #[test]
    fn a_player_finds_each_stream_of_a_known_format() {
        let streams = [Format::H264, Format::Opaque, Format::Mpv].map(StreamDescription::video);
        let feedback = |payload_type: u8| {
            format!(
                "a=rtcp:5005\r\na=rtcp-fb:{payload_type} nack\r\na=rtcp-fb:{payload_type} nack pli\r\n\
                 a=rtcp-fb:{payload_type} transport-cc\r\na=extmap:4 {TRANSPORT_WIDE}\r\na=sendonly\r\n"
            )
        };
        assert_eq!(
            to_sdp(&streams, "192.0.2.7:5004".parse().unwrap()),
            format!(
                "v=0\r\no=- 0 0 IN IP4 192.0.2.7\r\ns=Seaway\r\nc=IN IP4 192.0.2.7\r\nt=0 0\r\n\
                 m=video 5004 RTP/AVPF 96 112\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\n\
                 a=rtpmap:112 rtx/90000\r\na=fmtp:112 apt=96\r\n{}\
                 m=video 5004 RTP/AVPF 32 114\r\na=rtpmap:32 MPV/90000\r\n\
                 a=rtpmap:114 rtx/90000\r\na=fmtp:114 apt=32\r\n{}",
                feedback(96),
                feedback(32)
            )
        );
    }

    #[test]
    fn sound_has_its_clock_and_needs_no_key_frame() {
        let text = to_sdp(&[StreamDescription::opus()], "192.0.2.7:5004".parse().unwrap());
        let media = "m=audio 5004 RTP/AVPF 111 112\r\na=rtpmap:111 opus/48000/2\r\na=fmtp:111 sprop-stereo=1\r\n\
                     a=rtpmap:112 rtx/48000\r\na=fmtp:112 apt=111\r\n";
        assert!(text.contains(media) && text.contains("a=rtcp-fb:111 nack\r\n"), "{text}");
        assert!(!text.contains("pli"), "{text}");
    }

    #[test]
    fn aac_has_its_configuration() {
        let stream = StreamDescription::aac(Config::parse([0x12, 0x10]).unwrap());
        let text = to_sdp(&[stream], "192.0.2.7:5004".parse().unwrap());
        let media = "a=rtpmap:101 mpeg4-generic/44100/2\r\na=fmtp:101 streamtype=5; profile-level-id=254; mode=AAC-hbr; config=1210; \
                     sizelength=13; indexlength=3; indexdeltalength=3\r\n";
        assert!(text.contains("m=audio 5004 RTP/AVPF 101 112\r\n") && text.contains(media), "{text}");
    }

    /// As GStreamer's manual and FFmpeg's `-sdp_file` write them.
    #[test]
    fn descriptions_of_others() {
        let ffmpeg = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=No Name\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
            a=tool:libavformat 59.27.100\r\nm=audio 5006 RTP/AVP 97\r\na=rtpmap:97 opus/48000/2\r\n\
            m=video 5004 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n\
            a=fmtp:96 packetization-mode=1; sprop-parameter-sets=Z0IAHg==,aM4=; profile-level-id=42001E\r\n";
        let video = ffmpeg.parse::<PlainRtp>().unwrap().video.unwrap();
        assert_eq!((video.payload_type, video.clock_rate, video.nack, video.pli), (96, 90_000, false, true));
        assert_eq!(&video.parameter_sets[..], [0, 0, 0, 1, 0x67, 0x42, 0, 0x1E, 0, 0, 0, 1, 0x68, 0xCE]);
        let avpf = format!(
            "v=0\nm=video 5004 RTP/AVPF 100 101\na=rtpmap:100 h264/90000\na=rtpmap:101 rtx/90000\n\
             a=fmtp:101 apt=100;rtx-time=200\na=rtcp-fb:* nack\na=rtcp-fb:100 transport-cc\n\
             a=extmap:5/sendonly {TRANSPORT_WIDE}\n"
        );
        let video = avpf.parse::<PlainRtp>().unwrap().video.unwrap();
        assert_eq!((video.retransmission, video.nack, video.pli), (Some(101), true, false));
        assert_eq!((video.feedback, video.transport_id), (Some(FeedbackFormat::Twcc), Some(5)));
    }

    #[test]
    fn clocks_have_a_bound() {
        for (said, clock_rate) in
            [("48000", 48_000), ("16777215", 16_777_215), ("0", 90_000), ("16777216", 90_000)]
        {
            let text = format!("v=0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/{said}\n");
            assert_eq!(text.parse::<PlainRtp>().unwrap().video.unwrap().clock_rate, clock_rate);
        }
    }

    /// A player does not know which picture of a transport stream is missing.
    #[test]
    fn a_transport_stream_is_described_without_picture_loss() {
        let to = "192.0.2.7:5004".parse().unwrap();
        let text = |format| to_sdp(&[StreamDescription::video(format)], to);
        let stream = text(Format::Mp2t);
        assert!(stream.contains("m=video 5004 RTP/AVPF 33 112\r\na=rtpmap:33 MP2T/90000\r\n"), "{stream}");
        assert!(stream.contains("a=rtcp-fb:33 nack\r\n") && !stream.contains("pli"), "{stream}");
        assert!(text(Format::H264).contains("a=rtcp-fb:96 nack pli\r\n"));
    }

    #[test]
    fn a_payload_type_has_seven_bits() {
        let of = |payload_type: u8, retransmission: u8| {
            let text = format!(
                "v=0\nm=video 5004 RTP/AVPF {payload_type} {retransmission}\na=rtpmap:{payload_type} H264/90000\n\
                 a=fmtp:{retransmission} apt={payload_type}\n"
            );
            let video = text.parse::<PlainRtp>().ok().and_then(|plain| plain.video);
            video.map(|video| video.retransmission)
        };
        assert_eq!((of(127, 126), of(96, 127)), (Some(Some(126)), Some(Some(127))));
        assert_eq!((of(96, 128), of(128, 96)), (Some(None), None));
    }

    /// A number of packets is read where their extension has an identifier that is not zero; they are reported where that is taken.
    #[test]
    fn an_extension_is_known_by_its_name() {
        let of = |extension: &str, feedback: &str| {
            let text = format!(
                "v=0\nm=video 5004 RTP/AVPF 96\na=rtpmap:96 H264/90000\na=extmap:{extension}\na=rtcp-fb:96 {feedback}\n"
            );
            let video = text.parse::<PlainRtp>().unwrap().video.unwrap();
            (video.transport_id, video.feedback)
        };
        let ours = |id: u8| format!("{id} {TRANSPORT_WIDE}");
        assert_eq!(of(&ours(5), "transport-cc"), (Some(5), Some(FeedbackFormat::Twcc)));
        assert_eq!(of(&ours(5), "nack"), (Some(5), None));
        assert_eq!(of(&ours(5), "ack ccfb"), (Some(5), Some(FeedbackFormat::Ccfb)));
        assert_eq!(of(&ours(0), "transport-cc"), (None, None));
        assert_eq!(of("5 urn:ietf:params:rtp-hdrext:toffset", "transport-cc"), (None, None));
    }

    #[test]
    fn what_cannot_be_received_is_said() {
        let refused = |text: &str| text.parse::<PlainRtp>().unwrap_err();
        assert!(refused("hello").contains("begins with v=0"));
        assert!(refused("v=0\nm=audio 5004 RTP/AVP 0\n").contains("no video"));
        assert!(refused("v=0\nm=video 5004 RTP/SAVPF 96\n").contains("RTP/SAVPF"));
        let vp8 = "v=0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 VP8/90000\n";
        assert_eq!(refused(vp8), "video as VP8; expected H264 or H265 or AV1 or MP2T");
        assert!(refused(&format!("v=0\n{}", "x".repeat(LONGEST - 3))).contains("at most"));
        assert!(refused(&format!("v=0\n{}", "x".repeat(LONGEST - 4))).contains("no video"));
    }

    /// As FFmpeg and GStreamer write it; packets out of order have numbers that are not read.
    #[test]
    fn h265_and_its_parameter_sets() {
        let of = |parameters: &str| {
            format!("v=0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H265/90000\na=fmtp:96 {parameters}\n")
                .parse::<PlainRtp>()
        };
        let video = of("sprop-vps=QAEM; sprop-sps=QgEB;sprop-pps=RAHB").unwrap().video.unwrap();
        assert_eq!((video.format, video.pli), (Format::H265, true));
        let sets = [0, 0, 0, 1, 0x40, 1, 0x0C, 0, 0, 0, 1, 0x42, 1, 1, 0, 0, 0, 1, 0x44, 1, 0xC1];
        assert_eq!(&video.parameter_sets[..], sets);
        assert!(of("sprop-max-don-diff=0").is_ok());
        assert!(of("sprop-max-don-diff=2").unwrap_err().contains("sprop-max-don-diff=2"));
    }

    #[test]
    fn av1() {
        let text =
            "v=0\nm=video 5004 RTP/AVP 98\na=rtpmap:98 AV1/90000\na=fmtp:98 profile=0;level-idx=5;tier=0\n";
        let video = text.parse::<PlainRtp>().unwrap().video.unwrap();
        assert_eq!((video.format, video.payload_type, video.pli), (Format::Av1, 98, true));
        assert!(video.parameter_sets.is_empty());
    }

    /// FFmpeg's has a name, GStreamer's may have none.
    #[test]
    fn a_transport_stream() {
        for map in ["a=rtpmap:33 MP2T/90000\n", ""] {
            let text = format!("v=0\nm=video 5004 RTP/AVP 33\n{map}");
            let video = text.parse::<PlainRtp>().unwrap().video.unwrap();
            assert_eq!((video.format, video.payload_type, video.pli), (Format::Mp2t, 33, false));
        }
    }

    /// Ours can be read back.
    #[test]
    fn our_own_description() {
        let text = to_sdp(&[StreamDescription::video(Format::H264)], "192.0.2.7:5004".parse().unwrap());
        let video = text.parse::<PlainRtp>().unwrap().video.unwrap();
        assert_eq!((video.payload_type, video.retransmission), (96, Some(112)));
        assert_eq!((video.feedback, video.transport_id), (Some(FeedbackFormat::Twcc), Some(4)));
        assert!(video.nack && video.pli);
    }

    #[test]
    fn an_answer_of_a_media_server() {
        let answer = |audio: &str| {
            format!(
                "v=0\nm=video 9 UDP/TLS/RTP/SAVPF 102 103\na=rtpmap:102 H264/90000\na=rtcp-fb:102 nack\na=rtcp-fb:102 nack pli\n\
                 a=rtcp-fb:102 transport-cc\na=extmap:3 {TRANSPORT_WIDE}\na=rtpmap:103 rtx/90000\na=fmtp:103 apt=102\na=sendonly\n{audio}"
            )
        };
        let of = |audio: &str| PlainRtp::of_answer(&answer(audio)).unwrap();
        let with = of(
            "m=audio 9 UDP/TLS/RTP/SAVPF 0 109\na=rtpmap:0 PCMU/8000\na=rtpmap:109 OPUS/48000/2\na=sendonly\n",
        );
        let video = with.video.unwrap();
        assert_eq!((video.payload_type, video.retransmission, video.transport_id), (102, Some(103), Some(3)));
        assert_eq!((video.nack, video.pli, video.feedback), (true, true, Some(FeedbackFormat::Twcc)));
        let opus = Some(PlainSound { format: Format::Opus, payload_type: 109, port: None });
        assert_eq!(with.sound, opus);
        let behind_aac = "m=audio 9 UDP/TLS/RTP/SAVPF 97 109\na=rtpmap:97 mpeg4-generic/44100/2\na=fmtp:97 mode=AAC-hbr;sizelength=13;\
                          indexlength=3;indexdeltalength=3;config=1210\na=rtpmap:109 opus/48000/2\n";
        assert_eq!(of(behind_aac).sound, opus);
        for none in [
            "",
            "m=audio 0 UDP/TLS/RTP/SAVPF 109\na=rtpmap:109 opus/48000/2\n",
            "m=audio 9 UDP/TLS/RTP/SAVPF 109\na=rtpmap:109 opus/48000/2\na=inactive\n",
            "m=audio 9 UDP/TLS/RTP/SAVPF 8\na=rtpmap:8 PCMA/8000\n",
            "m=audio 9 RTP/AVP 109\na=rtpmap:109 opus/48000/2\n",
            "m=text 9 UDP/TLS/RTP/SAVPF 109\na=rtpmap:109 opus/48000/2\n",
            "m=audio 9 UDP/TLS/RTP/SAVPF 300\na=rtpmap:300 opus/48000/2\n",
        ] {
            assert_eq!(of(none).sound, None, "{none}");
        }
        let plain = answer("").replace("UDP/TLS/RTP/SAVPF", "RTP/AVP");
        assert!(PlainRtp::of_answer(&plain).unwrap_err().contains("expected UDP/TLS/RTP/SAVPF"));
    }

    proptest::proptest! {
        #[test]
        fn damage_never_panics(lines in proptest::collection::vec("(m=(video|audio) [1-3] RTP/AVP 9[67]|a=(rtpmap|fmtp|extmap|rtcp-fb):.{0,30})", 0..8)) {
            let text = format!("v=0\n{}", lines.join("\n"));
            let _ = (text.parse::<PlainRtp>(), PlainRtp::of_answer(&text));
        }
    }
}
