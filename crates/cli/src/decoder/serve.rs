//! The decoder's own process: `seaway decode`.

use super::confine::confine;
use super::pictures::{Place, copy_into};
use super::protocol::{Answer, Order, Request, read_request, write_answer};
use crate::failure::{Failure, note};
use seaway_media::FrameId;
use seaway_media::decoder::{Concealment, Freeze, H264Decoder, ReceivedFrame};
use seaway_units::TimeDelta;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

/// Decodes what comes by standard input until it ends. Standard output is the memory for its pictures.
pub(crate) fn serve() -> Result<ExitCode, Failure> {
    let decoder = H264Decoder::new(Concealment::default()).map_err(|error| Failure::running(&error))?;
    for lacking in confine() {
        note(&format!(
            "the decoder has a process of its own, which is less confined than it should be: {lacking}"
        ));
    }
    answer(decoder, io::stdin().lock(), Socket(io::stdin()), io::stdout())
        .map_err(|error| Failure::output(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// The socket, which is standard input in both directions.
struct Socket(io::Stdin);

impl Write for Socket {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        Ok(nix::unistd::write(&self.0, data)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn answer(
    mut decoder: H264Decoder,
    mut input: impl io::Read,
    mut output: impl Write,
    memory: impl AsFd,
) -> io::Result<()> {
    let mut request = Request::default();
    let mut more = read_request(&mut input, &mut request)?;
    while more {
        let after_loss = request.order == Order::DecodeAfterLoss;
        let frame = ReceivedFrame { data: &request.data, id: FrameId(0), time: TimeDelta::ZERO, after_loss };
        let picture = decoder.decode_in_place(&frame);
        let place = picture.as_ref().map_err(|&freeze| freeze);
        let place = place.and_then(|planes| Place::of(planes).ok_or(Freeze::Damaged));
        write_answer(&mut output, place.map_or_else(Answer::Frozen, Answer::Picture))?;
        more = read_request(&mut input, &mut request)?;
        while let (true, Order::Copy, Ok(planes)) = (more, request.order, &picture) {
            copy_into(&memory, planes)?;
            write_answer(&mut output, Answer::Copied)?;
            more = read_request(&mut input, &mut request)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::protocol::{read_answer, write_request};
    use super::*;
    use seaway_media::encoder::{Encoded, LiveEncoder, LiveEncoderConfig, VideoEncoder};
    use seaway_media::input::{PictureSource, Synthetic};
    use seaway_units::Bitrate;
    use std::os::unix::fs::FileExt;

    /// Each order has its answer, and a picture that is not there is not copied.
    #[test]
    fn orders_are_answered_in_turn() {
        let mut source = Synthetic::from_specification("64x48@25").unwrap();
        let frame_rate = source.format().frame_rate;
        let config =
            LiveEncoderConfig { frame_rate, start: Bitrate::from_kbps(900), latency: TimeDelta::ZERO };
        let mut encoder = LiveEncoder::new(config).unwrap();
        let [first, _lost, third] = std::array::from_fn(|_| {
            let picture = source.next_picture().unwrap().unwrap();
            let Encoded::Frame(frame) = encoder.encode(&picture).unwrap() else { panic!("skipped") };
            frame.data
        });
        let mut orders = Vec::new();
        write_request(&mut orders, Order::Copy, b"").unwrap();
        write_request(&mut orders, Order::Decode, &first).unwrap();
        write_request(&mut orders, Order::Copy, b"").unwrap();
        write_request(&mut orders, Order::Copy, b"").unwrap();
        write_request(&mut orders, Order::DecodeAfterLoss, &third).unwrap();
        write_request(&mut orders, Order::Decode, b"nonsense").unwrap();
        let (mut answers, memory) = (Vec::new(), tempfile::tempfile().unwrap());
        let decoder = || H264Decoder::new(Concealment::default()).unwrap();
        answer(decoder(), orders.as_slice(), &mut answers, &memory).unwrap();
        let mut from = answers.as_slice();
        let mut answer = || read_answer(&mut from).unwrap();
        assert!(matches!(answer(), Answer::Frozen(_)));
        assert!(
            matches!(answer(), Answer::Picture(place) if (place.size.width(), place.size.height()) == (64, 48))
        );
        assert_eq!([answer(), answer()], [Answer::Copied; 2]);
        assert_eq!(answer(), Answer::Frozen(Freeze::ReferencesMissing));
        assert!(matches!(answer(), Answer::Frozen(_)));
        assert!(from.is_empty());
        let frame = ReceivedFrame { data: &first, id: FrameId(0), time: TimeDelta::ZERO, after_loss: false };
        let mut alone = decoder();
        let [luma, ..] = alone.decode_in_place(&frame).unwrap();
        let mut copied = [0; 64 * 48];
        memory.read_exact_at(&mut copied, 0).unwrap();
        let rows = copied.chunks(64).zip(luma.data.chunks(luma.stride));
        assert!(rows.into_iter().all(|(copied, row)| *copied == row[..64]));
    }
}
