//! The programme of a transport stream that is received: its pictures, and its sound as AAC or Opus.

use super::programme_playout::PlayoutQueue;
use super::sound::RATE;
use crate::Error;
use bytes::Bytes;
use seaway_control::StreamId;
use seaway_media::audio::{
    AudioSource, BLOCK_SAMPLES, BLOCK_TIME, Block, CodedTrack, OpusEncoder, SoundFrame,
};
use seaway_media::transport::{TransportStream, TransportUnit};
use seaway_session::{Format, FrameData, FrameKind, ReceivedFrame, SessionDescription, StreamDescription};
use seaway_units::{RemoteTimestamp, TimeDelta, Timestamp};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// The stream of the pictures, and that of the sound.
const PICTURES: StreamId = StreamId(0);
const SOUND: StreamId = StreamId(1);
/// Packets of sound that wait to be played: more than the longest latency.
const MOST_WAITING: usize = 1024;
/// The sound of the last pictures comes so much later at most: FFmpeg decodes it.
const LAST_SOUND: Duration = Duration::from_secs(1);
/// The first access unit on the clock of the sender, whose origin is not known: sound may begin before it.
const FIRST: u64 = 1_000_000_000;

/// What comes out of the stream.
pub(super) enum Part {
    /// The programme begins: the session has these streams.
    Begun(SessionDescription),
    /// Its sound is left out.
    NoSound(Error),
    /// There is no H.264 in it. It has this.
    NotUnderstood(String),
    /// Pictures before the next one are missing.
    Lost,
    Picture(ReceivedFrame),
    Sound(ReceivedFrame),
}

/// A programme that is received.
pub(super) struct Programme {
    stream: TransportStream,
    /// Of the packets.
    session: SessionDescription,
    /// Sound may be AAC.
    takes_aac: bool,
    has_begun: bool,
    is_refused: bool,
    /// A picture was shown.
    has_shown: bool,
    sound: Option<Receiver<ReceivedFrame>>,
    no_sound: Option<Error>,
    /// Pictures, and what was lost between them, before they are shown.
    pictures: PlayoutQueue<Part>,
    /// Times at which the packets came of which the last one gave the present pictures.
    arrival: Arrival,
}

#[derive(Debug, Clone, Copy)]
struct Arrival {
    first: Timestamp,
    completed: Timestamp,
}

impl Programme {
    /// The programme of a session that carries a transport stream; `None` for another session. Pictures are shown the latency after they
    /// could be, at the pace of their time stamps. AAC stays as it is with `takes_aac`, and other sound is coded as Opus.
    pub(super) fn of(session: &SessionDescription, latency: TimeDelta, takes_aac: bool) -> Option<Self> {
        let is_it = session.streams.first().is_some_and(|stream| stream.format == Format::Mp2t);
        let never = Arrival { first: Timestamp::ZERO, completed: Timestamp::ZERO };
        is_it.then(|| Self {
            stream: TransportStream::new(),
            session: session.clone(),
            takes_aac,
            has_begun: false,
            is_refused: false,
            has_shown: false,
            sound: None,
            no_sound: None,
            pictures: PlayoutQueue::new(latency),
            arrival: never,
        })
    }

    /// The next transport packets.
    pub(super) fn on_packets(&mut self, packets: &ReceivedFrame) {
        let FrameData::Coded(octets) = &packets.data else { return self.on_loss() };
        self.arrival = Arrival { first: packets.first_arrival, completed: packets.completed };
        self.stream.push(octets);
    }

    /// Packets before the next ones are missing.
    pub(super) fn on_loss(&mut self) {
        self.stream.on_loss();
    }

    /// The stream has ended.
    pub(super) fn finish(&mut self) {
        self.stream.break_off();
    }

