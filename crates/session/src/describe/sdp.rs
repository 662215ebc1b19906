//! Streams as SDP (RFC 8866), by which FFmpeg, GStreamer and VLC receive them.

use super::{MediaKind, StreamDescription};
use crate::config::Format;
use crate::message::payload_type;
use core::net::SocketAddr;
use seaway_control::StreamId;

/// A session description of these streams as a player at `to` receives them; parameter sets come with each key frame.
/// Streams whose format no player knows are left out. With each stream stands the payload type of its retransmissions
/// (RFC 4588 section 8.6), for players that ask for them.
pub fn to_sdp(streams: &[StreamDescription], to: SocketAddr) -> String {
    let (family, host, port) = (if to.is_ipv4() { "IP4" } else { "IP6" }, to.ip(), to.port());
    let head = format!("v=0\r\no=- 0 0 IN {family} {host}\r\ns=Seaway\r\nc=IN {family} {host}\r\nt=0 0\r\n");
    streams.iter().zip(0..).fold(head, |text, (stream, id)| {
        let StreamDescription { kind, format, payload_type, clock_rate } = stream;
        let rtx = payload_type::retransmission(StreamId(id));
        let kind = if *kind == MediaKind::Audio { "audio" } else { "video" };
        let (name, parameters) = match format {
            Format::Opaque => return text,
            Format::H264 => ("H264", format!("a=fmtp:{payload_type} packetization-mode=1\r\n")),
            Format::Mpv => ("MPV", String::new()),
        };
        format!(
            "{text}m={kind} {port} RTP/AVP {payload_type} {rtx}\r\na=rtpmap:{payload_type} {name}/{clock_rate}\r\n\
             {parameters}a=rtpmap:{rtx} rtx/{clock_rate}\r\na=fmtp:{rtx} apt={payload_type}\r\na=rtcp-mux\r\n"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_player_finds_each_stream_it_knows() {
        let streams = [Format::H264, Format::Opaque, Format::Mpv].map(StreamDescription::video);
        assert_eq!(
            to_sdp(&streams, "192.0.2.7:5004".parse().unwrap()),
            "v=0\r\no=- 0 0 IN IP4 192.0.2.7\r\ns=Seaway\r\nc=IN IP4 192.0.2.7\r\nt=0 0\r\n\
             m=video 5004 RTP/AVP 96 112\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\n\
             a=rtpmap:112 rtx/90000\r\na=fmtp:112 apt=96\r\na=rtcp-mux\r\n\
             m=video 5004 RTP/AVP 32 114\r\na=rtpmap:32 MPV/90000\r\n\
             a=rtpmap:114 rtx/90000\r\na=fmtp:114 apt=32\r\na=rtcp-mux\r\n"
        );
    }
}
