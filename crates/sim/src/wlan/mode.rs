//! Standards, modulation and coding, and the duration of a PPDU (`docs/models/wlan.md`, sections "PHY rates", "PPDU
//! duration" and "Frame sizes and response rates").

use crate::cell::CellError;
use serde::Deserialize;

/// Nanoseconds since the run began, or between two instants.
pub(crate) type Nanos = u64;
/// A microsecond.
pub(crate) const MICRO: Nanos = 1_000;

/// The generation of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Standard {
    /// 802.11b: DSSS and CCK at 2.4 GHz, 1 to 11 Mbit/s.
    #[serde(rename = "802.11b")]
    B,
    /// 802.11a: OFDM at 5 GHz, 6 to 54 Mbit/s.
    #[serde(rename = "802.11a")]
    A,
    /// 802.11g: OFDM at 2.4 GHz, 6 to 54 Mbit/s.
    #[serde(rename = "802.11g")]
    G,
    /// 802.11n: MCS 0 to 31, 20 and 40 MHz, A-MPDU.
    #[serde(rename = "802.11n")]
    N,
    /// 802.11ac: MCS 0 to 9 with 1 to 8 streams, 20 to 160 MHz, A-MPDU.
    #[serde(rename = "802.11ac")]
    Ac,
}

impl Standard {
    /// True where frames have priorities and block acknowledgement.
    pub const fn is_qos(self) -> bool {
        matches!(self, Self::N | Self::Ac)
    }
}

/// The band a cell works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Band {
    /// 2.4 GHz.
    #[serde(rename = "2.4 GHz")]
    Ghz2,
    /// 5 GHz.
    #[serde(rename = "5 GHz")]
    Ghz5,
}

/// How a PPDU is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// DSSS or CCK behind a preamble of 192 µs, or 96 µs where it is short.
    Dsss,
    /// OFDM as in 802.11a and g.
    Legacy,
    /// 802.11n, mixed format.
    Ht,
    /// 802.11ac, one user.
    Vht,
}

/// The code rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeRate {
    /// 1/2.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
    /// 5/6.
    FiveSixths,
}

impl CodeRate {
    /// Numerator and denominator.
    pub const fn fraction(self) -> (u64, u64) {
        match self {
            Self::Half => (1, 2),
            Self::TwoThirds => (2, 3),
            Self::ThreeQuarters => (3, 4),
            Self::FiveSixths => (5, 6),
        }
    }

    /// As a number.
    pub const fn get(self) -> f64 {
        let (numerator, denominator) = self.fraction();
        numerator as f64 / denominator as f64
    }
}

/// A modulation and coding, a width, a guard interval and a number of streams, with all that follows from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// How the PPDU is built.
    pub format: Format,
    /// Bits a constellation point carries: 1 (BPSK), 2, 4, 6, 8. For DSSS and CCK the bits of a symbol.
    pub bits: u8,
    /// The code rate; 1/2 and without a meaning for DSSS.
    pub code: CodeRate,
    /// The row of the table: MCS for [`Format::Vht`], MCS modulo 8 for [`Format::Ht`].
    pub row: u8,
    /// Spatial streams.
    pub streams: u8,
    /// The width in MHz; 22 for DSSS.
    pub width: u16,
    /// Bit/s.
    pub rate: u64,
    /// How long the preamble and the header last.
    pub preamble: Nanos,
    /// How long a symbol lasts; zero for DSSS.
    symbol: Nanos,
    /// Data bits a symbol carries.
    symbol_bits: u64,
    /// Service and tail bits.
    service_bits: u64,
}

/// Bits of a constellation point, and code rate, by row of the table (2.1).
const ROWS: [(u8, CodeRate); 10] = [
    (1, CodeRate::Half),
    (2, CodeRate::Half),
    (2, CodeRate::ThreeQuarters),
    (4, CodeRate::Half),
    (4, CodeRate::ThreeQuarters),
    (6, CodeRate::TwoThirds),
    (6, CodeRate::ThreeQuarters),
    (6, CodeRate::FiveSixths),
    (8, CodeRate::ThreeQuarters),
    (8, CodeRate::FiveSixths),
];

