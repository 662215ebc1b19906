//! Opus (RFC 6716).

use super::{BLOCK_SAMPLES, Block, SAMPLE_RATE};
use crate::Error;
use ropus::{Application, Bitrate as OpusBitrate, Channels, DecodeMode, Decoder, Encoder, InbandFec};
use seaway_units::{Bitrate, TimeDelta};
use std::fmt;

/// The largest packet of one frame (RFC 6716 section 3.2.1), with its first octet.
const LARGEST: usize = 1276;
/// The longest packet, 120 ms of two channels.
const LONGEST: usize = 5760 * 2;

/// Codes blocks of sound as Opus in two channels, one packet each.
pub struct OpusEncoder {
    encoder: Encoder,
    /// The loss that it is to expect, in percent.
    loss: u8,
    packet: [u8; LARGEST],
}

impl OpusEncoder {
    /// An encoder of this mean rate, without headers.
    ///
    /// # Errors
    /// A rate that Opus does not have: 6 to 510 kbit/s.
    pub fn new(rate: Bitrate) -> Result<Self, Error> {
        Self::of(rate, Application::Audio)
    }

    /// An encoder whose packets fit between those of a sender that protects its sound, which has the mode of speech (SILK).
    pub(super) fn of_speech() -> Result<Self, Error> {
        let mut encoder = Self::of(Bitrate::from_kbps(64), Application::Voip)?;
        encoder.set_expected_loss(20)?;
        Ok(encoder)
    }

    fn of(rate: Bitrate, application: Application) -> Result<Self, Error> {
        let rate = u32::try_from(rate.as_bps()).unwrap_or(u32::MAX);
        let rate = OpusBitrate::try_bits(rate).map_err(|error| failure("bit rate", &error))?;
        let encoder = Encoder::builder(SAMPLE_RATE, Channels::Stereo, application)
            .bitrate(rate)
            .build()
            .map_err(|error| failure("encoder set-up", &error))?;
        Ok(Self { encoder, loss: 0, packet: [0; LARGEST] })
    }

    /// So much of what is sent will be missing at the receiver, in percent. From 6 % on Opus takes its mode of speech, and packets have
    /// the one before them too, at a lower rate (LBRR), except in pauses.
    ///
    /// # Errors
    /// More than 100 %.
    pub fn set_expected_loss(&mut self, percent: u8) -> Result<(), Error> {
        if percent == self.loss {
            return Ok(());
        }
        let mode = if percent == 0 { InbandFec::Disabled } else { InbandFec::Enabled };
        let set = self.encoder.set_packet_loss_perc(percent).and_then(|()| self.encoder.set_inband_fec(mode));
        set.map_err(|error| failure("expected loss", &error))?;
        self.loss = percent;
        Ok(())
    }

    /// Samples of each channel by which it is behind.
    pub(super) fn lookahead(&self) -> usize {
        usize::try_from(self.encoder.lookahead()).unwrap_or(0)
    }

    /// By so much what a decoder gives is behind what went into the encoder.
    pub fn delay(&self) -> TimeDelta {
        let nanos = i64::from(self.encoder.lookahead()) * 1_000_000_000 / i64::from(SAMPLE_RATE);
        TimeDelta::from_nanos(nanos)
    }

    /// Codes a block.
    ///
    /// # Errors
    /// The encoder failed.
    pub fn encode(&mut self, block: &Block) -> Result<&[u8], Error> {
        let len =
            self.encoder.encode(block, &mut self.packet).map_err(|error| failure("encoding", &error))?;
        Ok(&self.packet[..len])
    }
}

impl fmt::Debug for OpusEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpusEncoder").finish_non_exhaustive()
    }
}

/// Decodes Opus to 48 kHz in two channels.
pub struct OpusDecoder {
    decoder: Decoder,
    samples: Vec<i16>,
}

impl OpusDecoder {
    /// A decoder that has seen nothing.
    ///
    /// # Errors
    /// It cannot be set up.
    pub fn new() -> Result<Self, Error> {
        let decoder = Decoder::new(SAMPLE_RATE, Channels::Stereo);
        let decoder = decoder.map_err(|error| failure("decoder set-up", &error))?;
        Ok(Self { decoder, samples: vec![0; LONGEST] })
    }

    /// The samples of a packet: left and right in turn.
    ///
    /// # Errors
    /// The packet is malformed.
    pub fn decode(&mut self, packet: &[u8]) -> Result<&[i16], Error> {
        self.decode_into(packet, LONGEST, DecodeMode::Normal)
    }

