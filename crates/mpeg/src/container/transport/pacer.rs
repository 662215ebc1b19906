//! A transport stream at another constant rate.
//!
//! Packets of other PIDs leave when they came, but for the wait for a free place. The video fills what is
//! left: it may leave up to [`LEAD`] early while the decoder's buffer has room, so that a picture that stayed
//! large borrows from those that became small. Each clock reference is moved as far as its packet was, and
//! time stamps stay: the decoder sees the old times.

use std::collections::VecDeque;

use seaway_units::Bitrate;

use super::clock::{Clock, Timed};
use super::packet::{NULL_PID, PACKET, Packet};
use super::report::PacingReport;
use crate::container::error::Error;
use crate::container::track::Departed;

/// How early the video may leave: half a second at 27 MHz.
const LEAD: i64 = 27_000_000 / 2;

/// Longest time from one clock reference to the next, 40 ms at 27 MHz (TR 101 290; the standard allows 100).
const REFERENCE_INTERVAL: i64 = 27_000 * 40;

/// Above any multiplex, and below what would fill memory with null packets.
const HIGHEST_RATE: Bitrate = Bitrate::from_mbps(1_000);

/// Buffer assumed where no sequence header tells: main profile at main level.
const USUAL_BUFFER: u64 = 112 * 2048;

/// A clock reference that was written.
#[derive(Clone, Copy, Debug)]
struct Reference {
    at: i64,
    value: u64,
}

/// A picture that leaves the decoder's buffer.
#[derive(Debug)]
struct Removal {
    /// Bytes of video up to its end.
    end: u64,
    at: i64,
}

/// Gives each packet a place at a constant rate.
#[derive(Debug)]
pub(super) struct Pacer {
    rate: Bitrate,
    /// Packets that may wait at most.
    memory: usize,
    clock: Clock,
    video_pid: u16,
    clock_pid: u16,
    /// The last packet with `clock_pid` that was written with its time, and the time of the last reference in one.
    clock_packet: Option<(Packet, i64)>,
    reference: Option<Reference>,
    video: VecDeque<Timed>,
    others: VecDeque<Timed>,
    /// Time of the first place, and places filled.
    start: Option<i64>,
    places: i64,
    /// Time of the newest packet.
    newest: i64,
    /// The packet null packets take their framing from, and its time.
    pattern: Option<(Packet, i64)>,
    buffer: Buffer,
    finished: bool,
    output: Vec<u8>,
    report: PacingReport,
}

/// The decoder's buffer of the video.
#[derive(Debug, Default)]
struct Buffer {
    size: Option<u64>,
    arrived: u64,
    removed: u64,
    removals: VecDeque<Removal>,
    /// End and time of the last picture announced, and the time between two.
    announced: u64,
    last: Option<i64>,
    period: i64,
    /// Pictures since the last with a time of its own.
    unstamped: i64,
}

impl Pacer {
    pub(super) fn new(rate: Bitrate, memory: usize) -> Pacer {
        Pacer {
            rate,
            memory: memory / size_of::<Timed>(),
            clock: Clock::default(),
            video_pid: NULL_PID,
            clock_pid: NULL_PID,
            clock_packet: None,
            reference: None,
            video: VecDeque::new(),
            others: VecDeque::new(),
            start: None,
            places: 0,
            newest: 0,
            pattern: None,
            buffer: Buffer::default(),
            finished: false,
            output: Vec::new(),
            report: PacingReport::default(),
        }
    }

    pub(super) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    pub(super) fn report(&self) -> PacingReport {
        PacingReport { discontinuities: self.clock.discontinuities, ..self.report.clone() }
    }

    /// The video is in packets of `video_pid`, its clock references in those of `clock_pid`.
    pub(super) fn follow(&mut self, video_pid: u16, clock_pid: u16) {
        (self.video_pid, self.clock_pid) = (video_pid, clock_pid);
        self.clock.follow(clock_pid);
    }

    /// Takes the next packet of the input with the bytes of video in it.
    pub(super) fn packet(&mut self, packet: Packet, video_bytes: u64) -> Result<(), Error> {
        if self.rate > HIGHEST_RATE {
            return Err(Error::RateUnfit { rate: self.rate });
        }
        self.with_clock(|clock, timed| clock.push(packet, video_bytes, timed));
        if self.clock.waiting() > self.memory {
            return Err(Error::NoClock);
        }
        if self.video.len() + self.others.len() > self.memory {
            return Err(Error::RateUnfit { rate: self.rate });
        }
        self.fill();
        Ok(())
    }

    /// A picture is complete; the buffer of the decoder holds `buffer` bytes.
    pub(super) fn picture(&mut self, picture: Departed, buffer: Option<u64>) {
        let place = picture.decoding_time.and_then(|time| self.clock.place(time));
        self.buffer.size = buffer.filter(|size| *size > 0);
        self.buffer.announce(picture.len, place);
    }

