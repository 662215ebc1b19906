//! Frames into payloads and back.

mod aac;
mod av1;
mod h264;
mod h265;
mod mpv;
mod opus;

use crate::config::Format;
use crate::frame::FrameData;
use crate::payload::Payload;
use bytes::Bytes;
use seaway_units::DataSize;
use seaway_wire::Error;
use seaway_wire::h264::annex_b;

/// Cuts a frame into payloads of at most `limit` octets, appended to `payloads`.
///
/// # Errors
/// A frame that is not in its format.
pub(crate) fn cut(
    format: Format,
    data: &FrameData,
    limit: usize,
    payloads: &mut Vec<Payload>,
) -> Result<(), Error> {
    match (format, data) {
        (Format::H264, FrameData::Coded(frame)) => h264::cut(frame, limit, payloads)?,
        (Format::Mpv, FrameData::Coded(frame)) => mpv::cut(frame, limit, payloads)?,
        (Format::Aac(config), FrameData::Coded(frame)) => aac::cut(config, frame, limit, payloads)?,
        (Format::Opus, FrameData::Coded(packet)) => payloads.push(opus::cut(packet, limit)?),
        (_, FrameData::Coded(frame)) => {
            let limit = whole_packets(format, limit);
            let pieces = frame.chunks(limit).map(|piece| Payload::from(frame.slice_ref(piece)));
            payloads.extend(pieces);
        }
        (_, FrameData::Synthetic(size)) => {
            let mut left = usize::try_from(size.as_bytes()).unwrap_or(usize::MAX);
            while left > 0 {
                let piece = left.min(limit);
                payloads.push(Payload::zeros(piece));
                left -= piece;
            }
        }
    }
    Ok(())
}

/// A payload of a transport stream holds whole packets (RFC 2250 section 2); other formats may be cut anywhere.
const fn whole_packets(format: Format, limit: usize) -> usize {
    const PACKET: usize = 188;
    match format {
        Format::Mp2t if limit >= PACKET => limit / PACKET * PACKET,
        _ => limit,
    }
}

/// Puts the payloads of a whole frame together; `None` where they do not make one.
pub(crate) fn join<'a>(
    format: Format,
    payloads: impl Iterator<Item = &'a Payload> + Clone,
) -> Option<FrameData> {
    match format {
        Format::H264 => h264::join(payloads).map(FrameData::Coded),
        Format::H265 => h265::join(payloads).map(FrameData::Coded),
        Format::Av1 => av1::join(payloads).map(FrameData::Coded),
        Format::Mpv => mpv::join(payloads).map(FrameData::Coded),
        Format::Aac(config) => aac::join(config, payloads).map(FrameData::Coded),
        Format::Opus => opus::join(payloads),
        Format::Opaque | Format::Mp2t => {
            let size: usize = payloads.clone().map(Payload::len).sum();
            if payloads.clone().any(Payload::is_synthetic) {
                return Some(FrameData::Synthetic(DataSize::from_bytes(size as u64)));
            }
            let mut frame = Vec::with_capacity(size);
            payloads.for_each(|payload| payload.write(&mut frame));
            Some(FrameData::Coded(Bytes::from(frame)))
        }
    }
}

/// Puts payloads together to an access unit in Annex B form; `append` takes one of them, and gives `None` where it is malformed.
fn join_annex_b<'a>(
    payloads: impl Iterator<Item = &'a Payload> + Clone,
    append: impl Fn(&[u8], &mut Vec<u8>) -> Option<()>,
) -> Option<Bytes> {
    let size: usize = payloads.clone().map(|payload| payload.len() + annex_b::START_CODE.len()).sum();
    let mut stream = Vec::with_capacity(size);
    for payload in payloads {
        append(&payload.contents(), &mut stream)?;
    }
    (!stream.is_empty()).then(|| Bytes::from(stream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn opaque_frames_come_back(frame in prop::collection::vec(any::<u8>(), 1..5000), limit in 1usize..1500) {
            let data = FrameData::Coded(Bytes::from(frame));
            let mut payloads = Vec::new();
            cut(Format::Opaque, &data, limit, &mut payloads).unwrap();
            prop_assert!(payloads.iter().all(|payload| (1..=limit).contains(&payload.len())));
            prop_assert_eq!(join(Format::Opaque, payloads.iter()), Some(data));
        }
    }

    #[test]
    fn a_transport_stream_is_cut_between_its_packets() {
        let data = FrameData::Coded(Bytes::from(vec![0x47; 188 * 13]));
        let lengths = |limit| {
            let mut payloads = Vec::new();
            cut(Format::Mp2t, &data, limit, &mut payloads).unwrap();
            payloads.iter().map(Payload::len).collect::<Vec<_>>()
        };
        assert_eq!(lengths(1158), [188 * 6, 188 * 6, 188]);
        assert_eq!(lengths(188), [188; 13]);
        assert_eq!(lengths(187).iter().sum::<usize>(), 188 * 13, "no packet fits");
    }

    #[test]
    fn synthetic_frames_keep_their_size() {
        let data = FrameData::Synthetic(DataSize::from_bytes(2500));
        let mut payloads = Vec::new();
        cut(Format::Opaque, &data, 1000, &mut payloads).unwrap();
        assert_eq!(payloads.iter().map(Payload::len).collect::<Vec<_>>(), [1000, 1000, 500]);
        assert_eq!(join(Format::Opaque, payloads.iter()), Some(data));
    }
}
