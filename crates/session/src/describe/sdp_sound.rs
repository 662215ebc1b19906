//! The sound of a session description (RFC 8866), and what else of it is not received.

use super::sdp::{PAYLOAD_TYPES, is_plain, of_type, parameter, payload_type_of};
use super::{PlainSound, PlainVideo};
use crate::config::Format;
use seaway_wire::aac::Config;

/// Static payload types, which need no name (RFC 3551 table 4).
const STATIC: [(u8, &str); 5] = [(0, "PCMU"), (3, "GSM"), (8, "PCMA"), (9, "G722"), (14, "MPA")];

/// The sound beside the video of the media description at `place`, and what is left out, each in words.
pub(super) fn beside(
    sections: &[Vec<&str>],
    place: usize,
    video: &PlainVideo,
) -> (Option<PlainSound>, Vec<String>) {
    let (mut sound, mut left_out) = (None, Vec::new());
    let video_port = sections.get(place).and_then(|media| Head::parse(media)).map(|head| head.port);
    let others = sections.iter().enumerate().filter(|(other, _)| *other != place);
    for (_, media) in others {
        match received(media, video_port, video) {
            Ok(found) if sound.is_none() => sound = Some(found),
            Ok(_) => left_out.push("a further audio stream".to_owned()),
            Err(why) => left_out.push(why),
        }
    }
    (sound, left_out)
}

/// The sound of a media description by which a server answers: Opus that is accepted and sent, on the port of the video.
pub(super) fn of_answer(media: &[&str], profile: &str) -> Option<PlainSound> {
    let head = Head::parse(media).filter(|head| head.kind == "audio" && head.profile == profile)?;
    let is_silent = media.iter().any(|line| matches!(*line, "a=inactive" | "a=recvonly"));
    if head.port == 0 || is_silent {
        return None;
    }
    let mut understood = head.payload_types().filter_map(|payload_type| understood(media, payload_type).ok());
    understood.find(|sound| sound.format == Format::Opus)
}

/// The first line of a media description.
struct Head<'a> {
    kind: &'a str,
    port: u16,
    profile: &'a str,
    formats: &'a str,
}

impl<'a> Head<'a> {
    fn parse(media: &[&'a str]) -> Option<Self> {
        let mut words = media.first()?.strip_prefix("m=")?.splitn(4, ' ');
        let (kind, port, profile) = (words.next()?, words.next()?, words.next()?);
        // Behind a slash stands how many ports there are.
        let port = port.split('/').next()?.parse().ok()?;
        Some(Self { kind, port, profile, formats: words.next().unwrap_or_default() })
    }

    fn payload_types(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.formats.split_ascii_whitespace().filter_map(payload_type_of).take(PAYLOAD_TYPES)
    }
}

/// The sound of a media description, or what that is and why it is not received.
fn received(media: &[&str], video_port: Option<u16>, video: &PlainVideo) -> Result<PlainSound, String> {
    let head = Head::parse(media).ok_or("a media description that is malformed")?;
    let Head { kind, profile, .. } = head;
    match kind {
        "audio" => {}
        "video" => return Err("a further video stream".into()),
        _ => return Err(format!("m={kind}")),
    }
    if video.format == Format::Mp2t {
        return Err("audio beside a transport stream".into());
    }
    if head.port == 0 || media.contains(&"a=inactive") {
        return Err("audio that is not sent".into());
    }
    if !is_plain(profile) {
        return Err(format!("audio by {profile}"));
    }
    let mut reasons = Vec::new();
    for payload_type in head.payload_types() {
        match understood(media, payload_type) {
            Ok(sound) => {
                let port = Some(head.port).filter(|port| Some(*port) != video_port);
                if port.is_none() && payload_type == video.payload_type {
                    return Err("audio with the payload type and the port of the video".into());
                }
                return Ok(PlainSound { port, ..sound });
            }
            Err(why) => reasons.push(why),
        }
    }
    let reason = reasons.first().map_or("nothing", String::as_str);
    Err(format!("audio as {reason}"))
}

/// The sound with this payload type, on the port of the video; what it is where that is not received.
fn understood(media: &[&str], payload_type: u8) -> Result<PlainSound, String> {
    let usual = STATIC.iter().find(|(known, _)| *known == payload_type).map(|(_, name)| *name);
    let map = of_type(media, "rtpmap", payload_type).next().or(usual);
    let map = map.ok_or_else(|| format!("payload type {payload_type}, which has no name there"))?;
    let (name, clock) = map.split_once('/').unwrap_or((map, ""));
    let clock = clock.split('/').next().unwrap_or_default();
    let format = if name.eq_ignore_ascii_case("opus") && clock == "48000" {
        Format::Opus
    } else if name.eq_ignore_ascii_case("mpeg4-generic") {
        let parameters = of_type(media, "fmtp", payload_type).next().unwrap_or_default();
        aac(parameters, clock).map_err(|why| format!("{name} {why}"))?
    } else {
        return Err(name.to_owned());
    };
    Ok(PlainSound { format, payload_type, port: None })
}

/// AAC with these format parameters, as RFC 3640 has it in mode AAC-hbr.
fn aac(parameters: &str, clock: &str) -> Result<Format, String> {
    const USUAL: [(&str, &str); 4] =
        [("mode", "AAC-hbr"), ("sizelength", "13"), ("indexlength", "3"), ("indexdeltalength", "3")];
    for (name, usual) in USUAL {
        let seen = parameter(parameters, name).unwrap_or("");
        if !seen.eq_ignore_ascii_case(usual) {
            return Err(format!("with {name}={seen} (expected {usual})"));
        }
    }
    let octets = parameter(parameters, "config").unwrap_or("");
    // More than two octets say by which extension it may be decoded.
    let digits = octets.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let config = digits.and_then(|digits| Config::parse(digits.to_be_bytes()).ok());
    let config = config.filter(|config| clock.parse() == Ok(config.sample_rate()));
    config.map(Format::Aac).ok_or_else(|| format!("with config={octets} at {clock} Hz"))
}

#[cfg(test)]
mod tests {
    use super::super::PlainRtp;
    use super::*;

