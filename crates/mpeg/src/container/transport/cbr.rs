//! Remultiplexes a transport stream at another constant rate.
//!
//! The output is a sequence of packet slots. Packets of other PIDs keep their times, up to the wait for a free slot. The
//! video fills the remaining slots: it may be sent up to [`LEAD`] early while the decoder's buffer has room and no octet stays there for
//! more than [`LONGEST_STAY`], so that large pictures use the slots of small ones. Each PCR is restamped by the shift of its packet; PTS and DTS stay.

use std::collections::VecDeque;

use seaway_units::Bitrate;

use super::clock::{PcrClock, TimedPacket};
use super::framing::PACKET;
use super::packet::{NULL_PID, Packet};
use super::report::PacingReport;
use crate::container::error::Error;
use crate::container::track::WrittenPicture;

/// How early the video may be sent: half a second at 27 MHz.
const LEAD: i64 = 27_000_000 / 2;

/// How long an octet may stay in the decoder's buffer (2.4.2.6): a second at 27 MHz.
const LONGEST_STAY: i64 = 27_000_000;

/// Longest time from one clock reference to the next, 40 ms at 27 MHz (TR 101 290; the standard allows 100).
const REFERENCE_INTERVAL: i64 = 27_000 * 40;

/// Highest rate accepted; a higher one would fill the memory with null packets.
const HIGHEST_RATE: Bitrate = Bitrate::from_mbps(1_000);

/// Buffer assumed without a sequence header: that of main profile at main level.
const USUAL_BUFFER: u64 = 112 * 2048;

/// A clock reference of the output.
#[derive(Clone, Copy, Debug)]
struct Pcr {
    at: i64,
    value: u64,
}

/// The removal of a picture from the decoder's buffer.
#[derive(Debug)]
struct Removal {
    /// Bytes of the video up to the end of the picture.
    end: u64,
    at: i64,
}

/// Assigns packets to the slots of a constant rate.
#[derive(Debug, Default)]
pub(super) struct CbrMultiplexer {
    rate: Bitrate,
    /// The most packets that may wait.
    memory: usize,
    clock: PcrClock,
    video_pid: u16,
    clock_pid: u16,
    /// The last packet of `clock_pid` in the output, with its time; and the last PCR of it.
    clock_packet: Option<(Packet, i64)>,
    pcr: Option<Pcr>,
    video: VecDeque<TimedPacket>,
    others: VecDeque<TimedPacket>,
    /// Time of the first slot, and number of filled slots.
    start: Option<i64>,
    slots: i64,
    /// Time of the newest packet of the input.
    newest: i64,
    /// The last packet of the output, whose framing null packets copy, and its time.
    pattern: Option<(Packet, i64)>,
    buffer: TstdBuffer,
    finished: bool,
    report: PacingReport,
}

/// The decoder's buffer for the video (T-STD, ISO/IEC 13818-1, 2.4.2).
#[derive(Debug, Default)]
struct TstdBuffer {
    size: Option<u64>,
    arrived: u64,
    removed: u64,
    removals: VecDeque<Removal>,
    /// End of the last picture, its decoding time, and the time between two.
    announced: u64,
    last: Option<i64>,
    period: i64,
    /// Pictures since the last one with a time stamp.
    unstamped: i64,
}

impl CbrMultiplexer {
    pub(super) fn new(rate: Bitrate, memory: usize) -> CbrMultiplexer {
        CbrMultiplexer {
            rate,
            memory: memory / size_of::<TimedPacket>(),
            video_pid: NULL_PID,
            clock_pid: NULL_PID,
            ..CbrMultiplexer::default()
        }
    }

    pub(super) fn report(&self) -> PacingReport {
        PacingReport { discontinuities: self.clock.discontinuities, ..self.report.clone() }
    }

    /// Sets the PIDs of the video and of its clock references.
    pub(super) fn follow(&mut self, video_pid: u16, clock_pid: u16) {
        (self.video_pid, self.clock_pid) = (video_pid, clock_pid);
        self.clock.follow(clock_pid);
    }

    /// Takes the next packet of the input, with `video_bytes` of the video in it.
    pub(super) fn packet(
        &mut self,
        packet: Packet,
        video_bytes: u64,
        output: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if self.rate > HIGHEST_RATE {
            return Err(Error::MultiplexRate { rate: self.rate });
        }
        self.with_clock(|clock, timed| clock.push(packet, video_bytes, timed));
        if self.clock.waiting() > self.memory {
            return Err(Error::NoPcr);
        }
        if self.video.len() + self.others.len() > self.memory {
            return Err(Error::MultiplexRate { rate: self.rate });
        }
        self.fill(output);
        Ok(())
    }

    /// All packets of a picture were taken; the decoder's buffer has `buffer` bytes.
    pub(super) fn picture(&mut self, picture: WrittenPicture, buffer: Option<u64>) {
        let place = picture.decoding_time.and_then(|time| self.clock.place(time));
        self.buffer.size = buffer;
        self.buffer.announce(picture.len, place);
    }

    pub(super) fn finish(&mut self, output: &mut Vec<u8>) -> Result<(), Error> {
        if self.finished {
            return Ok(());
        }
        self.finished = true;
        if !self.with_clock(|clock, timed| clock.finish(timed)) {
            return Err(Error::NoPcr);
        }
        self.fill(output);
        Ok(())
    }

    /// Queues the packets that the clock has timed.
    fn with_clock<R>(&mut self, call: impl FnOnce(&mut PcrClock, &mut dyn FnMut(TimedPacket)) -> R) -> R {
        let CbrMultiplexer { clock, video, others, start, newest, video_pid, .. } = self;
        call(clock, &mut |timed| {
            start.get_or_insert(timed.at);
            *newest = timed.at;
            match timed.packet.pid() {
                NULL_PID => {}
                pid if pid == *video_pid => video.push_back(timed),
                _ => others.push_back(timed),
            }
        })
    }

