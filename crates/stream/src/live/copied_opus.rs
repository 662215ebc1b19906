//! Opus that is sent as it is: on the page, its level, and what is done where a datagram does not take its packets.

use super::browser::BrowserTrack;
use super::event::SendEvent;
use super::input::FrameInput;
use super::sender_machine::SenderUpdate;
use super::sound::{RATE, measure};
use crate::Error;
use bytes::Bytes;
use seaway_media::audio::{BLOCK_SAMPLES, BLOCK_TIME, OpusDecoder, OpusEncoder, SAMPLE_RATE};
use seaway_units::{DataSize, TimeDelta, Timestamp};
use std::sync::mpsc::Sender;

/// Samples of a block, of two channels.
const BLOCK: usize = 2 * BLOCK_SAMPLES;

/// Sends the packets of a track.
#[derive(Debug)]
pub(super) struct CopiedOpus {
    decoder: OpusDecoder,
    preview: Option<BrowserTrack>,
    /// Octets that a datagram takes.
    room: DataSize,
    /// Once a packet was larger.
    recoding: Option<Recoding>,
    measured: Vec<i16>,
}

impl CopiedOpus {
    /// Of packets of which a datagram takes those of `room`.
    ///
    /// # Errors
    /// The decoder cannot be set up.
    pub(super) fn new(room: DataSize, preview: Option<BrowserTrack>) -> Result<Self, Error> {
        let decoder = OpusDecoder::new()?;
        Ok(Self { decoder, preview, room, recoding: None, measured: Vec::new() })
    }

    /// Sends a packet of this duration.
    pub(super) fn send(
        &mut self,
        input: &FrameInput,
        captured: Timestamp,
        (packet, duration): (Bytes, TimeDelta),
        updates: &Sender<SenderUpdate>,
    ) -> Result<(), Error> {
        // What cannot be decoded here is for the receiver to judge.
        let samples = self.decoder.decode(&packet).unwrap_or_default();
        measure(&mut self.measured, samples, updates);
        let size = DataSize::of(&packet);
        if size > self.room && self.recoding.is_none() {
            self.recoding = Some(Recoding::new()?);
            let event = SendEvent::SoundCodedAgain { size, room: self.room };
            // The application may have dropped its handle.
            let _ = updates.send(SenderUpdate::Event(input.now(), event));
        }
        let packets = match &mut self.recoding {
            Some(recoding) => recoding.push(captured, samples, input.controls.sound_loss())?,
            None => vec![(captured, packet, duration)],
        };
        for (captured, packet, duration) in packets {
            self.preview.iter().for_each(|track| track.preview_sound(captured, &packet));
            input.send_sound(captured, packet, duration);
        }
        Ok(())
    }
}

/// Codes in blocks what was decoded.
#[derive(Debug)]
struct Recoding {
    encoder: OpusEncoder,
    /// Samples that are no whole block yet.
    samples: Vec<i16>,
    /// Samples that are left out first: the encoder is behind by so many, and the packets go on where those of the track end.
    left_out: usize,
    /// When the next packet begins.
    next: Option<Timestamp>,
}

impl Recoding {
    /// Time stamps are rounded.
    const APART: TimeDelta = TimeDelta::from_millis(1);

    fn new() -> Result<Self, Error> {
        Ok(Self { encoder: OpusEncoder::new(RATE)?, samples: Vec::new(), left_out: 0, next: None })
    }

    /// Packets of whole blocks, with their times, after these samples were captured from `captured` on.
    fn push(
        &mut self,
        captured: Timestamp,
        samples: &[i16],
        loss: u8,
    ) -> Result<Vec<(Timestamp, Bytes, TimeDelta)>, Error> {
        let delay = self.encoder.delay();
        // Of two channels.
        let of = |time: TimeDelta| 2 * (time.as_nanos() * i64::from(SAMPLE_RATE) / 1_000_000_000) as usize;
        let waiting = self.samples.len() as i64 / 2 - self.left_out as i64 / 2;
        let waiting = TimeDelta::from_nanos(waiting * 1_000_000_000 / i64::from(SAMPLE_RATE));
        let goes_on = |next: Timestamp| (captured - delay - (next + waiting)).abs() <= Self::APART;
        if !self.next.is_some_and(goes_on) {
            self.samples.clear();
            (self.next, self.left_out) = (Some(captured), of(delay));
        }
        let left_out = self.left_out.min(samples.len());
        self.left_out -= left_out;
        self.samples.extend_from_slice(&samples[left_out..]);
        self.encoder.set_expected_loss(loss)?;
        let mut packets = Vec::new();
        while let (Some(block), Some(next)) = (self.samples.first_chunk::<BLOCK>(), self.next) {
            packets.push((next, Bytes::copy_from_slice(self.encoder.encode(block)?), BLOCK_TIME));
            self.samples.drain(..BLOCK);
            self.next = Some(next + BLOCK_TIME);
        }
        Ok(packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_secs(1) + TimeDelta::from_millis(millis)
    }

    /// The times of the packets, in milliseconds.
    fn times(recoding: &mut Recoding, captured: i64, millis: usize) -> Vec<i64> {
        let packets = recoding.push(at(captured), &vec![0; millis * 96], 0).unwrap();
        packets.iter().map(|(captured, ..)| (*captured - at(0)).as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn blocks_follow_each_other_whatever_the_packets_have() {
        let mut recoding = Recoding::new().unwrap();
        assert_eq!(times(&mut recoding, 0, 60), [0, 20], "6.5 ms are left out, and 13.5 ms wait");
        assert_eq!(times(&mut recoding, 60, 60), [40, 60, 80]);
        assert_eq!(times(&mut recoding, 120, 10), [100]);
        assert_eq!(times(&mut recoding, 130, 10), [0; 0]);
        // A gap: it begins again.
        assert_eq!(times(&mut recoding, 500, 40), [500]);
        assert_eq!(times(&mut recoding, 540, 0), [0; 0]);
    }
}
