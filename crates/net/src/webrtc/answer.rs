//! What an answer of a media server may be, before crate `rtc` parses it.

use std::net::IpAddr;

/// Octets of an answer at most; it has a few kilobytes.
pub(super) const LONGEST: usize = 64 * 1024;
/// Candidates of an answer at most: a probe goes to each.
const MOST_CANDIDATES: usize = 32;

/// The answer without the candidates that we cannot use: others than UDP, and names instead of addresses.
///
/// # Errors
/// It is no session description, refuses the video, has no SHA-256 fingerprint, or is beyond the bounds.
pub(super) fn checked(answer: &str) -> Result<String, String> {
    if answer.len() > LONGEST {
        return Err(format!("it has {} octets, more than {LONGEST}", answer.len()));
    }
    if !answer.trim_start().starts_with("v=0") {
        return Err("it is no session description (SDP)".into());
    }
    let video = answer.lines().find_map(|line| line.trim_end().strip_prefix("m=video "));
    let port = video.and_then(|media| media.split(' ').next());
    if port.is_none_or(|port| port == "0") {
        return Err("it does not accept the video".into());
    }
    let fingerprints = answer.lines().filter_map(|line| line.strip_prefix("a=fingerprint:"));
    if !fingerprints.clone().any(|fingerprint| fingerprint.starts_with("sha-256 ")) {
        return Err("it has no SHA-256 fingerprint of the server's certificate".into());
    }
    let mut candidates = 0;
    let mut kept = String::with_capacity(answer.len());
    for line in answer.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        if let Some(candidate) = line.strip_prefix("a=candidate:") {
            if !is_usable(candidate) {
                continue;
            }
            candidates += 1;
        }
        kept.push_str(line);
        kept.push_str("\r\n");
    }
    match candidates {
        0 => Err("it has no address for UDP (no usable ICE candidate)".into()),
        1..=MOST_CANDIDATES => Ok(kept),
        _ => Err(format!("it has {candidates} ICE candidates, more than {MOST_CANDIDATES}")),
    }
}

/// Whether a checked answer takes the sound that was offered.
pub(super) fn takes_sound(answer: &str) -> bool {
    let mut lines = answer.lines().skip_while(|line| !line.starts_with("m=audio "));
    let port = lines.next().and_then(|media| media.split(' ').nth(1));
    let mut section = lines.take_while(|line| !line.starts_with("m="));
    port.is_some_and(|port| port != "0") && !section.any(|line| line == "a=inactive" || line == "a=sendonly")
}

/// `foundation component protocol priority address port …` (RFC 8839 section 5.1), RTP over UDP to an address.
fn is_usable(candidate: &str) -> bool {
    let mut fields = candidate.split(' ');
    let (component, protocol, address) = (fields.nth(1), fields.next(), fields.nth(1));
    component == Some("1")
        && protocol.is_some_and(|protocol| protocol.eq_ignore_ascii_case("udp"))
        && address.is_some_and(|address| address.parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "v=0\no=- 1 1 IN IP4 0.0.0.0\ns=-\nt=0 0\na=fingerprint:sha-256 AA\nm=video 9 UDP/TLS/RTP/SAVPF 96\n\
         a=candidate:1 1 udp 1 192.0.2.7 5000 typ host\na=candidate:2 1 tcp 1 192.0.2.7 9 typ host\n\
         a=candidate:3 1 UDP 1 abc.local 5000 typ host\na=candidate:4 2 udp 1 192.0.2.7 5001 typ host\n";

    #[test]
    fn only_what_can_be_used_is_kept() {
        let kept = checked(ANSWER).unwrap();
        assert_eq!(kept.matches("a=candidate").count(), 1);
        assert!(kept.contains("a=candidate:1 1 udp 1 192.0.2.7 5000 typ host\r\n"));
    }

    #[test]
    fn sound_may_be_refused() {
        let with = |section: &str| takes_sound(&format!("{ANSWER}{section}").replace('\n', "\r\n"));
        assert!(with("m=audio 9 UDP/TLS/RTP/SAVPF 111\na=recvonly\n"));
        assert!(!with(""));
        assert!(!with("m=audio 0 UDP/TLS/RTP/SAVPF 111\n"));
        assert!(!with("m=audio 9 UDP/TLS/RTP/SAVPF 111\na=inactive\nm=application 9\na=recvonly\n"));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for (answer, why) in [
            ("<html>not found</html>".to_owned(), "no session description"),
            (ANSWER.replace("m=video 9", "m=video 0"), "does not accept"),
            (ANSWER.replace("m=video", "m=audio"), "does not accept"),
            (ANSWER.replace("sha-256", "sha-1"), "fingerprint"),
            (ANSWER.replace(" udp ", " tcp "), "no address"),
            (
                format!("{ANSWER}{}", "a=candidate:1 1 udp 1 192.0.2.7 5000 typ host\n".repeat(32)),
                "more than 32",
            ),
            (format!("{ANSWER}{}", "a=x\n".repeat(20_000)), "more than 65536"),
        ] {
            let refused = checked(&answer).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
