//! Samples of the round-trip time: the arrival of a report, less the departure of a packet that it names and less how long the receiver held that.
//!
//! RFC 8888 section 3.1 says how long: the arrival time offset of a packet, back from the report's timestamp. So each datagram of a long report has its
//! own. Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1) has arrivals and no time of the report.

use super::{FeedbackAdapter, ReportPart};
use seaway_control::{PacketId, PacketReport, Subflow};
use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};
use seaway_wire::MicrosClock;

/// How long the receiver had held a packet.
#[derive(Debug, Clone, Copy)]
pub(super) enum Held {
    /// So long, by its report.
    For(TimeDelta),
    /// From this arrival until the report was made, which does not say when.
    Since(RemoteTimestamp),
}

/// A sample that takes the newest message of its report so far for the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unsettled {
    subflow: Subflow,
    sent: Timestamp,
    at: RemoteTimestamp,
    sample: TimeDelta,
    /// Another report has begun.
    has_ended: bool,
}

/// How many datagrams a report without a time takes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parts {
    /// Of the present report, so far.
    present: u32,
    /// Of those before it: the most, less one for each report since.
    usual: u32,
}

impl Parts {
    /// A datagram comes; true where it shows that all of the report before it had come.
    fn on_datagram(&mut self, continues: bool) -> bool {
        if continues {
            self.present += 1;
            return false;
        }
        let ended = std::mem::replace(&mut self.present, 1);
        let is_whole = ended >= self.usual;
        self.usual = ended.max(self.usual.saturating_sub(1));
        is_whole
    }
}

impl FeedbackAdapter {
    /// The receiver had held this packet for `held` when it made the report.
    pub fn on_newest(&mut self, subflow: Subflow, id: PacketId, held: TimeDelta) {
        self.note_newest(subflow, id, Held::For(held));
    }

    /// This packet arrived then, by a report that does not say when it was made.
    pub(crate) fn on_newest_arrival(&mut self, subflow: Subflow, id: PacketId, at: RemoteTimestamp) {
        if !self.history.is_out_of_step(id) {
            self.made_after = self.made_after.max(Some(at));
        }
        self.note_newest(subflow, id, Held::Since(at));
    }

    fn note_newest(&mut self, subflow: Subflow, id: PacketId, held: Held) {
        let newest = &mut self.subflow(subflow).newest;
        if newest.is_none_or(|(known, _)| known < id) {
            *newest = Some((id, held));
        }
    }

    /// The receiver echoes the send time of the subflow's newest packet, which it held for `held`. `None` where no packet
    /// left then.
    pub(crate) fn on_echo(
        &mut self,
        subflow: Subflow,
        echo: MicrosClock,
        held: TimeDelta,
    ) -> Option<PacketId> {
        let id = self.history.find_echo(subflow, echo)?;
        let rtt = self.history.sent_at(id).map(|sent| self.arrived - sent - held);
        let feedback = self.subflow(subflow);
        feedback.peer.echoed = Some(id);
        feedback.echoed_rtt = rtt;
        Some(id)
    }

    /// Takes a sample of a subflow's round-trip time and returns it if it is plausible.
    pub(super) fn on_sample(&mut self, subflow: Subflow, sample: TimeDelta) -> Option<TimeDelta> {
        let rtt = self.round_trip.on_sample(sample)?;
        if let Some(lane) = self.lanes.get_mut(usize::from(subflow.0)) {
            lane.round_trip.on_sample(rtt);
        }
        Some(rtt)
    }

    /// The round-trip time of the newest packet. One that was reported before says nothing of the present path, nor does one
    /// that is said to have arrived before it left. The sample waits where the next message may say how long the packet was held.
    pub(super) fn rtt_of(
        &mut self,
        subflow: Subflow,
        (id, held): (PacketId, Held),
        packets: &[PacketReport],
    ) -> Option<TimeDelta> {
        if self.history.is_out_of_step(id) {
            return None;
        }
        packets.binary_search_by_key(&id, |report| report.packet.id).ok()?;
        let sent = self.history.sent_at(id)?;
        let at = match held {
            Held::For(held) => return Some(self.arrived - sent - held),
            Held::Since(at) => at,
        };
        let sample = self.since(sent, at)?;
        if self.part.may_go_on {
            // Of the datagrams of a report the newest has the packet that waited least.
            self.unsettled.retain(|waiting| waiting.has_ended || waiting.subflow != subflow);
            self.unsettled.push(Unsettled { subflow, sent, at, sample, has_ended: false });
            return None;
        }
        Some(sample)
    }