    /// Nothing follows.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        if self.finished {
            return Ok(());
        }
        self.finished = true;
        if !self.with_clock(|clock, timed| clock.finish(timed)) {
            return Err(Error::NoClock);
        }
        self.fill();
        Ok(())
    }

    /// Sorts the packets that get their time from the clock.
    fn with_clock<R>(&mut self, call: impl FnOnce(&mut Clock, &mut dyn FnMut(Timed)) -> R) -> R {
        let Pacer { clock, video, others, start, newest, video_pid, .. } = self;
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

    /// Fills every place for which all packets are known that may stand in it.
    fn fill(&mut self) {
        let Some(start) = self.start else { return };
        loop {
            let bits = i128::from(self.places) * PACKET as i128 * 8;
            let now = start + (bits * 27_000_000 / i128::from(self.rate.as_bps().max(1))) as i64;
            let done = self.video.is_empty() && self.others.is_empty() && now > self.newest;
            if self.finished && done || !self.finished && now + LEAD > self.newest {
                return;
            }
            self.buffer.advance(now, &mut self.report);
            if !self.refer(now) {
                match self.choose(now) {
                    Some(timed) => self.place(timed, now),
                    None => self.fill_with_null(now),
                }
            }
            self.places += 1;
        }
    }

    /// Time from one place to the next, rounded up.
    fn interval(&self) -> i64 {
        (PACKET as u64 * 8 * 27_000_000).div_ceil(self.rate.as_bps().max(1)) as i64
    }

    /// The packet for the place at `now`: what came by then in its order, else video that may go ahead.
    fn choose(&mut self, now: i64) -> Option<Timed> {
        if self.others.front().is_some_and(|other| other.at <= now) {
            return self.others.pop_front();
        }
        let video = self.video.front()?;
        let ahead = video.at <= now + LEAD && self.buffer.has_room(video.video_bytes);
        if video.at <= now || ahead { self.video.pop_front() } else { None }
    }

    fn place(&mut self, timed: Timed, now: i64) {
        let Timed { mut packet, video_bytes, at } = timed;
        let shift = now - at;
        self.report.late_packets += u64::from(shift > 0);
        self.report.most_late_us = self.report.most_late_us.max(shift.max(0) as u64 / 27);
        self.report.most_early_us = self.report.most_early_us.max(shift.min(0).unsigned_abs() / 27);
        if let Some(reference) = packet.pcr() {
            let value = moved(reference, shift);
            packet.set_pcr(value);
            if packet.pid() == self.clock_pid {
                self.reference = Some(Reference { at: now, value });
            }
        }
        packet.shift_arrival(shift);
        self.buffer.arrived += video_bytes;
        if packet.pid() == self.clock_pid {
            self.clock_packet = Some((packet.clone(), now));
        }
        self.output.extend_from_slice(packet.wire());
        self.pattern = Some((packet, now));
    }

    /// Fills the place with a clock reference alone where the next would come too late; false where none is due.
    fn refer(&mut self, now: i64) -> bool {
        let (Some(last), Some((pattern, at))) = (self.reference, &self.clock_packet) else { return false };
        let due = now + self.interval() - last.at > REFERENCE_INTERVAL;
        // At a rate at which they would be all there is, references go with the packets that have them.
        if !due || self.interval() * 4 > REFERENCE_INTERVAL {
            return false;
        }
        let value = moved(last.value, now - last.at);
        let mut packet = pattern.clone();
        packet.make_reference(value);
        packet.shift_arrival(now - at);
        self.reference = Some(Reference { at: now, value });
        self.report.added_references += 1;
        self.output.extend_from_slice(packet.wire());
        true
    }

    /// Fills the place with a null packet.
    fn fill_with_null(&mut self, now: i64) {
        let Some((pattern, at)) = &self.pattern else { return };
        let mut packet = pattern.clone();
        packet.make_null();
        packet.shift_arrival(now - at);
        self.report.null_packets += 1;
        self.output.extend_from_slice(packet.wire());
    }
}

fn moved(reference: u64, ticks: i64) -> u64 {
    (reference as i64 + ticks).rem_euclid(super::packet::PCR_WRAP as i64) as u64
}

impl Buffer {
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

    /// Takes out the pictures decoded by `now`.
    fn advance(&mut self, now: i64, report: &mut PacingReport) {
        while let Some(removal) = self.removals.pop_front_if(|removal| removal.at <= now) {
            report.underflows += u64::from(removal.end > self.arrived);
            self.removed = removal.end;
        }
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.arrived + bytes <= self.removed + self.size.unwrap_or(USUAL_BUFFER)
    }
}
