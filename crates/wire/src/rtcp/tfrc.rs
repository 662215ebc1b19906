//! TFRC feedback (RFC 5348 section 3.2.2 fixes the contents): an application-defined packet of 36 octets.

use super::app::report;
use crate::MicrosClock;
use crate::bytes::{put_u24, put_u32, u24_at, u32_at};
use crate::clock::span_micros;
use seaway_units::{Bitrate, Probability, TimeDelta};

/// What a TFRC receiver reports once per round-trip time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TfrcReport {
    /// SSRC of the reporter.
    pub sender_ssrc: u32,
    /// SSRC of the media stream.
    pub media_ssrc: u32,
    /// t_recvdata: the send time of the last packet received, as it was written on it.
    pub echo: MicrosClock,
    /// t_delay: how long ago that packet came; whole microseconds, saturating.
    pub delay: TimeDelta,
    /// X_recv: written in whole octets per second, rounded to the nearest, saturating.
    pub receive_rate: Bitrate,
    /// p: written in 2^-32; above zero it stays above zero, and one becomes the largest number.
    pub loss_event_rate: Probability,
    /// A loss event began since the last report.
    pub new_loss: bool,
    /// The marks below were counted.
    pub ecn: bool,
    /// Packets with a congestion-experienced mark since the start, modulo 2^24.
    pub ce_packets: u32,
}

mod field {
    pub(super) const MEDIA_SSRC: usize = 0;
    pub(super) const ECHO: usize = 4;
    pub(super) const DELAY: usize = 8;
    pub(super) const RECEIVE_RATE: usize = 12;
    pub(super) const LOSS_EVENT_RATE: usize = 16;
    pub(super) const FLAGS: usize = 20;
    pub(super) const CE_PACKETS: usize = 21;
    pub(super) const LEN: usize = 24;
}

const NEW_LOSS: u8 = 1;
const ECN: u8 = 2;
const ONE: f64 = 4_294_967_296.0;

impl TfrcReport {
    fn read(sender_ssrc: u32, body: &[u8]) -> Self {
        Self {
            sender_ssrc,
            media_ssrc: u32_at(body, field::MEDIA_SSRC),
            echo: MicrosClock::from_bits(u32_at(body, field::ECHO)),
            delay: TimeDelta::from_micros(u32_at(body, field::DELAY).into()),
            receive_rate: Bitrate::from_bps(8 * u64::from(u32_at(body, field::RECEIVE_RATE))),
            loss_event_rate: Probability::clamped(f64::from(u32_at(body, field::LOSS_EVENT_RATE)) / ONE),
            new_loss: body[field::FLAGS] & NEW_LOSS != 0,
            ecn: body[field::FLAGS] & ECN != 0,
            ce_packets: u24_at(body, field::CE_PACKETS),
        }
    }

    fn write(&self, body: &mut [u8]) {
        put_u32(body, field::MEDIA_SSRC, self.media_ssrc);
        put_u32(body, field::ECHO, self.echo.bits());
        put_u32(body, field::DELAY, span_micros(self.delay));
        put_u32(body, field::RECEIVE_RATE, octets_per_second(self.receive_rate));
        put_u32(body, field::LOSS_EVENT_RATE, fraction_bits(self.loss_event_rate));
        body[field::FLAGS] = if self.new_loss { NEW_LOSS } else { 0 } | if self.ecn { ECN } else { 0 };
        put_u24(body, field::CE_PACKETS, self.ce_packets);
    }
}

report!(TfrcReport, b"TFRC", field::LEN, "TFRC report");

fn octets_per_second(rate: Bitrate) -> u32 {
    u32::try_from(rate.as_bps().saturating_add(4) / 8).unwrap_or(u32::MAX)
}

/// "No loss seen" differs from "very little": only zero is written as zero.
fn fraction_bits(p: Probability) -> u32 {
    if p == Probability::ZERO { 0 } else { (p.get() * ONE).round().clamp(1.0, ONE - 1.0) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp::Packet;

    const REPORT: TfrcReport = TfrcReport {
        sender_ssrc: 0x0102_0304,
        media_ssrc: 0x0506_0708,
        echo: MicrosClock::from_bits(0x090A_0B0C),
        delay: TimeDelta::from_micros(0x0D0E_0F10),
        receive_rate: Bitrate::from_bps(8 * 0x1112_1314),
        loss_event_rate: Probability::ZERO,
        new_loss: true,
        ecn: true,
        ce_packets: 0x0019_1A1B,
    };

    #[test]
    fn thirty_six_octets() {
        let report = TfrcReport { loss_event_rate: Probability::clamped(0.5), ..REPORT };
        let mut buffer = [0xEE; 36];
        assert_eq!(report.emit(&mut buffer), Ok(36));
        let expected = b"\x81\xCC\0\x08\x01\x02\x03\x04TFRC\x05\x06\x07\x08\x09\x0A\x0B\x0C\
            \x0D\x0E\x0F\x10\x11\x12\x13\x14\x80\0\0\0\x03\x19\x1A\x1B";
        assert_eq!(&buffer, expected);
        assert_eq!(TfrcReport::parse(Packet::parse(&buffer).unwrap().0), Ok(report));
    }

    #[test]
    fn loss_event_rate_keeps_its_ends() {
        for (p, bits) in [(0.0, 0), (1e-12, 1), (0.5, 1 << 31), (1.0, u32::MAX)] {
            assert_eq!(fraction_bits(Probability::clamped(p)), bits, "{p}");
        }
    }

    #[test]
    fn large_values_saturate() {
        let report = TfrcReport { delay: TimeDelta::MAX, receive_rate: Bitrate::MAX, ..REPORT };
        let mut buffer = [0; 36];
        report.emit(&mut buffer).unwrap();
        assert_eq!(buffer[20..28], [0xFF; 8]);
        assert_eq!(octets_per_second(Bitrate::from_bps(11)), 1);
        assert_eq!(octets_per_second(Bitrate::from_bps(12)), 2);
    }
}
