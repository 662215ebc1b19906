//! NADA feedback (RFC 8698 section 5.3 fixes 48 bits of contents): an application-defined packet of 24 octets.

use super::app::report;
use crate::bytes::{put_u16, put_u32, u16_at, u32_at};
use seaway_units::{Bitrate, TimeDelta};

/// What a NADA receiver reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NadaReport {
    /// SSRC of the reporter.
    pub sender_ssrc: u32,
    /// SSRC of the media stream.
    pub media_ssrc: u32,
    /// rmode 0: the sender may use accelerated ramp-up.
    pub ramp_up: bool,
    /// x_curr, the aggregate congestion signal; written in 0.1 ms, rounded to the nearest, 3.2767 s at most.
    pub congestion: TimeDelta,
    /// r_recv; saturates at 2^32 - 1 bit/s.
    pub receive_rate: Bitrate,
}

mod field {
    pub(super) const MEDIA_SSRC: usize = 0;
    /// rmode(1) x_curr(15).
    pub(super) const CONGESTION: usize = 4;
    pub(super) const RECEIVE_RATE: usize = 6;
    /// Two zero octets fill the last word.
    pub(super) const LEN: usize = 12;
}

const GRADUAL: u16 = 0x8000;
const UNIT_NANOS: i64 = 100_000;

impl NadaReport {
    fn read(sender_ssrc: u32, body: &[u8]) -> Self {
        let congestion = u16_at(body, field::CONGESTION);
        Self {
            sender_ssrc,
            media_ssrc: u32_at(body, field::MEDIA_SSRC),
            ramp_up: congestion & GRADUAL == 0,
            congestion: TimeDelta::from_nanos(UNIT_NANOS * i64::from(congestion & !GRADUAL)),
            receive_rate: Bitrate::from_bps(u32_at(body, field::RECEIVE_RATE).into()),
        }
    }

    fn write(&self, body: &mut [u8]) {
        let units = self.congestion.as_nanos().saturating_add(UNIT_NANOS / 2) / UNIT_NANOS;
        let congestion = units.clamp(0, i64::from(!GRADUAL)) as u16;
        put_u32(body, field::MEDIA_SSRC, self.media_ssrc);
        put_u16(body, field::CONGESTION, congestion | if self.ramp_up { 0 } else { GRADUAL });
        let rate = u32::try_from(self.receive_rate.as_bps()).unwrap_or(u32::MAX);
        put_u32(body, field::RECEIVE_RATE, rate);
    }
}

report!(NadaReport, b"NADA", field::LEN, "NADA report");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtcp::Packet;

    #[test]
    fn forty_eight_bits() {
        let report = NadaReport {
            sender_ssrc: 1,
            media_ssrc: 2,
            ramp_up: false,
            congestion: TimeDelta::from_micros(25_600),
            receive_rate: Bitrate::from_mbps(1),
        };
        let mut buffer = [0xEE; 24];
        assert_eq!(report.emit(&mut buffer), Ok(24));
        assert_eq!(&buffer, b"\x81\xCC\0\x05\0\0\0\x01NADA\0\0\0\x02\x81\0\0\x0F\x42\x40\0\0");
        assert_eq!(NadaReport::parse(Packet::parse(&buffer).unwrap().0), Ok(report));
    }

    #[test]
    fn large_values_saturate() {
        let report = NadaReport {
            sender_ssrc: 0,
            media_ssrc: 0,
            ramp_up: true,
            congestion: TimeDelta::MAX,
            receive_rate: Bitrate::MAX,
        };
        let mut buffer = [0; 24];
        report.emit(&mut buffer).unwrap();
        assert_eq!(buffer[16..], [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0]);
        let parsed = NadaReport::parse(Packet::parse(&buffer).unwrap().0).unwrap();
        assert_eq!(parsed.congestion, TimeDelta::from_micros(3_276_700));
        NadaReport { congestion: TimeDelta::from_secs(-1), ..report }.emit(&mut buffer).unwrap();
        assert_eq!(buffer[16..18], [0, 0]);
    }

    #[test]
    fn congestion_is_rounded_to_tenths_of_a_millisecond() {
        let mut buffer = [0; 24];
        for (micros, written) in [(25_649, 25_600), (25_650, 25_700), (49, 0), (50, 100)] {
            let congestion = TimeDelta::from_micros(micros);
            let receive_rate = Bitrate::from_mbps(1);
            let report =
                NadaReport { sender_ssrc: 1, media_ssrc: 2, ramp_up: true, congestion, receive_rate };
            report.emit(&mut buffer).unwrap();
            let parsed = NadaReport::parse(Packet::parse(&buffer).unwrap().0).unwrap();
            assert_eq!(parsed.congestion, TimeDelta::from_micros(written));
        }
    }
}
