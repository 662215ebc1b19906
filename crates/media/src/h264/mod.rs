//! H.264 byte streams: NAL units, parameter sets, and the check of access units before they reach the C++ decoder (ITU-T
//! H.264 section 7 and Annex B).

#[cfg(feature = "codec")]
mod acceleration;
mod access_units;
mod inspect;
mod sequence;

#[cfg(feature = "codec")]
pub use acceleration::acceleration;
pub use access_units::AccessUnitSplitter;
pub use inspect::{Inspection, Inspector, Refusal};
pub use seaway_wire::h264::annex_b::{START_CODE, nal_units};
pub(crate) use sequence::named_rate;
pub use sequence::reorders;

/// Types of NAL units (ITU-T H.264 table 7-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NalType {
    /// Slice of a picture that depends on others.
    Slice,
    /// Slice of an IDR picture: neither it nor later pictures depend on earlier ones.
    IdrSlice,
    /// Sequence parameter set: picture size, numbering.
    SequenceParameters,
    /// Picture parameter set: entropy coder, quantiser.
    PictureParameters,
    /// Supplemental enhancement information.
    Supplemental,
    /// Access unit delimiter.
    Delimiter,
    /// Anything else.
    Other(u8),
}

impl NalType {
    /// The type of a NAL unit by its first octet; `None` where there is none, or its forbidden bit is set.
    pub fn of(nal: &[u8]) -> Option<Self> {
        let header = *nal.first()?;
        if header & 0x80 != 0 {
            return None;
        }
        Some(match header & 0x1F {
            1 => Self::Slice,
            5 => Self::IdrSlice,
            6 => Self::Supplemental,
            7 => Self::SequenceParameters,
            8 => Self::PictureParameters,
            9 => Self::Delimiter,
            other => Self::Other(other),
        })
    }
}

/// Converts NAL units behind length fields of `length_size` octets, as in MP4 and Matroska, to a byte stream. False where
/// a length points beyond the end; the units before it are written.
pub(crate) fn append_from_lengths(sample: &[u8], length_size: usize, stream: &mut Vec<u8>) -> bool {
    let mut rest = sample;
    while !rest.is_empty() {
        let Some((field, after)) = rest.split_at_checked(length_size) else { return false };
        let length = field.iter().fold(0_usize, |length, &octet| length << 8 | usize::from(octet));
        let Some((nal, next)) = after.split_at_checked(length) else { return false };
        append_nal(nal, stream);
        rest = next;
    }
    true
}

/// Appends one NAL unit with its start code.
pub(crate) fn append_nal(nal: &[u8], stream: &mut Vec<u8>) {
    stream.extend_from_slice(&START_CODE);
    stream.extend_from_slice(nal);
}

/// The decoder configuration of ISO/IEC 14496-15 section 5.3.3 (`avcC`): parameter sets and the length of
/// the length fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecoderConfiguration {
    /// Octets of each length field: 1, 2 or 4.
    pub(crate) length_size: usize,
    /// The parameter sets as a byte stream.
    pub(crate) parameter_sets: Vec<u8>,
}

impl DecoderConfiguration {
    /// Parses the record; `None` where it is cut short or of another version.
    pub(crate) fn parse(record: &[u8]) -> Option<Self> {
        let (header, mut rest) = record.split_at_checked(5)?;
        if header[0] != 1 {
            return None;
        }
        let length_size = usize::from(header[4] & 0b11) + 1;
        let mut parameter_sets = Vec::new();
        for mask in [0x1F, 0xFF] {
            let (&count, after) = rest.split_first()?;
            rest = after;
            for _ in 0..count & mask {
                let (length, after) = rest.split_at_checked(2)?;
                let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
                let (nal, after) = after.split_at_checked(length)?;
                append_nal(nal, &mut parameter_sets);
                rest = after;
            }
        }
        (length_size != 3).then_some(Self { length_size, parameter_sets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_start_codes_and_stray_zeros() {
        let stream = [0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 2, 0, 0, 0, 0, 0, 1, 0x65, 0, 0, 3, 0, 0, 3, 5, 0];
        let units: Vec<_> = nal_units(&stream).collect();
        assert_eq!(units, [&[0x67, 1][..], &[0x68, 2], &[0x65, 0, 0, 3, 0, 0, 3, 5]]);
        assert_eq!(nal_units(&[1, 2, 3]).count(), 0);
        assert_eq!(nal_units(&[0, 0, 1, 0, 0, 1]).count(), 0);
    }

    #[test]
    fn a_length_beyond_the_end_is_noticed() {
        let mut stream = Vec::new();
        assert!(append_from_lengths(&[0, 2, 0x65, 9, 0, 1, 0x41], 2, &mut stream));
        assert_eq!(stream, [0, 0, 0, 1, 0x65, 9, 0, 0, 0, 1, 0x41]);
        assert!(!append_from_lengths(&[0, 9, 0x65], 2, &mut stream));
    }

    #[test]
    fn configuration_record() {
        let record = [1, 66, 0, 30, 0xFF, 0xE1, 0, 2, 0x67, 0x42, 1, 0, 1, 0x68];
        let configuration = DecoderConfiguration::parse(&record).unwrap();
        assert_eq!(configuration.length_size, 4);
        assert_eq!(configuration.parameter_sets, [0, 0, 0, 1, 0x67, 0x42, 0, 0, 0, 1, 0x68]);
        for cut in 0..record.len() {
            assert_eq!(DecoderConfiguration::parse(&record[..cut]), None, "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn units_come_back_as_written(units in prop::collection::vec(prop::collection::vec(1_u8.., 1..20), 0..9)) {
            let mut stream = Vec::new();
            for unit in &units {
                append_nal(unit, &mut stream);
            }
            prop_assert!(nal_units(&stream).eq(units.iter().map(Vec::as_slice)));
        }
    }
}