    /// A description with H.264 at port 5004 and this behind it.
    fn of(audio: &str) -> PlainRtp {
        format!("v=0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n{audio}").parse().unwrap()
    }

    #[test]
    fn opus_has_a_port_of_its_own_or_that_of_the_video() {
        for (at, port) in [("5006", Some(5006)), ("5006/2", Some(5006)), ("5004", None)] {
            let plain = of(&format!("m=audio {at} RTP/AVP 0 97\na=rtpmap:97 opus/48000/2\n"));
            let sound = PlainSound { format: Format::Opus, payload_type: 97, port };
            assert_eq!((plain.sound, plain.left_out), (Some(sound), vec![]));
        }
    }

    /// As FFmpeg and GStreamer write it.
    #[test]
    fn aac_has_its_configuration() {
        for parameters in [
            "profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3; config=121056E500",
            "streamtype=5; profile-level-id=2; mode=AAC-hbr; config=1210; sizeLength=13; indexLength=3; indexDeltaLength=3",
        ] {
            let plain = of(&format!(
                "m=audio 5006 RTP/AVP 97\na=rtpmap:97 MPEG4-GENERIC/44100/2\na=fmtp:97 {parameters}\n"
            ));
            let format = Format::Aac(Config::parse([0x12, 0x10]).unwrap());
            assert_eq!(plain.sound, Some(PlainSound { format, payload_type: 97, port: Some(5006) }));
        }
    }

    #[test]
    fn what_is_not_received_is_said() {
        let audio = |map: &str| format!("m=audio 5006 RTP/AVP 97\na=rtpmap:97 {map}\n");
        let opus = audio("opus/48000/2");
        for (text, said) in [
            (audio("PCMA/8000"), "audio as PCMA"),
            (audio("MP4A-LATM/44100"), "audio as MP4A-LATM"),
            (
                audio("mpeg4-generic/44100\na=fmtp:97 mode=AAC-lbr"),
                "audio as mpeg4-generic with mode=AAC-lbr (expected AAC-hbr)",
            ),
            (
                audio(
                    "mpeg4-generic/48000\na=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1210",
                ),
                "audio as mpeg4-generic with config=1210 at 48000 Hz",
            ),
            ("m=audio 5006 RTP/AVP 97\n".into(), "audio as payload type 97, which has no name there"),
            ("m=audio 5006 RTP/AVP 0\n".into(), "audio as PCMU"),
            ("m=audio 5006 RTP/AVP\n".into(), "audio as nothing"),
            (opus.replace("97", "128"), "audio as nothing"),
            (opus.replace("RTP/AVP", "RTP/SAVP"), "audio by RTP/SAVP"),
            (opus.replace("5006", "0"), "audio that is not sent"),
            (
                opus.replace("5006", "5004").replace("97", "96"),
                "audio with the payload type and the port of the video",
            ),
            (opus.replace("5006", "high"), "a media description that is malformed"),
            ("m=video 5008 RTP/AVP 96\n".into(), "a further video stream"),
            ("m=application 5008 udp wb\n".into(), "m=application"),
        ] {
            let plain = of(&text);
            assert_eq!((plain.sound, plain.left_out), (None, vec![said.to_owned()]));
        }
        assert_eq!(of(&opus.repeat(2)).left_out, ["a further audio stream"]);
        let transport: PlainRtp = format!("v=0\nm=video 5004 RTP/AVP 33\n{opus}").parse().unwrap();
        assert_eq!(
            (transport.sound, transport.left_out),
            (None, vec!["audio beside a transport stream".to_owned()])
        );
    }
}
