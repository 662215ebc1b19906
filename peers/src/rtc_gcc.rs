//! The congestion control of webrtc-rs (crate `rtc-interceptor`) as one of our controllers: reports of packets in, a rate
//! out. It has no probes and no pacing of its own; its rate is the target of its own pacer.

use rtc_interceptor::{BandwidthEstimator, Gcc, PacketReport as Report};
use seaway_control::{
    Allowance, ControllerInfo, ControllerPair, Fate, Feedback, FlowConfig, Gauge, LocalSignal, Options,
    PacketReport, PeriodicFeedback, RateController, SentPacket, SpecError, Subflow, Target, pair,
};
use seaway_units::{Bitrate, Probability, TimeDelta, Timestamp};
use std::fmt;
use std::time::{Duration, Instant};

pub const RTC_GCC: ControllerInfo = ControllerInfo::new("rtc-gcc", "webrtc-rs", build);

/// As often as our own `gcc` is reported to.
const FEEDBACK: TimeDelta = TimeDelta::from_millis(50);
/// Headers of IP and UDP, which it does not count.
const BELOW_RTP: u64 = 28;

fn build(_: &Options<'_>, _: FlowConfig) -> Result<ControllerPair, SpecError> {
    // Only differences of its instants count.
    let estimator = RtcGcc { gcc: Gcc::default(), began: Instant::now() };
    Ok(pair(estimator, PeriodicFeedback::new(FEEDBACK)))
}

struct RtcGcc {
    gcc: Gcc,
    began: Instant,
}

impl RtcGcc {
    fn instant(&self, at: Timestamp) -> Instant {
        self.began + Duration::from_nanos(at.as_nanos())
    }

    fn rate(&self) -> Bitrate {
        Bitrate::from_bps_f64(self.gcc.target_bitrate())
    }

    fn report(&self, packet: &PacketReport) -> Option<Report> {
        let arrival = match packet.fate {
            Fate::Received { at, .. } => Some(Duration::from_nanos(at?.as_nanos())),
            Fate::Lost => None,
            // It was lost before.
            Fate::Late { .. } => return None,
        };
        let number = packet.packet.sequence as u16;
        Some(Report {
            ssrc: 1,
            id: packet.packet.id.0,
            rtp_sequence_number: number,
            is_twcc: true,
            twcc_sequence_number: number,
            size: packet.packet.size.as_bytes().saturating_sub(BELOW_RTP) as usize,
            arrived: arrival.is_some(),
            departure: self.instant(packet.sent),
            arrival,
            ecn: Default::default(),
        })
    }
}

impl RateController for RtcGcc {
    fn on_sent(&mut self, _: Timestamp, _: &SentPacket) {}

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        let reports: Vec<Report> = feedback.packets.iter().filter_map(|packet| self.report(packet)).collect();
        self.gcc.on_reports(self.instant(now), &reports);
    }

    fn on_signal(&mut self, _: Timestamp, signal: LocalSignal) {
        if let LocalSignal::Limits { min, start, max } = signal {
            self.gcc = Gcc::new(start.as_bps_f64(), min.as_bps_f64(), max.as_bps_f64());
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.gcc.handle_timeout(self.instant(now));
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let due = self.gcc.poll_timeout()?.saturating_duration_since(self.began);
        Some(Timestamp::from_nanos(due.as_nanos() as u64))
    }

    fn allowance(&self, _: Subflow) -> Allowance {
        Allowance::paced(self.rate())
    }

    fn target(&self) -> Target {
        Target { rate: self.rate(), channel_loss: Probability::ZERO }
    }

    fn phase(&self) -> &'static str {
        "rtc-gcc"
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        visit(Gauge::new("delay_based_rate", self.gcc.delay_based_bitrate(), "bit/s"));
        visit(Gauge::new("loss_based_rate", self.gcc.loss_based_bitrate(), "bit/s"));
    }
}

impl fmt::Debug for RtcGcc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtcGcc").field("rate", &self.rate()).finish_non_exhaustive()
    }
}
