//! Counters, named as in the summary.

use seaway_control::Content;
use seaway_units::{DataSize, Ecn, TimeDelta};

/// Packets and their wire octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Octets of the IP datagrams.
    pub size: DataSize,
}

impl Count {
    pub(crate) fn add(&mut self, size: DataSize) {
        self.packets += 1;
        self.size += size;
    }
}

/// Refused input, by reason. Packets of other sessions are counted here alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused {
    /// Malformed packets.
    pub malformed: u64,
    /// Packets of another session, or of a second peer.
    pub unknown_ssrc: u64,
    /// Packets that came before.
    pub duplicates: u64,
    /// Reports for packets that were never sent or left long ago, requests for them, packets far outside
    /// the present window.
    pub unmatched: u64,
    /// Entries beyond a bound: unread events, gaps beyond the memory.
    pub overflow: u64,
}

/// Counters of a [`Sender`](crate::Sender).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStatistics {
    /// All RTP that left: media, repair and padding.
    pub sent: Count,
    /// Of it, frames for the first time.
    pub media: Count,
    /// Of it, retransmissions and repair packets of forward error correction.
    pub repair: Count,
    /// Of it, padding of probes.
    pub padding: Count,
    /// Sender reports with descriptions, beside `sent`.
    pub control: Count,
    /// Reports that came.
    pub feedback: Count,
    /// What receiver reports say.
    pub reported: Reported,
    /// Packets reported received, late ones included.
    pub received: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Of them, those that came late after all.
    pub late: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
    /// Retransmissions that the receiver requested.
    pub requested: u64,
    /// Key frames that the receiver requested.
    pub picture_losses: u64,
    /// Pictures.
    pub frames: SentFrames,
    /// Frames of sound.
    pub audio: SentAudio,
    /// Changes of rate or phase.
    pub decisions: u64,
    /// Smoothed round-trip time.
    pub rtt: Option<TimeDelta>,
    /// The last sample of it.
    pub last_rtt: Option<TimeDelta>,
    /// The least sample of it.
    pub min_rtt: Option<TimeDelta>,
    /// Refused input.
    pub refused: Refused,
}

/// Sums over receiver reports (RFC 3550 section 6.4.2), from the first one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    /// Reception blocks that came.
    pub reports: u64,
    /// Packets that the receiver expected: the growth of the highest sequence numbers.
    pub expected: u64,
    /// Of them, those it does not have.
    pub lost: u64,
}

impl SenderStatistics {
    pub(crate) fn count_sent(&mut self, content: Content, size: DataSize) {
        let class = match content {
            Content::Media(_) => &mut self.media,
            Content::Retransmission(_) | Content::Fec(_) => &mut self.repair,
            Content::Padding => &mut self.padding,
        };
        class.add(size);
        self.sent.add(size);
    }
}

/// Frames of sound at the sender; each is a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SentAudio {
    /// Frames that were queued.
    pub queued: u64,
    /// Frames that never left: refused by the queue, or dropped from it.
    pub dropped: u64,
    /// Frames that left.
    pub sent: Count,
}

/// Pictures at the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SentFrames {
    /// Frames the source had, those it did not encode included.
    pub captured: u64,
    /// Frames that were queued.
    pub queued: u64,
    /// Frames that never left: skipped by the encoder, refused by the queue, or dropped from it.
    pub skipped: u64,
    /// Frames of which the first packet left.
    pub begun: u64,
    /// How long they waited for it, in all.
    pub waited: TimeDelta,
    /// Frames of which the last packet left.
    pub sent: u64,
    /// From their arrival in the queue to their last packet, in all.
    pub took: TimeDelta,
}

/// Counters of a [`Receiver`](crate::Receiver).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverStatistics {
    /// All RTP that came, duplicates left out.
    pub received: Count,
    /// Of it, retransmissions and repair packets of forward error correction.
    pub repair: Count,
    /// Of it, padding.
    pub padding: Count,
    /// Coded octets of displayed pictures, once.
    pub goodput: DataSize,
    /// Reports that left.
    pub feedback: Count,
    /// Media packets missing at first, counted by gaps.
    pub missing: u64,
    /// Of them, those that came by themselves, out of order.
    pub reordered: u64,
    /// Of them, those that a retransmission or forward error correction brought in time.
    pub repaired: u64,
    /// Of those, what forward error correction recovered.
    pub recovered: u64,
    /// Requests for a packet, repeated ones included.
    pub requests: u64,
    /// Requests for a key frame.
    pub picture_losses: u64,
    /// Arrivals by ECN codepoint: not-ECT, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    /// Pictures.
    pub frames: ReceivedFrames,
    /// Frames of sound; each is a packet.
    pub audio: ReceivedFrames,
    /// Freezes of the video: a gap between displayed frames of more than three mean gaps and of more
    /// than the mean gap and 150 ms.
    pub freezes: Freezes,
    /// The present playout delay above the least delay of the path.
    pub playout_delay: TimeDelta,
    /// Interarrival jitter (RFC 3550 section 6.4.1).
    pub jitter: TimeDelta,
    /// The sender's smoothed round-trip time.
    pub rtt: Option<TimeDelta>,
    /// Octets in the playout buffer.
    pub held: DataSize,
    /// The buffer of bytes, where that is how frames are played.
    pub buffer: Option<crate::BufferStatistics>,
    /// Refused input.
    pub refused: Refused,
}

impl ReceiverStatistics {
    /// Packets that arrived with this codepoint.
    pub fn with_ecn(&self, ecn: Ecn) -> u64 {
        self.ecn[usize::from(ecn.bits())]
    }
}

/// Frames at the receiver, pictures or sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceivedFrames {
    /// Delivered, to be displayed or played.
    pub displayed: u64,
    /// Of them, those delivered after their deadline.
    pub held_up: u64,
    /// Whole only after they were given up.
    pub late: u64,
    /// Never whole, or not decodable without a lost one.
    pub lost: u64,
    /// Dropped by the sender, as their numbers show.
    pub skipped: u64,
}

/// Freezes of the video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freezes {
    /// How often.
    pub count: u64,
    /// How long in all.
    pub total: TimeDelta,
    /// The longest.
    pub longest: TimeDelta,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_by_their_codepoints() {
        let mut statistics = ReceiverStatistics::default();
        for (count, ecn) in (5..).zip([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]) {
            statistics.ecn[usize::from(ecn.bits())] = count;
        }
        let counts = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| statistics.with_ecn(ecn));
        assert_eq!(counts, [5, 6, 7, 8]);
    }
}
