//! The sound of a transport stream that is read once, such as a pipe: FFmpeg decodes it from a copy of the octets.

use super::ffmpeg::Pcm;
use super::{AudioSource, Block, CodedTrack, SAMPLE_RATE};
use crate::Error;
use seaway_mpeg::container::{Companion, Framing, SoundFormat};
use seaway_units::TimeDelta;
use std::io::Write;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Builder;

/// Octets that are kept until the sound is opened.
const MOST_KEPT: usize = 8 << 20;
/// Chunks that wait for FFmpeg. It falls behind only where it does not answer.
const MOST_WAITING: usize = 256;

/// The end of the copy at the reader of the stream. It copies as long as there is the [`PipedTrack`] or its sound.
#[derive(Debug, Default)]
pub(crate) struct Tap(Weak<Mutex<Copying>>);

#[derive(Debug)]
enum Copying {
    /// The octets since the beginning.
    Kept(Vec<u8>),
    /// All octets of a stream that ended before its sound was opened.
    Whole(Vec<u8>),
    /// To those that read it: the thread that feeds FFmpeg, a [`CodedTrack`].
    Fed(Vec<SyncSender<Vec<u8>>>),
    Ended,
}

/// A track of sound in a transport stream that is read once.
#[derive(Debug)]
pub(crate) struct PipedTrack {
    copying: Arc<Mutex<Copying>>,
    framing: Framing,
    track: Companion,
    /// The time stamp of time zero, 90 kHz.
    origin: u64,
    /// The time of the first picture.
    pub(crate) first: TimeDelta,
}

impl Tap {
    /// A tap, and the track that it leads to. The stream began with `seen`.
    pub(crate) fn new(
        seen: Vec<u8>,
        framing: Framing,
        track: Companion,
        origin: u64,
        first: TimeDelta,
    ) -> (Self, PipedTrack) {
        let copying = Arc::new(Mutex::new(Copying::Kept(seen)));
        let tap = Self(Arc::downgrade(&copying));
        (tap, PipedTrack { copying, framing, track, origin, first })
    }

    /// Copies the next octets. Those that a reader cannot take in time are lost to it.
    pub(crate) fn push(&self, octets: &[u8]) {
        let Some(copying) = self.0.upgrade() else { return };
        let mut copying = lock(&copying);
        match &mut *copying {
            Copying::Kept(kept) if kept.len() + octets.len() <= MOST_KEPT => kept.extend_from_slice(octets),
            Copying::Kept(_) => *copying = Copying::Ended,
            Copying::Fed(feeds) => feeds.iter().for_each(|feed| drop(feed.try_send(octets.to_vec()))),
            Copying::Whole(_) | Copying::Ended => {}
        }
    }

    /// The stream has ended.
    pub(crate) fn finish(&self) {
        if let Some(copying) = self.0.upgrade() {
            let mut copying = lock(&copying);
            *copying = match std::mem::replace(&mut *copying, Copying::Ended) {
                Copying::Kept(octets) | Copying::Whole(octets) => Copying::Whole(octets),
                Copying::Fed(_) | Copying::Ended => Copying::Ended,
            };
        }
    }
}

fn lock(copying: &Mutex<Copying>) -> MutexGuard<'_, Copying> {
    copying.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PipedTrack {
    /// The time stamp at this time, 90 kHz.
    fn ticks(&self, time: TimeDelta) -> f64 {
        self.origin as f64 + time.as_secs_f64() * 90_000.0
    }

    /// Its frames, which are of this format, with their times since this one.
    pub(crate) fn into_coded(self, format: SoundFormat, begin: TimeDelta) -> CodedTrack {
        let [octets] = self.copied();
        let first = self.ticks(begin).round() as i64;
        CodedTrack::of_pipe(octets, format, (self.framing, self.track.pid), first)
    }

    /// Its sound from this time on.
    ///
    /// # Errors
    /// FFmpeg is not installed, or the system grants no process or thread.
    pub(crate) fn open(self, begin: TimeDelta) -> Result<PipedAudio, Error> {
        let ticks = self.ticks(begin);
        let first = ticks.round() as i64;
        let samples = (ticks / 90_000.0 * f64::from(SAMPLE_RATE)).round() as i64;
        let (input, track) = (["-f", "mpegts", "-i", "pipe:0"], format!("0:i:{}", self.track.pid));
        // Times of the stream, and no delay to look at streams that are not used.
        let options = ["-copyts", "-analyzeduration", "1", "-fpsprobesize", "0"];
        let (pcm, stdin) = Pcm::decode("the input", &[&options[..], &input].concat(), &track, samples, true)?;
        let stdin = stdin.ok_or_else(|| Error::Ffmpeg("ffmpeg: no pipe".into()))?;
        let codec = self.track.name();
        Ok(PipedAudio { track: self, first, codec, pcm, stdin: Some(stdin), copied: None })
    }

    /// The octets of the stream from its beginning on, so often.
    fn copied<const N: usize>(&self) -> [Copied; N] {
        let feeds: [_; N] = std::array::from_fn(|_| sync_channel(MOST_WAITING));
        let mut copying = lock(&self.copying);
        let (kept, is_open) = match std::mem::replace(&mut *copying, Copying::Ended) {
            Copying::Kept(kept) => (kept, true),
            Copying::Whole(kept) => (kept, false),
            Copying::Fed(_) | Copying::Ended => (Vec::new(), false),
        };
        let mut senders = Vec::new();
        let copies = feeds.map(|(feed, chunks)| {
            senders.push(feed);
            Copied { _copying: Arc::clone(&self.copying), kept: Some(kept.clone()), chunks }
        });
        // Without a feed they come to an end with what was kept.
        if is_open {
            *copying = Copying::Fed(senders);
        }
        copies
    }
}

