//! The sound of a live input.

use super::input::Input;
use crate::failure::note;
use seaway_media::audio::{self, AudioSource, CodedTrack, CommandAudio};
use seaway_media::input::is_silent;
use seaway_media::transport::SoundFormat;

/// What takes the sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherEnd {
    /// The reader of a transport stream.
    Transport,
    /// A receiver of RTP.
    Receiver,
    /// A media server.
    Server,
}

impl OtherEnd {
    /// The formats that go there as they are.
    const fn formats(self) -> &'static [SoundFormat] {
        match self {
            Self::Transport | Self::Receiver => &[SoundFormat::Opus, SoundFormat::Aac],
            Self::Server => &[SoundFormat::Opus],
        }
    }
}

/// What is sent of an input's sound.
#[derive(Debug)]
pub(crate) enum Sound {
    /// This track.
    Sent(Box<dyn AudioSource>),
    /// These frames, as they are; and of AAC what is decoded, for a page and for receivers that do not take it.
    Copied(Box<CodedTrack>, Option<Box<dyn AudioSource>>),
    /// Nothing, for this reason.
    LeftOut(String),
    /// There is none.
    None,
}

impl Sound {
    /// Starts a program that gives it.
    pub(crate) fn of_command(command: &str) -> Self {
        match CommandAudio::start(command) {
            Ok(source) => Self::Sent(Box::new(source)),
            Err(error) => Self::LeftOut(error.to_string()),
        }
    }

    /// Opens the sound of `input`, whose name is `name`.
    pub(crate) fn open(name: &str, input: &mut Input) -> Self {
        // FFmpeg takes a tenth of a second to look for sound.
        let open = || if is_silent(name.as_ref()) { Ok(None) } else { audio::open(name) };
        match input.take_sound().or_else(|| open().transpose()) {
            Some(Ok(source)) => Self::Sent(source),
            None => Self::None,
            Some(Err(error)) => Self::LeftOut(error.to_string()),
        }
    }

    /// What has one of the formats that the other end takes goes as it is.
    pub(crate) fn copied(self, end: OtherEnd) -> Self {
        let Self::Sent(mut source) = self else { return self };
        match end.formats().iter().find_map(|format| source.take_coded(*format)) {
            None => Self::Sent(source),
            Some(Ok(track)) if track.format() == SoundFormat::Opus => Self::Copied(Box::new(track), None),
            Some(Ok(track)) if end == OtherEnd::Transport || track.aac_config().is_some() => {
                Self::Copied(Box::new(track), Some(source))
            }
            Some(Ok(_)) => Self::Sent(source),
            Some(Err(error)) => Self::LeftOut(error.to_string()),
        }
    }

    /// The track that is coded as Opus, or the one that is sent as it is.
    pub(crate) fn into_source(self) -> (Option<Box<dyn AudioSource>>, Option<CodedTrack>) {
        match self {
            Self::Sent(source) => (Some(source), None),
            Self::Copied(track, source) => (source, Some(*track)),
            Self::LeftOut(_) | Self::None => (None, None),
        }
    }
}

/// Prints which track of sound is sent, and which tracks of the input are not and why. `others` are those that are not
/// pictures.
pub(crate) fn print_tracks(sound: &Sound, others: &[String]) {
    let mut has_taken = false;
    match sound {
        Sound::Sent(source) => note(&format!("sound: {}, sent as Opus", source.codec())),
        Sound::Copied(track, _) => {
            let codec = match track.format() {
                SoundFormat::Aac => "aac",
                SoundFormat::Opus => "opus",
            };
            note(&format!("sound: {codec}, sent as it is"));
        }
        Sound::LeftOut(_) | Sound::None => {}
    }
    for track in others {
        let is_audio = track.starts_with("audio ");
        match sound {
            // The first of its kind is sent.
            Sound::Sent(_) | Sound::Copied(..) if is_audio && !std::mem::replace(&mut has_taken, true) => {}
            Sound::LeftOut(why) if is_audio => note(&format!("left out: {track}: {why}")),
            _ => note(&format!("left out: {track}")),
        }
    }
}
