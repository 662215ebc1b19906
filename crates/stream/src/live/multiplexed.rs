//! A sender of an MPEG transport stream to receivers of others. Nothing comes back, so the rate is the largest that is allowed,
//! whatever the network carries.

use super::event::SendEvent;
use super::machine::RejectCounters;
use super::mux::{Mux, PACKET};
use super::sender_machine::{EncoderControls, SenderCommand, SenderSnapshot, SenderUpdate};
use super::window::SessionQueues;
use seaway_control::SpecError;
use seaway_media::output::{FfmpegRelay, Relayed};
use seaway_media::transport::SoundFormat;
use seaway_net::{Incoming, Machine, Outgoing, next_snapshot};
use seaway_session::{Frame, FrameData, Limits, SenderStatistics};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::Arc;

/// Transport packets of a datagram, as others have them.
const MOST_PACKETS: u64 = 7;
/// Pieces that a relay did not take are reported this often.
const REPORT_DROPPED: TimeDelta = TimeDelta::from_secs(10);

/// What carries a transport stream.
#[derive(Debug)]
pub enum Carrier {
    /// Datagrams to this address, which may be a multicast group: then they pass so many hops.
    Udp {
        /// Where they go.
        to: SocketAddr,
        /// The time to live of multicast.
        hops: u8,
    },
    /// FFmpeg, in a protocol of its own.
    Relay(FfmpegRelay),
}

/// How a transport stream is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransportConfig {
    pub(super) limits: Limits,
    /// From the capture of a frame to its time stamp: what coding and sending may take.
    pub(super) latency: TimeDelta,
    pub(super) sound: Option<SoundFormat>,
    /// Headers of a datagram, and the largest one with them.
    pub(super) overhead: DataSize,
    pub(super) mtu: Option<DataSize>,
}

/// A sender of a transport stream by one socket, or by none where another program carries it.
#[derive(Debug)]
pub(super) struct TransportMachine {
    config: TransportConfig,
    carrier: Carrier,
    mux: Mux,
    /// When the next datagram may leave.
    next: Timestamp,
    statistics: SenderStatistics,
    queues: SessionQueues,
    controls: Arc<EncoderControls>,
    next_snapshot: Timestamp,
    rejected: RejectCounters,
    /// Pieces that the relay did not take since the last report of them.
    dropped: u64,
    dropped_at: Option<Timestamp>,
    has_ended: bool,
    is_closing: bool,
}

impl TransportMachine {
    pub(super) fn new(
        now: Timestamp,
        config: TransportConfig,
        carrier: Carrier,
        queues: SessionQueues,
    ) -> Self {
        let controls = Arc::<EncoderControls>::default();
        let mux = Mux::new(config.sound, config.latency);
        controls.set(media_rate(config, &mux), false);
        controls.connect();
        Self {
            config,
            carrier,
            mux,
            next: now,
            statistics: SenderStatistics::default(),
            queues,
            controls,
            next_snapshot: now,
            rejected: RejectCounters::default(),
            dropped: 0,
            dropped_at: None,
            has_ended: false,
            is_closing: false,
        }
    }

    /// What the source reads before each frame.
    pub(super) fn controls(&self) -> Arc<EncoderControls> {
        self.controls.clone()
    }

    fn update(&self, update: SenderUpdate) {
        // The session goes on if the application dropped its handle.
        let _ = self.queues.updates.send(update);
    }

    fn send_frame(&mut self, now: Timestamp, frame: &Frame) {
        self.statistics.frames.captured += 1;
        let FrameData::Coded(_) = &frame.data else { return };
        match !self.has_ended && self.mux.push_picture(now, frame).is_some() {
            true => self.statistics.frames.queued += 1,
            false => self.statistics.frames.skipped += 1,
        }
    }

    fn send_sound(&mut self, frame: &Frame) {
        if self.has_ended {
            self.mux.sound_dropped();
        } else if self.mux.push_sound(frame) {
            self.follow_rate();
        }
    }

