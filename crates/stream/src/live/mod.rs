//! Sender and receiver on sockets, with their threads.
//!
//! The media thread ([`Runtime`]) drives the sockets and nothing else. A sender's capture thread runs the source and the
//! encoder, a receiver's playback thread the decoder and the sinks. The application's thread holds [`Sender`] and
//! [`Receiver`], which keep the state and hand out events.

#[cfg(test)]
mod attacks;
mod browser;
mod capture;
mod channel;
mod copied;
mod copied_opus;
mod copied_sound;
mod cue;
mod event;
mod external;
mod feed;
mod identity;
mod input;
mod lane_addresses;
mod live_sound;
mod machine;
mod multiplexed;
mod mux;
mod plain_reception;
mod playback;
mod playout;
mod programme;
mod programme_playout;
mod read_ahead;
mod receiver;
mod receiver_machine;
mod repair;
mod runtime;
mod sender;
mod sender_machine;
mod server;
mod sound;
mod sound_loss;
mod stamped;
mod state;
mod supply;
mod transcoded;
mod turns;
mod window;

pub use browser::BrowserTrack;
pub use event::{ReceiveEvent, SendEvent};
pub use identity::fresh_key;
pub use input::FrameInput;
pub use machine::RejectCounters;
pub use multiplexed::Carrier;
pub use playout::PlayoutMode;
pub use receiver::{Receiver, ReceiverBuilder};
pub use receiver_machine::ReceiverSnapshot;
pub use repair::Repair;
pub use runtime::{RunningRuntime, Runtime};
pub use seaway_protect::{MasterKey, SrtpKeys};
pub use sender::{Sender, SenderBuilder};
pub use sender_machine::SenderSnapshot;
pub use server::MediaServer;
pub use state::{LaneStatus, ReceiverState, Samples, SenderState};
pub use supply::{Shortage, Supply};