    /// Fills the slots for which all candidates are known.
    fn fill(&mut self, output: &mut Vec<u8>) {
        let Some(start) = self.start else { return };
        loop {
            let bits = i128::from(self.slots) * PACKET as i128 * 8;
            let now = start + (bits * 27_000_000 / i128::from(self.rate.as_bps().max(1))) as i64;
            let done = self.video.is_empty() && self.others.is_empty() && now > self.newest;
            if self.finished && done || !self.finished && now + LEAD > self.newest {
                return;
            }
            self.buffer.advance(now, &mut self.report);
            if let Some(packet) = self.next_packet(now) {
                output.extend_from_slice(packet.wire());
            }
            self.slots += 1;
        }
    }

    /// Time from one slot to the next, rounded up.
    fn interval(&self) -> i64 {
        (PACKET as u64 * 8 * 27_000_000).div_ceil(self.rate.as_bps().max(1)) as i64
    }

    /// The packet for the slot at `now`.
    fn next_packet(&mut self, now: i64) -> Option<Packet> {
        self.pcr_only(now).or_else(|| match self.choose(now) {
            Some(timed) => Some(self.restamp(timed, now)),
            None => self.null(now),
        })
    }

    /// The packet of the input for the slot at `now`: one that is due by then, or else video that may be sent early.
    fn choose(&mut self, now: i64) -> Option<TimedPacket> {
        if self.others.front().is_some_and(|other| other.at <= now) {
            return self.others.pop_front();
        }
        let video = self.video.front()?;
        let stays_too_long = |decoded: i64| decoded - now > LONGEST_STAY;
        let ahead = video.at <= now + LEAD
            && self.buffer.has_room(video.video_bytes)
            && !self.buffer.decoded_at(video.video_bytes).is_some_and(stays_too_long);
        if video.at <= now || ahead { self.video.pop_front() } else { None }
    }

    fn restamp(&mut self, timed: TimedPacket, now: i64) -> Packet {
        let TimedPacket { mut packet, video_bytes, at } = timed;
        let shift = now - at;
        self.report.late_packets += u64::from(shift > 0);
        self.report.most_late_us = self.report.most_late_us.max(shift.max(0) as u64 / 27);
        self.report.most_early_us = self.report.most_early_us.max(shift.min(0).unsigned_abs() / 27);
        if let Some(pcr) = packet.pcr() {
            let value = shifted(pcr, shift);
            packet.set_pcr(value);
            if packet.pid() == self.clock_pid {
                self.pcr = Some(Pcr { at: now, value });
            }
        }
        packet.shift_arrival(shift);
        self.buffer.arrived += video_bytes;
        if packet.pid() == self.clock_pid {
            self.clock_packet = Some((packet.clone(), now));
        }
        self.pattern = Some((packet.clone(), now));
        packet
    }

    /// A packet with a PCR only, if the next PCR would come too late without it.
    fn pcr_only(&mut self, now: i64) -> Option<Packet> {
        let (Some(last), Some((pattern, at))) = (self.pcr, &self.clock_packet) else { return None };
        let due = now + self.interval() - last.at > REFERENCE_INTERVAL;
        // At very low rates such packets would take all slots, so PCRs come only with the packets of the input.
        if !due || self.interval() * 4 > REFERENCE_INTERVAL {
            return None;
        }
        let value = shifted(last.value, now - last.at);
        let mut packet = pattern.clone();
        packet.make_pcr_only(value);
        packet.shift_arrival(now - at);
        self.pcr = Some(Pcr { at: now, value });
        self.report.added_references += 1;
        Some(packet)
    }

    fn null(&mut self, now: i64) -> Option<Packet> {
        let (pattern, at) = self.pattern.as_ref()?;
        let mut packet = pattern.clone();
        packet.make_null();
        packet.shift_arrival(now - at);
        self.report.null_packets += 1;
        Some(packet)
    }
}

fn shifted(pcr: u64, ticks: i64) -> u64 {
    (pcr as i64 + ticks).rem_euclid(super::packet::PCR_WRAP as i64) as u64
}

impl TstdBuffer {
    fn announce(&mut self, len: u64, at: Option<i64>) {
        self.announced += len;
        self.unstamped += 1;
        if let (Some(at), Some(last)) = (at, self.last)
            && at > last
        {
            self.period = (at - last) / self.unstamped;
        }
        if at.is_some() {
            (self.last, self.unstamped) = (at, 0);
        }
        if let Some(last) = self.last {
            let at = last + self.unstamped * self.period;
            self.removals.push_back(Removal { end: self.announced, at });
        }
    }

    /// Removes the pictures decoded by `now`.
    fn advance(&mut self, now: i64, report: &mut PacingReport) {
        while let Some(removal) = self.removals.pop_front_if(|removal| removal.at <= now) {
            report.underflows += u64::from(removal.end > self.arrived);
            self.removed = removal.end;
        }
    }

    /// When the last of so many bytes behind those that have arrived is decoded, as far as that is known.
    fn decoded_at(&self, bytes: u64) -> Option<i64> {
        let end = self.arrived + bytes;
        let index = self.removals.partition_point(|removal| removal.end < end);
        let next = || Some(self.last? + (self.unstamped + 1) * self.period);
        self.removals.get(index).map(|removal| removal.at).or_else(next)
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.arrived + bytes <= self.removed + self.size.unwrap_or(USUAL_BUFFER)
    }
}
