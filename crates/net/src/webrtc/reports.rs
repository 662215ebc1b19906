//! Sender reports to one viewer (RFC 3550 section 6.4.1).
//!
//! Those of crate `rtc` take the instant at which a packet is sent for the time of its capture. A picture is sent once it is coded, a
//! block of sound once its last sample is there and it is coded, so sound and pictures would be apart by the difference. These
//! reports map all tracks by the times at which they were published, which have one clock.

use rtc::rtcp::sender_report::SenderReport;
use rtc::rtp;
use rtc::shared::time::SystemInstant;
use seaway_units::TimeDelta;
use std::time::{Duration, Instant};

/// From one report of a track to the next.
const INTERVAL: Duration = Duration::from_secs(1);
/// Where published times and our clock came apart by more, the clock of the publisher drifts, or it began anew.
const DRIFT: TimeDelta = TimeDelta::from_secs(1);

/// The time `at` of a track by its media clock.
pub(super) fn ticks(at: TimeDelta, clock_rate: u32) -> u32 {
    (i128::from(at.as_nanos()) * i128::from(clock_rate) / 1_000_000_000) as u32
}

/// What one track has sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sent {
    packets: u32,
    octets: u32,
}

impl Sent {
    pub(super) fn add(&mut self, packet: &rtp::Packet) {
        self.packets = self.packets.wrapping_add(1);
        self.octets = self.octets.wrapping_add(packet.payload.len() as u32);
    }

    pub(super) const fn is_nothing(self) -> bool {
        self.packets == 0
    }
}

/// Where the clock of what is published stands against ours, and when it is to be reported.
#[derive(Debug, Default)]
pub(super) struct SenderReports {
    epoch: Option<Epoch>,
    due: Option<Instant>,
}

/// The instant of one published time.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    instant: Instant,
    at: TimeDelta,
    day: SystemInstant,
}

impl Epoch {
    fn now(self, now: Instant) -> TimeDelta {
        let passed = now.saturating_duration_since(self.instant).as_nanos();
        self.at + TimeDelta::from_nanos(i64::try_from(passed).unwrap_or(i64::MAX))
    }
}

impl SenderReports {
    /// What was published for the time `at` is sent; the first of its track is reported at once, and all others with it.
    pub(super) fn on_media(&mut self, now: Instant, at: TimeDelta, is_first: bool) {
        if self.epoch.is_none_or(|epoch| (epoch.now(now) - at).abs() > DRIFT) {
            self.epoch = Some(Epoch { instant: now, at, day: SystemInstant::now(now) });
        }
        if is_first || self.due.is_none() {
            self.due = Some(now);
        }
    }

    /// When reports are due.
    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// True once where they are due.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            self.due = Some(now + INTERVAL);
        }
        is_due
    }

    /// The report of a track; `None` where nothing was sent.
    pub(super) fn report(
        &self,
        now: Instant,
        ssrc: u32,
        clock_rate: u32,
        sent: Sent,
    ) -> Option<SenderReport> {
        let epoch = self.epoch.filter(|_| !sent.is_nothing())?;
        Some(SenderReport {
            ssrc,
            ntp_time: epoch.day.ntp(now),
            rtp_time: ticks(epoch.now(now), clock_rate),
            packet_count: sent.packets,
            octet_count: sent.octets,
            ..SenderReport::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::viewer::clock;
    use super::*;

    const ONE: Sent = Sent { packets: 1, octets: 100 };

    fn millis(millis: i64) -> TimeDelta {
        TimeDelta::from_millis(millis)
    }

    fn after(begin: Instant, millis: u64) -> Instant {
        begin + Duration::from_millis(millis)
    }

    /// However long the sound takes to be coded, both tracks have the same time at the same instant.
    #[test]
    fn tracks_agree_however_late_they_are_sent() {
        let begin = clock();
        let mut reports = SenderReports::default();
        reports.on_media(begin, millis(5_000), true);
        // Sound of the same capture comes 27 ms later, pictures of another one 90 ms.
        reports.on_media(after(begin, 27), millis(5_000), true);
        reports.on_media(after(begin, 130), millis(5_040), false);
        let now = after(begin, 200);
        let report = |rate| reports.report(now, 1, rate, ONE).unwrap();
        let (pictures, sound) = (report(90_000), report(48_000));
        assert_eq!((pictures.rtp_time, sound.rtp_time), (5_200 * 90, 5_200 * 48));
        assert_eq!(pictures.ntp_time, sound.ntp_time);
        assert_eq!((sound.packet_count, sound.octet_count), (1, 100));
        assert!(reports.report(now, 1, 90_000, Sent::default()).is_none(), "nothing was sent");
    }

    #[test]
    fn the_first_packet_of_each_track_is_reported_at_once() {
        let begin = clock();
        let mut reports = SenderReports::default();
        assert!(!reports.take_due(begin) && reports.poll_timeout().is_none());
        reports.on_media(begin, millis(0), true);
        assert!(reports.take_due(begin) && !reports.take_due(begin));
        reports.on_media(after(begin, 300), millis(300), true);
        assert!(reports.take_due(after(begin, 300)));
        reports.on_media(after(begin, 340), millis(340), false);
        assert!(!reports.take_due(after(begin, 1_299)) && reports.take_due(after(begin, 1_300)));
    }

    #[test]
    fn a_publisher_that_began_anew_has_another_epoch() {
        let begin = clock();
        let mut reports = SenderReports::default();
        reports.on_media(begin, millis(60_000), true);
        reports.on_media(after(begin, 100), millis(-20), false);
        let report = reports.report(after(begin, 120), 1, 90_000, ONE).unwrap();
        assert_eq!(report.rtp_time, 0);
    }
}
