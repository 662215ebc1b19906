//! Sound that was lost and came again inside the packet behind it: the in-band forward error correction of Opus.

use super::{BLOCK_SAMPLES, OpusDecoder, OpusEncoder};
use crate::Error;
use seaway_wire::opus;

/// Samples of a block, of two channels.
const BLOCK: usize = 2 * BLOCK_SAMPLES;
/// Blocks that are coded before the one that is wanted, so that its coder has a past.
const PAST: usize = 2;
/// Blocks that are concealed where more are missing.
const MOST_CONCEALED: u32 = 5;

/// Decodes the packets of a track, and makes packets in place of those that were lost where the next one has their sound.
///
/// What such a packet holds was coded at a lower rate by the sender, decoded here and coded anew, so that whatever takes the
/// packets, a recording or a player, has it in its place.
#[derive(Debug)]
pub struct SoundRecovery {
    decoder: OpusDecoder,
    /// The last samples that were decoded.
    history: Vec<i16>,
    /// Where the last packet ends.
    end: Option<u32>,
}

/// What came of a packet.
#[derive(Debug, Default)]
pub struct DecodedSound {
    /// Its samples; none of what is no Opus.
    pub samples: Vec<i16>,
    /// The packet of one block that stands before it and was lost.
    pub lost: Option<Vec<u8>>,
}

impl SoundRecovery {
    /// Of a track that begins.
    ///
    /// # Errors
    /// The decoder cannot be set up.
    pub fn new() -> Result<Self, Error> {
        Ok(Self { decoder: OpusDecoder::new()?, history: Vec::new(), end: None })
    }

    /// Takes the next packet, with its RTP time. Any octets are safe.
    pub fn take(&mut self, timestamp: u32, packet: &[u8]) -> DecodedSound {
        let Ok(kind) = opus::Packet::parse(packet) else { return DecodedSound::default() };
        let missing = self.end.map_or(0, |end| timestamp.wrapping_sub(end)) / BLOCK_SAMPLES as u32;
        self.end = Some(timestamp.wrapping_add(kind.duration()));
        // Another sender, or a pause.
        let missing = if missing > 50 { 0 } else { missing };
        let has_lost = missing > 0 && kind.has_previous(packet);
        for _ in 0..(missing - u32::from(has_lost)).min(MOST_CONCEALED) {
            self.history.extend_from_slice(self.decoder.conceal().unwrap_or_default());
        }
        let is_recovered = has_lost && self.recover(packet);
        let samples = self.decoder.decode(packet).unwrap_or_default().to_vec();
        self.history.extend_from_slice(&samples);
        let lost = if is_recovered { self.code_again(samples.len()) } else { None };
        self.history.drain(..self.history.len().saturating_sub((PAST + 4) * BLOCK));
        DecodedSound { samples, lost }
    }

    fn recover(&mut self, next: &[u8]) -> bool {
        let recovered = self.decoder.recover(next).unwrap_or_default();
        self.history.extend_from_slice(recovered);
        recovered.len() == BLOCK
    }