/// The octets of a stream, as they come.
#[derive(Debug)]
pub(super) struct Copied {
    /// Ends the copy when it is not read any more.
    _copying: Arc<Mutex<Copying>>,
    kept: Option<Vec<u8>>,
    chunks: Receiver<Vec<u8>>,
}

impl Copied {
    /// Those that came before they were asked for.
    pub(super) fn take_kept(&mut self) -> Option<Vec<u8>> {
        self.kept.take()
    }

    /// The next ones; waits for them. `None` at the end.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.kept.take().or_else(|| self.chunks.recv().ok())
    }
}

/// Feeds FFmpeg until the stream ends, its sound is not read any more, or FFmpeg has ended.
fn write(mut stdin: ChildStdin, kept: &[u8], chunks: &Receiver<Vec<u8>>) {
    let mut is_taken = stdin.write_all(kept).is_ok();
    while is_taken && let Ok(chunk) = chunks.recv() {
        is_taken = stdin.write_all(&chunk).is_ok();
    }
}

/// The sound of a [`PipedTrack`].
#[derive(Debug)]
pub(crate) struct PipedAudio {
    /// Ends the copy when the sound is not read any more.
    track: PipedTrack,
    /// The time stamp of the first picture, 90 kHz.
    first: i64,
    codec: String,
    pcm: Pcm,
    /// FFmpeg's, until it is fed.
    stdin: Option<ChildStdin>,
    /// What it is fed with, where a [`CodedTrack`] reads the same.
    copied: Option<Copied>,
}

impl PipedAudio {
    /// FFmpeg gets the stream from now on.
    fn feed(&mut self) -> Result<(), Error> {
        let Some(stdin) = self.stdin.take() else { return Ok(()) };
        let own = || {
            let [copied] = self.track.copied();
            copied
        };
        let Copied { kept, chunks, .. } = self.copied.take().unwrap_or_else(own);
        let kept = kept.unwrap_or_default();
        let feeding = Builder::new().name("sound feed".into()).spawn(move || write(stdin, &kept, &chunks));
        feeding.map(drop).map_err(|error| Error::Ffmpeg(format!("no thread for the sound: {error}")))
    }
}

impl AudioSource for PipedAudio {
    fn next_block(&mut self, block: &mut Block) -> Result<bool, Error> {
        self.feed()?;
        self.pcm.next_block(block).map_err(Error::io("the input's sound"))
    }

    fn codec(&self) -> &str {
        &self.codec
    }

    fn take_coded(&mut self, format: SoundFormat) -> Option<Result<CodedTrack, Error>> {
        let PipedTrack { framing, track, .. } = self.track;
        let is_it = match format {
            SoundFormat::Aac => track.is_aac(),
            SoundFormat::Opus => track.is_plain_opus(),
        };
        self.stdin.as_ref().filter(|_| is_it && self.copied.is_none())?;
        let [octets, own] = self.track.copied();
        self.copied = Some(own);
        Some(Ok(CodedTrack::of_pipe(octets, format, (framing, track.pid), self.first)))
    }

    fn rewind(&mut self) -> Result<(), Error> {
        Err(Error::Unsupported("the sound of a pipe cannot be read again".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_mpeg::container::{Demultiplexer, H264, Multiplexer};

    /// A track of AAC beside pictures.
    fn companion() -> Companion {
        let (mut multiplexer, mut stream) = (Multiplexer::new(Some(SoundFormat::Aac)), Vec::new());
        multiplexer.write(0, 7, &mut stream);
        let mut demultiplexer = Demultiplexer::new(Framing::Plain, H264);
        demultiplexer.push(&stream);
        demultiplexer.companions()[0]
    }

    #[test]
    fn a_stream_that_ends_first_is_kept_whole() {
        let (tap, track) = Tap::new(vec![1], Framing::Plain, companion(), 0, TimeDelta::ZERO);
        tap.push(&[2]);
        tap.finish();
        tap.push(&[3]);
        tap.finish();
        assert!(matches!(&*lock(&track.copying), Copying::Whole(octets) if octets[..] == [1, 2]));
    }

    #[test]
    fn a_stream_whose_sound_is_not_opened_is_not_kept_for_ever() {
        let (tap, track) = Tap::new(Vec::new(), Framing::Plain, companion(), 0, TimeDelta::ZERO);
        let chunk = vec![0; MOST_KEPT / 2];
        for _ in 0..3 {
            tap.push(&chunk);
        }
        tap.finish();
        assert!(matches!(&*lock(&track.copying), Copying::Ended));
    }
}
