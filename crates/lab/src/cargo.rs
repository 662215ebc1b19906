//! What packets carry inside the lab's simulator.

use bytes::Bytes;
use seaway_session::Message;
use seaway_sim::tcp::Segment;
use std::cell::RefCell;

/// The content of a packet: small, as it is copied from place to place; what it carries stays in its box.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cargo {
    /// A datagram without meaning.
    Filling,
    /// What one end of a TCP flow sends the other.
    Segment(Box<Option<Segment>>),
    /// What one endpoint of a media session sends the other.
    Message(Box<Message>),
    /// The same as octets.
    Octets(Box<Bytes>),
}

/// How messages travel. The results are the same; a test holds them to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Carriage {
    /// As they are, which is faster.
    #[default]
    Messages,
    /// Encoded by the one end and decoded by the other, as a socket would carry them.
    Octets,
}

impl Carriage {
    /// Loads what stands in `message` and leaves another box for the next one.
    pub(crate) fn load(self, message: &mut Box<Message>) -> Cargo {
        match self {
            Self::Messages => {
                Cargo::Message(std::mem::replace(message, MESSAGES.with_borrow_mut(Spare::take)))
            }
            Self::Octets => {
                let mut octets = Vec::with_capacity(message.wire_len());
                message.encode(&mut octets);
                Cargo::Octets(Box::new(Bytes::from(octets)))
            }
        }
    }
}

/// Boxes of what arrived, for what leaves: in the steady state nothing is allocated for a packet.
#[derive(Debug)]
struct Spare<T>(Vec<Box<T>>);

impl<T: Default> Spare<T> {
    /// Boxes that are kept at most.
    const MOST: usize = 4096;

    const fn new() -> Self {
        Self(Vec::new())
    }

    /// A box, whatever stands in it.
    fn take(&mut self) -> Box<T> {
        self.0.pop().unwrap_or_default()
    }

    fn keep(&mut self, spare: Box<T>) {
        if self.0.len() < Self::MOST {
            self.0.push(spare);
        }
    }
}

thread_local! {
    static MESSAGES: RefCell<Spare<Message>> = const { RefCell::new(Spare::new()) };
    static SEGMENTS: RefCell<Spare<Option<Segment>>> = const { RefCell::new(Spare::new()) };
}

impl Cargo {
    /// Loads a TCP segment.
    pub(crate) fn of_segment(segment: Segment) -> Self {
        let mut spare = SEGMENTS.with_borrow_mut(Spare::take);
        *spare = Some(segment);
        Self::Segment(spare)
    }

    /// The TCP segment; `None` where there is none.
    pub(crate) fn segment(self) -> Option<Segment> {
        let Self::Segment(segment) = self else { return None };
        let content = *segment;
        SEGMENTS.with_borrow_mut(|spare| spare.keep(segment));
        content
    }

    /// Calls `with` on the message that was loaded, where there is one and the octets make one.
    pub(crate) fn unload(self, with: impl FnOnce(&mut Message)) {
        match self {
            Self::Filling | Self::Segment(_) => {}
            Self::Message(mut message) => {
                with(&mut message);
                MESSAGES.with_borrow_mut(|spare| spare.keep(message));
            }
            Self::Octets(octets) => {
                if let Ok(mut message) = Message::decode(&octets) {
                    with(&mut message);
                }
            }
        }
    }
}