    /// A round trip of a packet that left at `sent` and arrived `at`, which was held until the newest arrival of the message in hand.
    fn since(&self, sent: Timestamp, at: RemoteTimestamp) -> Option<TimeDelta> {
        Some(self.arrived - sent - (self.made_after? - at).max(TimeDelta::ZERO))
    }

    /// The message in hand may have arrivals of a report without a time. Where it goes on with the report before it, packets of that were held
    /// until its newest arrival, or longer where it may go on too. Where it is another report, that is a round trip as well, with this one's
    /// way back. The shortest counts, once the report has ended; or once the next one has, where that one had less datagrams than others:
    /// its last one may be lost.
    pub(super) fn settle(&mut self) {
        if !std::mem::take(&mut self.is_untimed) {
            return;
        }
        let ReportPart { continues, may_go_on } = self.part;
        let is_whole = self.parts.on_datagram(continues);
        for waiting in std::mem::take(&mut self.unsettled) {
            let Some(other) = self.since(waiting.sent, waiting.at) else { continue };
            let sample = other.min(waiting.sample);
            let is_over = !may_go_on || !continues && (is_whole || waiting.has_ended);
            if is_over {
                self.subflow(waiting.subflow).settled = Some(sample);
            } else {
                let has_ended = waiting.has_ended || !continues;
                self.unsettled.push(Unsettled { sample, has_ended, ..waiting });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::HeaderFields;
    use seaway_control::SentPacket;
    use seaway_units::{DataSize, Ecn};

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1000)
    }

    /// A second of packets, one a millisecond, over 20 ms there and 20 back; the report leaves at 1019.5 ms.
    fn sent() -> FeedbackAdapter {
        let mut adapter = FeedbackAdapter::new(true, None);
        for millis in 0..1000 {
            let packet = SentPacket::new(millis, DataSize::from_bytes(1200));
            adapter.on_sent(at(millis * 1000), &packet, HeaderFields::default());
        }
        adapter
    }

    /// A datagram with the arrivals of these packets, by a clock that is 7 s ahead; gives the round-trip time in ms.
    fn datagram(
        adapter: &mut FeedbackAdapter,
        arrived: u64,
        ids: std::ops::Range<u64>,
        is_long: bool,
    ) -> Option<f64> {
        adapter.on_message(at(arrived));
        let came = |id: u64| RemoteTimestamp::from_nanos((7_020_000 + id * 1000) * 1000);
        for id in ids.clone() {
            adapter.on_received(at(arrived), Some(PacketId(id)), Some(came(id)), Ecn::NotEct);
            adapter.on_newest_arrival(Subflow(0), PacketId(id), came(id));
        }
        adapter.on_untimed_report(came(ids.end - 1));
        adapter.on_feedback(at(arrived));
        if is_long {
            adapter.on_long_message();
        }
        let mut rtt = None;
        adapter.deliver(at(arrived), |feedback| rtt = feedback.rtt.map(TimeDelta::as_millis_f64));
        adapter.take_part();
        rtt
    }

    /// The newest packet of the first datagram left at 599 ms and waited 400 ms for the report, which arrives at 1039.5 ms: 440.5 ms after it left.
    /// A packet before the end of the report there are half a millisecond more than 40 ms, and the second datagram takes one.
    #[test]
    fn what_waited_for_the_report_is_no_round_trip() {
        let mut adapter = sent();
        assert_eq!(datagram(&mut adapter, 1_039_500, 0..600, true), None, "it may go on");
        assert_eq!(adapter.last_rtt(), None);
        assert_eq!(datagram(&mut adapter, 1_040_500, 600..1000, false), Some(41.5));
        assert_eq!(adapter.round_trip().minimum(), Some(TimeDelta::from_micros(41_500)), "both of them");
    }

    /// The newest packets of the first two datagrams left at 299 and 599 ms.
    #[test]
    fn a_sample_waits_for_the_end_of_its_report() {
        let mut adapter = sent();
        assert_eq!(datagram(&mut adapter, 1_039_500, 0..300, true), None);
        assert_eq!(datagram(&mut adapter, 1_040_500, 300..600, true), None, "it goes on, and may do so");
        assert_eq!(datagram(&mut adapter, 1_041_500, 600..1000, false), Some(42.5));
        assert_eq!(adapter.round_trip().smoothed(), Some(TimeDelta::from_micros(42_500)), "of 599, too");
        // All of them are long.
        let mut adapter = sent();
        assert_eq!(datagram(&mut adapter, 539_500, 0..300, true), None);
        assert_eq!(datagram(&mut adapter, 540_500, 300..500, true), None);
        assert_eq!(datagram(&mut adapter, 1_039_500, 500..700, true), Some(41.5));
    }

    /// The second datagram of the second report is lost, whose first one has a packet that left at 499 ms and waited until 699.
    #[test]
    fn a_sample_waits_where_the_end_of_its_report_was_lost() {
        let mut adapter = sent();
        assert_eq!(datagram(&mut adapter, 439_500, 0..300, true), None);
        assert_eq!(datagram(&mut adapter, 440_500, 300..400, false), Some(41.5));
        assert_eq!(datagram(&mut adapter, 739_500, 400..500, true), None);
        assert_eq!(datagram(&mut adapter, 1_039_500, 700..800, true), None, "it may be whole, or not");
        assert_eq!(datagram(&mut adapter, 1_040_500, 800..1000, false), Some(41.5));
        assert_eq!(adapter.round_trip().smoothed(), Some(TimeDelta::from_micros(41_500)), "of 499, too");
    }

    /// Reports of one long datagram each, 100 ms after one another: a sample is a report late, and whole.
    #[test]
    fn a_long_report_of_one_datagram_gives_its_sample_with_the_next() {
        let mut adapter = sent();
        assert_eq!(datagram(&mut adapter, 140_500, 0..101, true), None);
        assert_eq!(
            datagram(&mut adapter, 250_500, 101..201, true),
            Some(40.5),
            "the way back was 10 ms shorter then"
        );
        assert_eq!(datagram(&mut adapter, 340_500, 201..301, true), Some(40.5), "and is as short now");
        assert_eq!(datagram(&mut adapter, 440_500, 301..401, false), Some(40.5), "no longer report, no wait");
    }

    /// Of two subflows one was silent: its newest packet was held until the newest of the other came.
    #[test]
    fn a_subflow_that_was_silent_waited_for_the_others() {
        let mut adapter = FeedbackAdapter::new(true, None);
        for (id, subflow) in [(0, 1), (1, 0)] {
            let packet = SentPacket {
                subflow: Subflow(subflow),
                sequence: 0,
                ..SentPacket::new(id, DataSize::from_bytes(1200))
            };
            adapter.on_sent(at(id * 50_000), &packet, HeaderFields::default());
        }
        adapter.on_message(at(91_000));
        let came = |id: u64| RemoteTimestamp::from_nanos((id * 50_000 + 20_000) * 1000);
        for (id, subflow) in [(0, 1), (1, 0)] {
            adapter.on_received(at(91_000), Some(PacketId(id)), Some(came(id)), Ecn::NotEct);
            adapter.on_newest_arrival(Subflow(subflow), PacketId(id), came(id));
        }
        adapter.on_untimed_report(came(1));
        let mut samples = Vec::new();
        adapter.deliver(at(91_000), |feedback| samples.push(feedback.rtt));
        assert_eq!(samples, [Some(TimeDelta::from_millis(41)); 2]);
    }
}
