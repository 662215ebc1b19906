//! WebRTC: pictures and sound to browsers and other players, and a session's packets to a media server ([`Publisher`]) and from one
//! ([`Subscriber`]), which [`WhipClient`] asks.
//!
//! A [`Broadcast`] belongs to a tokio runtime and never blocks its publisher: a viewer that is too slow loses pictures
//! until the next key frame. A viewer takes a slot once its connection stands, so offers alone block no viewer.

mod answer;
mod codecs;
mod connection;
mod estimator;
mod filler;
mod gather;
mod ice_server;
mod inbox;
mod peer;
mod publisher;
mod reports;
mod slots;
mod sound_track;
mod stun;
mod subscriber;
mod track;
mod turn;
mod viewer;
mod whip;

use slots::Slots;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use track::Track;

use bytes::Bytes;
use seaway_control::ControlSpec;
use seaway_units::TimeDelta;
use tokio::sync::mpsc;

pub use connection::{ServerEnd, ServerState};
pub use estimator::{Estimate, Estimator, EstimatorError, Rates};
pub use ice_server::IceServer;
pub use publisher::{Accepted, Publisher, SoundNumbers, StreamNumbers};
pub use slots::SlotId;
pub use stun::{StunServer, reflexive_address, with_reflexive_candidate};
pub use subscriber::Subscriber;
pub use turn::TurnFailure;
pub use whip::{ServerProtocol, ServerSession, ServerUrl, WhipClient, WhipError, WhipResource};

/// A coded picture in Annex B form.
#[derive(Debug, Clone)]
pub struct AccessUnit {
    /// Start codes and NAL units.
    pub data: Bytes,
    /// When the picture is due, since the beginning of the track.
    pub at: TimeDelta,
    /// True where decoding can begin with it.
    pub is_key: bool,
}

/// Why a browser could not be served.
#[derive(Debug)]
pub enum Error {
    /// The largest number of viewers is reached.
    Full {
        /// That number.
        limit: usize,
    },
    /// The offer cannot be answered.
    Offer(String),
    /// The system grants no socket.
    Socket(std::io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { limit } => write!(f, "{limit} viewers are connected, the largest number"),
            Self::Offer(problem) => write!(f, "the offer cannot be answered: {problem}"),
            Self::Socket(error) => write!(f, "no socket for the viewer: {error}"),
        }
    }
}

impl std::error::Error for Error {}

/// H.264 tracks, a track of sound, and their viewers.
#[derive(Debug, Clone)]
pub struct Broadcast {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    tracks: Vec<&'static str>,
    /// The controller that estimates the path to each viewer, and its range.
    control: Option<(ControlSpec, Rates)>,
    /// What knows the address by which the open network sees us.
    stun: Option<StunServer>,
    slots: Mutex<Slots>,
    wants_key_frame: AtomicBool,
}

/// A picture and its number in its track; a gap in the numbers is a lost picture.
#[derive(Debug, Clone)]
struct Numbered {
    track: usize,
    number: u64,
    unit: AccessUnit,
}

impl Broadcast {
    /// The largest number of viewers at once.
    pub const VIEWERS: usize = 8;
    /// Offers that may wait for their connection at once; the oldest gives way to a new one.
    pub const OFFERS: usize = 16;
    /// Pictures and packets of sound queued for one viewer, all tracks together.
    const BACKLOG: usize = 96;

    /// A broadcast with one track per name; a browser must offer them in this order.
    pub fn new(tracks: Vec<&'static str>) -> Self {
        Self::with(tracks, None, None)
    }

    /// The same behind NAT: answers have the address of each viewer's socket that `stun` sees, too.
    pub fn behind(tracks: Vec<&'static str>, stun: Option<StunServer>) -> Self {
        Self::with(tracks, None, stun)
    }

    /// The same where a controller estimates the path to each viewer, by transport-wide feedback.
    ///
    /// # Errors
    /// No such controller, or one that does not fit a browser.
    pub fn controlled(
        tracks: Vec<&'static str>,
        control: ControlSpec,
        rates: Rates,
    ) -> Result<Self, EstimatorError> {
        Estimator::new(viewer::clock(), &control, rates)?;
        Ok(Self::with(tracks, Some((control, rates)), None))
    }

    fn with(
        tracks: Vec<&'static str>,
        control: Option<(ControlSpec, Rates)>,
        stun: Option<StunServer>,
    ) -> Self {
        let slots = Mutex::new(Slots::new(tracks.len()));
        let wants_key_frame = AtomicBool::new(false);
        Self { shared: Arc::new(Shared { tracks, control, stun, slots, wants_key_frame }) }
    }

    /// Sends a picture to every viewer of a track.
    pub fn publish(&self, track: usize, unit: &AccessUnit) {
        self.shared.slots().publish(track, unit);
    }

    /// Sends an Opus packet to every viewer that takes sound; it is due `at` this time since the beginning of the track.
    pub fn publish_sound(&self, at: TimeDelta, packet: Bytes) {
        self.shared.slots().publish_sound(at, packet);
    }

    /// Whether a viewer needs a key frame. Reading it clears the request.
    pub fn take_key_frame_request(&self) -> bool {
        self.shared.wants_key_frame.swap(false, Ordering::Relaxed)
    }

    /// The number of viewers whose connection stands.
    pub fn viewers(&self) -> usize {
        self.shared.slots().viewers()
    }

    /// The estimates for the viewers, where the broadcast is [controlled](Self::controlled).
    pub fn estimates(&self) -> Vec<Arc<Estimate>> {
        self.shared.slots().estimates()
    }

    /// Answers a player's offer (SDP, all its candidates inside) and serves it from `local` until it leaves. An offer that
    /// does not lead to a connection within five seconds is forgotten.
    ///
    /// # Errors
    /// Too many viewers, an offer without our tracks, or no socket.
    pub async fn answer(&self, local: IpAddr, offer: String) -> Result<(String, SlotId), Error> {
        let (sender, queue) = mpsc::channel(Self::BACKLOG);
        let slot = self.shared.slots().reserve(sender)?;
        match viewer::Viewer::accept(self.shared.clone(), slot, local, offer, queue).await {
            Ok((viewer, answer, estimate)) => {
                self.shared.slots().set_estimate(slot, estimate);
                tokio::spawn(viewer.run());
                Ok((answer, slot))
            }
            Err(error) => {
                self.shared.slots().release(slot);
                Err(error)
            }
        }
    }
}

impl Broadcast {
    /// Ends the session of a viewer. False where it has left already.
    pub fn release(&self, slot: SlotId) -> bool {
        self.shared.slots().release(slot)
    }
}

impl Shared {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        // Channels and counters are consistent at any time, so a panic while it was locked does no harm.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request_key_frame(&self) {
        self.wants_key_frame.store(true, Ordering::Relaxed);
    }
}