    /// The block before the last `behind` samples as a packet. It is coded as much ahead of its time as the coder delays it, so that
    /// it is decoded in time.
    fn code_again(&self, behind: usize) -> Option<Vec<u8>> {
        let mut encoder = OpusEncoder::of_speech().ok()?;
        let begin = self.history.len().checked_sub(behind + BLOCK)? + 2 * encoder.lookahead();
        let past = (begin / BLOCK).min(PAST);
        let mut packet = None;
        for index in (0..=past).rev() {
            let from = begin - index * BLOCK;
            let block = self.history.get(from..from + BLOCK)?.first_chunk()?;
            packet = Some(encoder.encode(block).ok()?.to_vec());
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::Block;
    use proptest::prelude::*;
    use seaway_units::{Bitrate, Decibels};
    use std::f64::consts::TAU;

    /// A voice of many harmonics whose pitch and loudness change.
    fn voice(blocks: usize) -> Vec<Block> {
        let (mut phase, mut samples) = (0.0, Vec::new());
        for index in 0..blocks * BLOCK_SAMPLES {
            let time = index as f64 / 48_000.0;
            phase += (140.0 + 40.0 * libm::sin(TAU * 1.3 * time)) / 48_000.0;
            let harmonics: f64 = (1..20).map(|n| libm::sin(TAU * phase * f64::from(n)) / f64::from(n)).sum();
            let loudness = 0.6 + 0.4 * libm::sin(TAU * 2.1 * time);
            samples.extend([(harmonics * loudness * 6_000.0) as i16; 2]);
        }
        samples.as_chunks().0.to_vec()
    }

    fn coded(blocks: &[Block], expected_loss: u8) -> Vec<Vec<u8>> {
        let mut encoder = OpusEncoder::new(Bitrate::from_kbps(64)).unwrap();
        encoder.set_expected_loss(expected_loss).unwrap();
        blocks.iter().map(|block| encoder.encode(block).unwrap().to_vec()).collect()
    }

    fn is_lost(index: usize) -> bool {
        index % 7 == 3
    }

    /// What a player makes of packets that `receive` makes of those that came, with a concealed one for each that did not.
    fn played(packets: &[Vec<u8>], receive: bool) -> Vec<i16> {
        let (mut player, mut recovery) = (OpusDecoder::new().unwrap(), SoundRecovery::new().unwrap());
        let (mut samples, mut gap) = (Vec::new(), false);
        for (index, packet) in packets.iter().enumerate() {
            if is_lost(index) {
                gap = true;
                continue;
            }
            let decoded = recovery.take((index * BLOCK_SAMPLES) as u32, packet);
            if std::mem::take(&mut gap) {
                let lost = decoded.lost.filter(|_| receive);
                let lost = lost.unwrap_or_else(|| opus::Packet::lost(packet[0]).to_vec());
                samples.extend_from_slice(player.decode(&lost).unwrap());
            }
            samples.extend_from_slice(player.decode(packet).unwrap());
        }
        samples
    }

    /// Signal to noise against what is played without loss, of the blocks that were lost.
    fn snr(clean: &[i16], decoded: &[i16]) -> f64 {
        let (mut signal, mut noise) = (0.0, 0.0);
        let blocks = clean.chunks(BLOCK).zip(decoded.chunks(BLOCK)).enumerate();
        for (a, b) in blocks.filter(|(index, _)| is_lost(*index)).flat_map(|(_, (a, b))| a.iter().zip(b)) {
            let (a, b) = (f64::from(*a), f64::from(*b));
            signal += a * a;
            noise += (a - b) * (a - b);
        }
        Decibels::from_ratio(signal / noise).get()
    }

    #[test]
    fn what_was_lost_is_played_in_its_place() {
        let packets = coded(&voice(150), 10);
        let mut decoder = OpusDecoder::new().unwrap();
        let clean: Vec<i16> =
            packets.iter().flat_map(|packet| decoder.decode(packet).unwrap().to_vec()).collect();
        let (with, without) = (snr(&clean, &played(&packets, true)), snr(&clean, &played(&packets, false)));
        assert!(with > without + 4.0 && with > 6.0, "{with} dB, {without} dB where it is concealed");
    }

    #[test]
    fn without_the_means_there_is_none() {
        let packets = coded(&voice(20), 0);
        let mut recovery = SoundRecovery::new().unwrap();
        let times = [0, 1, 3, 4, 90, 91].map(|index| index * BLOCK_SAMPLES as u32);
        let decoded = packets.iter().zip(times).map(|(packet, time)| recovery.take(time, packet));
        assert!(decoded.into_iter().all(|decoded| decoded.lost.is_none() && decoded.samples.len() == BLOCK));
    }

    proptest! {
        /// Packets come from the network.
        #[test]
        fn damage_never_panics(packets in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u8>(), 0..200)), 1..20)) {
            let mut recovery = SoundRecovery::new().unwrap();
            for (timestamp, packet) in packets {
                let decoded = recovery.take(timestamp % 20_000, &packet);
                prop_assert!(decoded.samples.len() <= 5760 * 2 && recovery.history.len() <= (PAST + 4) * BLOCK);
            }
        }
    }
}