    /// When the next picture is due, of those that are there.
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.pictures.poll_timeout()
    }

    /// The next part that is due.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<Part> {
        if let Some(found) = self.stream.others().filter(|_| !self.is_refused) {
            self.is_refused = true;
            return Some(Part::NotUnderstood(found));
        }
        if let Some(error) = self.no_sound.take() {
            return Some(Part::NoSound(error));
        }
        if !self.has_begun {
            return self.begin();
        }
        // Before the first picture sound has no place.
        if let Some(sound) =
            self.sound.as_ref().filter(|_| self.has_shown).and_then(|sound| sound.try_recv().ok())
        {
            return Some(Part::Sound(sound));
        }
        self.take_pictures();
        let part = self.pictures.poll(now);
        self.has_shown |= matches!(part, Some(Part::Picture(_)));
        part
    }

    /// What came waits for its time.
    fn take_pictures(&mut self) {
        loop {
            if self.stream.take_loss() {
                self.pictures.push_before_next(Part::Lost);
            }
            let Some(unit) = self.stream.poll() else { return };
            let (arrival, decoded, octets) = (self.arrival, unit.decoded, unit.data.len());
            let picture = |due| Part::Picture(picture(unit, arrival, due));
            self.pictures.push(arrival.completed, decoded, octets, picture);
        }
    }

    /// What is left once the stream has ended, due or not; `None` where there is no more.
    pub(super) fn poll_last(&mut self, now: Timestamp) -> Option<Part> {
        let part = self.poll(now).or_else(|| self.pictures.poll_early());
        part.or_else(|| self.sound.as_ref()?.recv_timeout(LAST_SOUND).ok().map(Part::Sound))
    }

    /// The programme begins with its first picture, and where its sound is AAC with the first frame of that.
    fn begin(&mut self) -> Option<Part> {
        let first = self.stream.peek()?.shown;
        if self.takes_aac && self.stream.awaits_sound() {
            return None;
        }
        self.has_begun = true;
        let sound = match self.open_sound(first) {
            Some(Ok((sound, packets))) => {
                self.sound = Some(packets);
                Some(sound)
            }
            Some(Err(error)) => {
                self.no_sound = Some(error);
                None
            }
            None => None,
        };
        let streams = std::iter::once(StreamDescription::video(Format::H264)).chain(sound).collect();
        Some(Part::Begun(SessionDescription { streams, ..self.session.clone() }))
    }

    /// The sound from the first picture on, and what it is.
    fn open_sound(
        &mut self,
        first: TimeDelta,
    ) -> Option<Result<(StreamDescription, Receiver<ReceivedFrame>), Error>> {
        let aac = self.takes_aac.then(|| self.stream.open_aac(first)).flatten();
        if let Some((track, config)) = aac.and_then(|track| track.aac_config().map(|config| (track, config)))
        {
            let stream = StreamDescription::aac(config);
            return Some(copy(track, config.sample_rate(), first).map(|packets| (stream, packets)));
        }
        let source = self.stream.open_sound(first)?;
        Some(
            source
                .map_err(Error::from)
                .and_then(|source| Ok((StreamDescription::opus(), decode(source, first)?))),
        )
    }
}

fn picture(unit: TransportUnit, arrival: Arrival, due: Timestamp) -> ReceivedFrame {
    ReceivedFrame {
        stream: PICTURES,
        timestamp: unit.stamp as u32,
        captured: Some(remote(unit.shown)),
        kind: if unit.key { FrameKind::Key } else { FrameKind::Reference },
        data: FrameData::Coded(unit.data.into()),
        first_arrival: arrival.first,
        completed: arrival.completed,
        due,
    }
}

/// A time of the stream on the sender's clock.
fn remote(time: TimeDelta) -> RemoteTimestamp {
    RemoteTimestamp::from_nanos(FIRST.saturating_add_signed(time.as_nanos()))
}

/// Gives the frames of AAC as they are, on a thread that ends with the stream or with the reader of the frames.
fn copy(mut track: CodedTrack, rate: u32, first: TimeDelta) -> Result<Receiver<ReceivedFrame>, Error> {
    let (frames, received) = sync_channel(MOST_WAITING);
    let run = move || {
        while let Ok(Some(SoundFrame { octets, at, .. })) = track.next_frame() {
            let timestamp =
                (i128::from(at.as_nanos()) * i128::from(rate) + 500_000_000).div_euclid(1_000_000_000);
            let frame = sound(timestamp as u32, remote(first + at), octets.into());
            if frames.send(frame).is_err() {
                return;
            }
        }
    };
    Builder::new().name("programme sound".into()).spawn(run)?;
    Ok(received)
}

fn sound(timestamp: u32, captured: RemoteTimestamp, data: Bytes) -> ReceivedFrame {
    ReceivedFrame {
        stream: SOUND,
        timestamp,
        captured: Some(captured),
        kind: FrameKind::Key,
        data: FrameData::Coded(data),
        first_arrival: Timestamp::ZERO,
        completed: Timestamp::ZERO,
        due: Timestamp::ZERO,
    }
}

/// Codes the sound from `first` on as Opus, on a thread that ends with the source or with the reader of the packets.
fn decode(source: Box<dyn AudioSource>, first: TimeDelta) -> Result<Receiver<ReceivedFrame>, Error> {
    let (packets, received) = sync_channel(MOST_WAITING);
    let encoder = OpusEncoder::new(RATE)?;
    Builder::new().name("programme sound".into()).spawn(move || code(source, encoder, first, &packets))?;
    Ok(received)
}

fn code(
    mut source: Box<dyn AudioSource>,
    mut encoder: OpusEncoder,
    first: TimeDelta,
    packets: &SyncSender<ReceivedFrame>,
) {
    let (mut block, mut time): (Block, _) = ([0; 2 * BLOCK_SAMPLES], first);
    let mut timestamp = 0_u32;
    while let Ok(true) = source.next_block(&mut block) {
        let captured = remote(time - encoder.delay());
        let Ok(packet) = encoder.encode(&block) else { return };
        let frame = sound(timestamp, captured, Bytes::copy_from_slice(packet));
        if packets.send(frame).is_err() {
            return;
        }
        time += BLOCK_TIME;
        timestamp = timestamp.wrapping_add(BLOCK_SAMPLES as u32);
    }
}