    /// The rate of the pictures beside all else.
    fn follow_rate(&self) {
        self.controls.set(media_rate(self.config, &self.mux), self.has_ended);
    }

    fn execute(&mut self, now: Timestamp, command: SenderCommand) {
        match command {
            SenderCommand::Frame(frame) => self.send_frame(now, &frame),
            SenderCommand::Sound(frame) => self.send_sound(&frame),
            SenderCommand::FrameSkipped => {
                self.statistics.frames.captured += 1;
                self.statistics.frames.skipped += 1;
            }
            SenderCommand::Limits(limits) => {
                self.config.limits = limits;
                self.follow_rate();
            }
            SenderCommand::Latency(latency) => self.mux.set_latency(latency),
            SenderCommand::Control(control) => {
                let why = "nothing comes back from the receiver of a transport stream";
                let error = SpecError::new(&control.to_string(), why);
                self.update(SenderUpdate::Event(now, SendEvent::ControlRejected(error)));
            }
            SenderCommand::Close => self.is_closing = true,
            SenderCommand::SourceRate(_)
            | SenderCommand::Paused(_)
            | SenderCommand::RouteChanged
            | SenderCommand::Finish
            | SenderCommand::CloseChannel => {}
        }
    }

    /// When the next datagram leaves.
    fn departure(&self) -> Option<Timestamp> {
        if self.has_ended {
            return None;
        }
        if self.mux.waiting() > 0 {
            return Some(self.next);
        }
        let due = self.mux.clock_due()?;
        Some(due.max(self.next))
    }

    /// Writes the datagram that leaves now; false where none does.
    fn datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> bool {
        if self.departure().is_none_or(|departure| departure > now) {
            return false;
        }
        let most = self.config.mtu.map_or(MOST_PACKETS, |mtu| {
            let room = mtu.as_bytes().saturating_sub(self.config.overhead.as_bytes());
            (room / PACKET).clamp(1, MOST_PACKETS)
        });
        self.mux.write(now, most as usize, buffer);
        let size = DataSize::of(buffer) + self.config.overhead;
        self.statistics.sent.packets += 1;
        self.statistics.sent.size += size;
        self.statistics.media = self.statistics.sent;
        let pace = self.pace();
        self.next = self.next.max(now) + pace.time_to_send(size).unwrap_or(TimeDelta::ZERO);
        !buffer.is_empty()
    }

    /// The rate at which datagrams leave: what waits has left within half of the latency.
    fn pace(&self) -> Bitrate {
        let seconds = (self.mux.latency().as_secs_f64() / 2.0).max(0.01);
        let waiting = self.mux.waiting() as f64 * 8.0 / seconds;
        let least = self.config.limits.max.as_bps_f64().min(Bitrate::from_mbps(2).as_bps_f64());
        Bitrate::from_bps_f64(waiting.max(1.5 * least))
    }

    /// Gives the other program what is due.
    fn relay(&mut self, now: Timestamp) {
        if !matches!(self.carrier, Carrier::Relay(_)) {
            return;
        }
        let mut buffer = Vec::new();
        while self.datagram(now, &mut buffer) {
            let Carrier::Relay(relay) = &mut self.carrier else { return };
            match relay.send(&buffer) {
                Relayed::Taken => {}
                Relayed::Dropped => self.dropped += 1,
                Relayed::Ended => {
                    let why = relay.finish();
                    self.has_ended = true;
                    self.controls.set(Bitrate::ZERO, true);
                    self.update(SenderUpdate::Event(now, SendEvent::RelayEnded(why)));
                }
            }
            buffer.clear();
        }
        let is_due = self.dropped_at.is_none_or(|at| now.since(at) >= REPORT_DROPPED);
        if self.dropped > 0 && is_due {
            self.dropped_at = Some(now);
            let dropped = std::mem::take(&mut self.dropped);
            self.update(SenderUpdate::Event(now, SendEvent::RelayDropped(dropped)));
        }
    }

