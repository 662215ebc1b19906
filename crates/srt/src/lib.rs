//! SRT (Secure Reliable Transport) in live mode, without clock or socket.
//!
//! [`Endpoint`] is one end: a caller or a listener that sends or receives one stream, as libsrt 1.5 does by
//! draft-sharabayko-srt-01: the handshake of version 5 with cookie, stream id and keys; loss reports and retransmission; delivery
//! when a packet is due, and too-late drop; AES in counter mode with keys that are replaced while the stream runs. Rendezvous, groups,
//! packet filters (FEC), the mode for files and authenticated encryption are left out.
//!
//! ```
//! use seaway_srt::{Direction, Endpoint, Settings};
//! use seaway_units::{TimeDelta, Timestamp};
//!
//! let (here, there) = ("192.0.2.1:5000".parse()?, "192.0.2.2:9000".parse()?);
//! let mut now = Timestamp::ZERO;
//! // The seeds are random and secret.
//! let mut caller = Endpoint::caller(now, Settings::new(Direction::Send), &[1; 32], there);
//! let mut listener = Endpoint::listener(now, Settings::new(Direction::Receive), &[2; 32]);
//! let mut received = Vec::new();
//! for step in 0..30 {
//!     if step == 10 {
//!         caller.push(now, &[0x47; 1316])?;
//!     }
//!     while let Some(transmit) = caller.poll_datagram() {
//!         listener.on_datagram(now, here, &transmit.datagram);
//!     }
//!     while let Some(transmit) = listener.poll_datagram() {
//!         caller.on_datagram(now, there, &transmit.datagram);
//!     }
//!     now += TimeDelta::from_millis(10);
//!     caller.handle_timeout(now);
//!     listener.handle_timeout(now);
//!     received.extend(listener.poll_delivery(now));
//! }
//! // It was delivered 120 ms, the latency, after it came; the datagrams of the handshake were 10 ms under way.
//! assert_eq!(received[0].payload, [0x47; 1316]);
//! assert_eq!(received[0].at, Timestamp::ZERO + TimeDelta::from_millis(100 + 10 + 120));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything that arrives is hostile: it is checked, bounded and counted. A listener answers no more octets than it gets, and keeps nothing,
//! before a caller shows its cookie. SRT itself does not authenticate packets: who can see and forge the packets of a connection
//! can disturb it, with or without a passphrase.

mod bytes;
mod caller;
mod cipher;
mod connection;
mod crypto;
mod endpoint;
mod error;
mod event;
mod handshake;
mod key_material;
mod listener;
mod packet;
mod playout;
mod random;
mod receive;
mod refusal;
mod rtt;
mod send;
mod sequence;
mod settings;
mod statistics;

pub use endpoint::{Endpoint, Transmit};
pub use error::Error;
pub use event::{Disconnection, Event};
pub use handshake::{HANDSHAKE_LEN, Handshake, MAGIC, Session, Step};
pub use key_material::KeyMaterial;
pub use packet::{
    Acknowledgement, Content, Control, Data, FullAcknowledgement, HEADER_LEN, KeyFlag, LossList, MAX_PAYLOAD,
    Packet,
};
pub use receive::Delivery;
pub use refusal::Refusal;
pub use sequence::Sequence;
pub use settings::{Direction, KeyLength, Passphrase, Settings};
pub use statistics::{Counts, Statistics};