/// The rates of 802.11a and g in Mbit/s, with bits of a constellation point and code rate.
const LEGACY: [(u64, u8, CodeRate); 8] = [
    (6, 1, CodeRate::Half),
    (9, 1, CodeRate::ThreeQuarters),
    (12, 2, CodeRate::Half),
    (18, 2, CodeRate::ThreeQuarters),
    (24, 4, CodeRate::Half),
    (36, 4, CodeRate::ThreeQuarters),
    (48, 6, CodeRate::TwoThirds),
    (54, 6, CodeRate::ThreeQuarters),
];

/// Encoders that the rule of 2.2 does not give: width, streams, MCS, encoders. They are those of 802.11ac's tables.
const ENCODERS: [(u16, u8, u8, u64); 13] = [
    (80, 7, 2, 3),
    (80, 7, 7, 6),
    (80, 7, 8, 6),
    (80, 8, 7, 6),
    (160, 4, 7, 6),
    (160, 5, 8, 8),
    (160, 6, 7, 8),
    (160, 7, 3, 4),
    (160, 7, 4, 6),
    (160, 7, 5, 7),
    (160, 7, 7, 9),
    (160, 7, 8, 12),
    (160, 7, 9, 12),
];

impl Mode {
    /// A DSSS or CCK rate of 802.11b: 1, 2, 5.5 or 11 Mbit/s. The preamble is long at 1 Mbit/s, whatever is configured.
    ///
    /// # Errors
    /// Another rate.
    pub fn dsss(rate: u64, short_preamble: bool) -> Result<Self, CellError> {
        let bits = match rate {
            1_000_000 => 1,
            2_000_000 => 2,
            5_500_000 => 4,
            11_000_000 => 8,
            _ => return Err(CellError::new("rate", "802.11b has 1, 2, 5.5 and 11 Mbit/s")),
        };
        let preamble = if short_preamble && rate > 1_000_000 { 96 } else { 192 };
        Ok(Self {
            format: Format::Dsss,
            bits,
            code: CodeRate::Half,
            row: 0,
            streams: 1,
            width: 22,
            rate,
            preamble: preamble * MICRO,
            symbol: 0,
            symbol_bits: 0,
            service_bits: 0,
        })
    }

    /// An OFDM rate of 802.11a and g: 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s.
    ///
    /// # Errors
    /// Another rate.
    pub fn legacy(rate: u64) -> Result<Self, CellError> {
        let known = LEGACY.iter().position(|&(mbps, ..)| mbps * 1_000_000 == rate);
        let row = known.ok_or_else(|| {
            CellError::new("rate", "802.11a and g have 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s")
        })?;
        let (_, bits, code) = LEGACY[row];
        Ok(Self {
            format: Format::Legacy,
            bits,
            code,
            row: row as u8,
            streams: 1,
            width: 20,
            rate,
            preamble: 20 * MICRO,
            symbol: 4_000,
            symbol_bits: rate / 250_000,
            service_bits: 16 + 6,
        })
    }

    /// MCS 0 to 31 of 802.11n at 20 or 40 MHz; eight MCS a number of streams.
    ///
    /// # Errors
    /// What 802.11n does not have.
    pub fn ht(mcs: u8, width: u16, short_guard: bool) -> Result<Self, CellError> {
        if mcs > 31 {
            return Err(CellError::new("mcs", "802.11n has MCS 0 to 31"));
        }
        if width != 20 && width != 40 {
            return Err(CellError::new("width", "802.11n has 20 MHz and 40 MHz"));
        }
        Ok(Self::ofdm(Format::Ht, mcs % 8, width, short_guard, mcs / 8 + 1))
    }

    /// MCS 0 to 9 of 802.11ac at 20, 40, 80 or 160 MHz with 1 to 8 streams.
    ///
    /// # Errors
    /// What 802.11ac does not have: among others MCS 9 at 20 MHz unless there are three streams, and MCS 6 at 80 MHz with
    /// three.
    pub fn vht(mcs: u8, width: u16, short_guard: bool, streams: u8) -> Result<Self, CellError> {
        if mcs > 9 {
            return Err(CellError::new("mcs", "802.11ac has MCS 0 to 9"));
        }
        if ![20, 40, 80, 160].contains(&width) {
            return Err(CellError::new("width", "802.11ac has 20, 40, 80 and 160 MHz"));
        }
        if !(1..=8).contains(&streams) {
            return Err(CellError::new("streams", "802.11ac has 1 to 8 streams"));
        }
        if mcs == 9 && width == 20 && streams != 3 {
            return Err(CellError::new("mcs", "802.11ac has no MCS 9 at 20 MHz unless `streams` is 3"));
        }
        if mcs == 6 && width == 80 && streams == 3 {
            return Err(CellError::new("mcs", "802.11ac has no MCS 6 at 80 MHz with 3 streams"));
        }
        Ok(Self::ofdm(Format::Vht, mcs, width, short_guard, streams))
    }