    fn snapshot(&self, now: Timestamp) -> SenderSnapshot {
        let waiting = DataSize::from_bytes(self.mux.waiting() as u64);
        let mut statistics = self.statistics;
        statistics.audio = self.mux.audio();
        let frames = &mut statistics.frames;
        frames.sent = frames.queued - self.mux.pictures().min(frames.queued);
        frames.begun = frames.sent;
        SenderSnapshot {
            at: now,
            lanes: Vec::new(),
            statistics,
            allowance: self.config.limits.max,
            target: media_rate(self.config, &self.mux),
            phase: "fixed",
            gauges: Vec::new(),
            backlog: waiting,
            is_drained: waiting == DataSize::ZERO,
            rejected: self.rejected,
        }
    }
}

/// The rate of coded pictures that fits the largest rate on the wire.
fn media_rate(config: TransportConfig, mux: &Mux) -> Bitrate {
    let payload = DataSize::from_bytes(MOST_PACKETS * PACKET);
    mux.picture_rate(config.limits.max, payload, config.overhead)
}

impl Machine for TransportMachine {
    fn handle_datagram(&mut self, _now: Timestamp, _socket: usize, _datagram: &Incoming<'_>) {
        self.rejected.unknown_source += 1;
    }

    fn handle_wake(&mut self, now: Timestamp) {
        while let Ok(command) = self.queues.commands.try_recv() {
            self.execute(now, command);
        }
        self.relay(now);
        if self.is_closing {
            // The last picture may come behind the last snapshot that is due.
            self.update(SenderUpdate::Snapshot(Box::new(self.snapshot(now))));
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.relay(now);
        if self.next_snapshot <= now {
            self.next_snapshot = next_snapshot(self.next_snapshot, now);
            self.update(SenderUpdate::Snapshot(Box::new(self.snapshot(now))));
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.departure().into_iter().chain([self.next_snapshot]).min()
    }

    fn poll_datagram(&mut self, now: Timestamp, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let Carrier::Udp { to, .. } = self.carrier else { return None };
        self.datagram(now, buffer).then_some(Outgoing { socket: 0, to, ecn: Ecn::NotEct })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use seaway_media::transport::TransportStream;
    use seaway_session::{FrameKind, OVERHEAD_IPV4};
    use std::sync::mpsc;

    const FRAME: usize = 20_000;

    struct Ends {
        machine: TransportMachine,
        commands: mpsc::Sender<SenderCommand>,
        updates: mpsc::Receiver<SenderUpdate>,
    }

    fn machine(max: Bitrate) -> Ends {
        let (commands, queue) = mpsc::channel();
        let (updates, received) = mpsc::channel();
        let config = TransportConfig {
            limits: Limits { min: Bitrate::ZERO, start: max, max },
            latency: TimeDelta::from_millis(500),
            sound: Some(SoundFormat::Opus),
            overhead: OVERHEAD_IPV4,
            mtu: None,
        };
        let carrier = Carrier::Udp { to: "127.0.0.1:9".parse().unwrap(), hops: 1 };
        let queues = SessionQueues { commands: queue, updates };
        let machine = TransportMachine::new(Timestamp::ZERO, config, carrier, queues);
        Ends { machine, commands, updates: received }
    }

    fn millis(at: u64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(at as i64)
    }

    /// Runs its timers until `end`; what leaves, and when.
    fn run(machine: &mut TransportMachine, end: Timestamp) -> Vec<(Timestamp, Vec<u8>)> {
        let mut sent = Vec::new();
        while let Some(now) = machine.poll_timeout().filter(|now| *now <= end) {
            machine.handle_timeout(now);
            let mut buffer = Vec::new();
            while machine.poll_datagram(now, &mut buffer).is_some() {
                sent.push((now, std::mem::take(&mut buffer)));
            }
        }
        sent
    }

    fn frame(captured: Timestamp, len: usize, kind: FrameKind) -> SenderCommand {
        let data = [&[0, 0, 0, 1, 0x65][..], &vec![1; len]].concat();
        let interval = TimeDelta::from_millis(40);
        SenderCommand::Frame(Frame::new(captured, kind, FrameData::Coded(Bytes::from(data)), interval))
    }

    #[test]
    fn pictures_leave_evenly_with_their_times() {
        let Ends { mut machine, commands, updates: _updates } = machine(Bitrate::from_mbps(4));
        let (mut sent, mut stream) = (Vec::new(), TransportStream::new());
        for index in 0..50 {
            let (captured, now) = (millis(40 * index), millis(40 * index + 7));
            let kind = if index == 0 { FrameKind::Key } else { FrameKind::Reference };
            commands.send(frame(captured, if index == 0 { 8 * FRAME } else { FRAME }, kind)).unwrap();
            sent.extend(run(&mut machine, now));
            machine.handle_wake(now);
        }
        sent.extend(run(&mut machine, millis(2_500)));
        // A key frame of eight times the size needs half the latency, and no two datagrams leave at once.
        let first: Vec<_> = sent.iter().take(120).map(|(at, _)| *at).collect();
        assert!(first.windows(2).all(|pair| pair[1] > pair[0]) && first[119] > millis(80), "{first:?}");
        sent.iter().for_each(|(_, octets)| stream.push(octets));
        stream.finish();
        let units: Vec<_> = std::iter::from_fn(|| stream.poll()).collect();
        assert_eq!(units.len(), 50);
        for (unit, index) in units.iter().zip(0..) {
            assert_eq!(
                (unit.stamp, unit.shown),
                ((40 * index + 500) * 90, TimeDelta::from_millis(40 * index as i64))
            );
        }
        assert_eq!(machine.snapshot(millis(2_500)).statistics.frames.sent, 50);
    }

    #[test]
    fn the_last_picture_is_in_the_last_snapshot() {
        let Ends { mut machine, commands, updates } = machine(Bitrate::from_mbps(4));
        run(&mut machine, millis(0));
        let picture = || frame(millis(0), FRAME, FrameKind::Key);
        for command in [picture(), SenderCommand::Close, picture()] {
            commands.send(command).unwrap();
            machine.handle_wake(millis(1));
        }
        let snapshots = updates.try_iter().filter_map(|update| match update {
            SenderUpdate::Snapshot(snapshot) => Some(snapshot.statistics.frames.captured),
            _ => None,
        });
        assert_eq!(snapshots.collect::<Vec<_>>(), [0, 1, 2]);
    }

    /// B pictures come in decoding order; none is decoded after it is shown, nor before the one before it.
    #[test]
    fn times_of_decoding_go_on() {
        let Ends { mut machine, commands, updates: _updates } = machine(Bitrate::MAX);
        assert_eq!(machine.controls().take(crate::source::PacketOverhead::NONE).share, Bitrate::MAX);
        let mut sent = Vec::new();
        for (index, shown) in [80, 200, 120, 160, 320, 240, 280].into_iter().enumerate() {
            let decoded = 40 * index as u64;
            commands.send(frame(millis(shown), 900, FrameKind::Reference)).unwrap();
            sent.extend(run(&mut machine, millis(decoded)));
            machine.handle_wake(millis(decoded.saturating_sub(50)));
        }
        sent.extend(run(&mut machine, millis(1_000)));
        let mut stream = TransportStream::new();
        sent.iter().for_each(|(_, octets)| stream.push(octets));
        stream.finish();
        let units: Vec<_> = std::iter::from_fn(|| stream.poll()).collect();
        let shown: Vec<_> = units.iter().map(|unit| unit.stamp / 90 - 500).collect();
        assert_eq!(shown, [80, 200, 120, 160, 320, 240, 280]);
        assert!(units.windows(2).all(|pair| pair[1].decoded > pair[0].decoded));
        assert!(units.iter().all(|unit| unit.decoded <= unit.shown));
    }

    #[test]
    fn the_rate_is_what_is_left_beside_sound_and_headers() {
        let Ends { machine, .. } = machine(Bitrate::from_mbps(2));
        let rate = media_rate(machine.config, &machine.mux).as_bps_f64();
        assert!((1_600_000.0..1_850_000.0).contains(&rate), "{rate}");
    }
}