    /// What is played in place of a lost block.
    ///
    /// # Errors
    /// The decoder failed.
    pub fn conceal(&mut self) -> Result<&[i16], Error> {
        self.decode_into(&[], 2 * BLOCK_SAMPLES, DecodeMode::Normal)
    }

    /// The block before `next`, which was lost, by what that packet has of it.
    ///
    /// # Errors
    /// The packet is malformed.
    pub fn recover(&mut self, next: &[u8]) -> Result<&[i16], Error> {
        self.decode_into(next, 2 * BLOCK_SAMPLES, DecodeMode::Fec)
    }

    fn decode_into(&mut self, packet: &[u8], most: usize, mode: DecodeMode) -> Result<&[i16], Error> {
        let decoded = self.decoder.decode(packet, &mut self.samples[..most], mode);
        let count = decoded.map_err(|error| failure("decoding", &error))?;
        Ok(&self.samples[..2 * count])
    }
}

impl fmt::Debug for OpusDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpusDecoder").finish_non_exhaustive()
    }
}

fn failure(operation: &'static str, reason: &dyn fmt::Display) -> Error {
    Error::Opus { operation, reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::{AudioSource, BLOCK_TIME, TestTone, level};
    use proptest::prelude::*;

    fn packets(count: usize) -> Vec<Vec<u8>> {
        let (mut tone, mut encoder) =
            (TestTone::default(), OpusEncoder::new(Bitrate::from_kbps(64)).unwrap());
        let mut block = [0; 2 * BLOCK_SAMPLES];
        let packets = (0..count).map(|_| {
            tone.next_block(&mut block).unwrap();
            encoder.encode(&block).unwrap().to_vec()
        });
        packets.collect()
    }

    /// What comes out is what went in, later by the delay of the encoder.
    #[test]
    fn the_beep_comes_out_in_time() {
        let packets = packets(100);
        let rate = packets.iter().map(Vec::len).sum::<usize>() as f64 * 8.0 / 2.0;
        assert!((40e3..80e3).contains(&rate), "{rate} bit/s");
        let mut decoder = OpusDecoder::new().unwrap();
        let played: Vec<i16> =
            packets.iter().flat_map(|packet| decoder.decode(packet).unwrap().to_vec()).collect();
        assert_eq!(played.len(), 100 * 2 * BLOCK_SAMPLES);
        let delay = OpusEncoder::new(Bitrate::from_kbps(64)).unwrap().delay();
        assert!(delay < BLOCK_TIME / 2, "{delay}");
        // The second beep: its first loud sample.
        let from = 2 * 24_000;
        let onset = played[from..].iter().position(|sample| sample.unsigned_abs() > 3_000).unwrap();
        let onset = (from + onset) as f64 / 2.0 / f64::from(SAMPLE_RATE) - delay.as_secs_f64();
        assert!((onset - 1.0).abs() < 0.003, "{onset} s");
    }

    #[test]
    fn a_lost_packet_is_concealed() {
        let mut decoder = OpusDecoder::new().unwrap();
        packets(3).iter().for_each(|packet| assert!(decoder.decode(packet).is_ok()));
        let concealed = decoder.conceal().unwrap();
        assert_eq!(concealed.len(), 2 * BLOCK_SAMPLES);
        assert!(level(concealed).unwrap().get() > -20.0, "the beep goes on");
        // So does a packet without a frame.
        assert_eq!(decoder.decode(&[0xFC]).unwrap().len(), 2 * BLOCK_SAMPLES);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Packets come from the network.
        #[test]
        fn damage_never_panics(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 1..8)) {
            let mut decoder = OpusDecoder::new().unwrap();
            for packet in packets {
                if let Ok(samples) = decoder.decode(&packet) {
                    prop_assert!(samples.len() <= LONGEST);
                }
            }
        }

        #[test]
        fn damaged_packets_never_panic(seed in any::<u64>(), at in 0usize..2000, flips in 1usize..6) {
            let mut decoder = OpusDecoder::new().unwrap();
            let mut random = seed | 1;
            for mut packet in packets(4) {
                for flip in 0..flips {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let len = packet.len();
                    packet[(at * (flip + 1)) % len] ^= (random >> 56) as u8;
                }
                let _ = decoder.decode(&packet);
            }
        }
    }
}