    fn ofdm(format: Format, row: u8, width: u16, short_guard: bool, streams: u8) -> Self {
        let (bits, code) = ROWS[usize::from(row)];
        let subcarriers: u64 = match width {
            20 => 52,
            40 => 108,
            80 => 234,
            _ => 468,
        };
        let symbol = if short_guard { 3_600 } else { 4_000 };
        let (numerator, denominator) = code.fraction();
        let symbol_bits = u64::from(streams) * subcarriers * u64::from(bits) * numerator / denominator;
        let rate = (symbol_bits * 1_000_000_000).div_ceil(symbol);
        let most = match (format, short_guard) {
            (Format::Ht, false) => 320_000_000,
            (Format::Ht, true) => 350_000_000,
            (_, false) => 540_000_000,
            (_, true) => 600_000_000,
        };
        let exception = ENCODERS.iter().find(|&&(w, s, m, _)| (w, s, m) == (width, streams, row));
        let encoders = match exception {
            Some(&(.., encoders)) if format == Format::Vht => encoders,
            _ => rate.div_ceil(most),
        };
        let training = match streams {
            1 => 1,
            2 => 2,
            3 | 4 => 4,
            5 | 6 => 6,
            _ => 8,
        };
        Self {
            format,
            bits,
            code,
            row,
            streams,
            width,
            rate,
            preamble: (32 + 4 * training) * MICRO,
            symbol,
            symbol_bits,
            service_bits: 16 + 6 * encoders,
        }
    }

    /// How long a PPDU lasts that carries `octets`, without the signal extension of the 2.4 GHz band (2.2).
    pub const fn duration(&self, octets: u64) -> Nanos {
        match self.format {
            Format::Dsss => self.preamble + (octets * 8 * 1_000_000).div_ceil(self.rate) * MICRO,
            _ => self.preamble + self.symbol * (self.service_bits + 8 * octets).div_ceil(self.symbol_bits),
        }
    }

    /// The most octets that last no longer than `span`; zero where there is room for none.
    pub const fn octets_in(&self, span: Nanos) -> u64 {
        let room = span.saturating_sub(self.preamble);
        match self.format {
            Format::Dsss => room / MICRO * self.rate / 8_000_000,
            _ => (room / self.symbol * self.symbol_bits).saturating_sub(self.service_bits) / 8,
        }
    }

    /// The signal extension in `band` (2.2).
    pub const fn extension(&self, band: Band) -> Nanos {
        match (self.format, band) {
            (Format::Dsss, _) | (_, Band::Ghz5) => 0,
            (_, Band::Ghz2) => 6 * MICRO,
        }
    }

    /// The response to a frame in this mode, and a block-ack request beside it (2.3): the highest of 6, 12 and
    /// 24 Mbit/s whose constellation does not exceed this one; 1 or 2 Mbit/s for 802.11b.
    pub fn response(&self, short_preamble: bool) -> Self {
        let (rate, is_dsss) = match (self.format, self.bits) {
            (Format::Dsss, 1) => (1_000_000, true),
            (Format::Dsss, _) => (2_000_000, true),
            (_, 1) => (6_000_000, false),
            (_, 2) => (12_000_000, false),
            _ => (24_000_000, false),
        };
        let mode = if is_dsss { Self::dsss(rate, short_preamble) } else { Self::legacy(rate) };
        mode.expect("the rates above are those of the standard")
    }
}

/// Octets of frames, the frame check sequence included (2.3, 6).
pub(crate) mod octets {
    pub(crate) const ACK: u32 = 14;
    pub(crate) const CTS: u32 = 14;
    pub(crate) const RTS: u32 = 20;
    /// CF-End.
    pub(crate) const END: u32 = 20;
    pub(crate) const BLOCK_ACK_REQUEST: u32 = 24;
    pub(crate) const BLOCK_ACK: u32 = 32;
    /// In front of an MPDU inside an A-MPDU.
    pub(crate) const DELIMITER: u32 = 4;

    /// The MPDU around an IP datagram: LLC and SNAP, the header, the frame check sequence.
    pub(crate) const fn mpdu(datagram: u32, is_qos: bool) -> u32 {
        datagram + 8 + if is_qos { 26 } else { 24 } + 4
    }

    /// A subframe that is not the last.
    pub(crate) const fn subframe(mpdu: u32) -> u32 {
        (DELIMITER + mpdu).next_multiple_of(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An independent reading of 2.2, in tenths of a microsecond and with the rate instead of bits a symbol.
    fn slow_duration(rate: f64, symbol_tenths: u64, preamble: u64, encoders: u64, octets: u64) -> u64 {
        let bits_a_symbol = (rate * symbol_tenths as f64 * 1e-7).round();
        let symbols = ((16 + 8 * octets + 6 * encoders) as f64 / bits_a_symbol).ceil() as u64;
        preamble * 10 + symbols * symbol_tenths
    }

    /// `docs/models/wlan.md`, section "Worked checks", check 1.
    #[test]
    fn worked_duration_of_an_aggregate() {
        let mode = Mode::vht(4, 20, true, 1).unwrap();
        assert_eq!(mode.rate, 43_333_334);
        let psdu = 18 * u64::from(octets::subframe(1538)) + 1542;
        assert_eq!((psdu, mode.duration(psdu)), (29_334, 5_454_000));
        assert!(mode.duration(psdu + 1544) > 5_484_000);
        assert!(mode.octets_in(5_484_000) >= psdu && mode.octets_in(5_484_000) < psdu + 1544);
    }

    /// `docs/models/wlan.md`, section "Acceptance", rule 1: every MCS, width, guard interval and number of streams.
    #[test]
    fn durations_follow_the_formula_and_grow_by_symbols() {
        for width in [20, 40, 80, 160] {
            for (mcs, short, streams) in (0..10)
                .flat_map(|m| [(m, false), (m, true)])
                .flat_map(|(m, g)| (1..9).map(move |s| (m, g, s)))
            {
                let Ok(mode) = Mode::vht(mcs, width, short, streams) else { continue };
                let encoders = (mode.service_bits - 16) / 6;
                let ltf = [0, 1, 2, 4, 4, 6, 6, 8, 8][usize::from(streams)];
                let mut last = 0;
                for octets in (14..65_535).step_by(97) {
                    let expected = slow_duration(
                        mode.rate as f64,
                        if short { 36 } else { 40 },
                        32 + 4 * ltf,
                        encoders,
                        octets,
                    );
                    let duration = mode.duration(octets);
                    assert_eq!(duration, expected * 100, "{mode:?} {octets}");
                    assert!(duration >= last && (duration - mode.preamble).is_multiple_of(mode.symbol));
                    assert!(mode.octets_in(duration) >= octets && mode.octets_in(duration - 1) < octets);
                    last = duration;
                }
            }
        }
    }

    /// `docs/models/wlan.md`, section "Frame sizes and response rates".
    #[test]
    fn control_frames_last_as_listed() {
        let at = |mcs| Mode::vht(mcs, 20, true, 1).unwrap().response(false);
        let times = |octets: u32| [0, 1, 3].map(|mcs| at(mcs).duration(u64::from(octets)) / MICRO);
        assert_eq!(times(octets::ACK), [44, 32, 28]);
        assert_eq!(times(octets::BLOCK_ACK), [68, 44, 32]);
        assert_eq!(at(8).duration(u64::from(octets::BLOCK_ACK_REQUEST)), 32 * MICRO);
        let b = Mode::dsss(11_000_000, false).unwrap().response(false);
        assert_eq!((b.rate, b.duration(14)), (2_000_000, 248 * MICRO));
    }

    #[test]
    fn what_a_standard_lacks_is_refused() {
        assert!(Mode::vht(9, 20, false, 1).is_err() && Mode::vht(9, 20, false, 3).is_ok());
        assert!(Mode::vht(6, 80, false, 3).is_err() && Mode::vht(10, 20, false, 1).is_err());
        assert!(Mode::ht(32, 20, false).is_err() && Mode::ht(11, 80, false).is_err());
        assert!(Mode::legacy(7_000_000).is_err() && Mode::dsss(6_000_000, false).is_err());
        assert_eq!(Mode::ht(11, 20, false).unwrap().rate, 52_000_000);
    }
}
