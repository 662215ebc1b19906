//! What packets carry inside the lab's simulator.

use bytes::Bytes;
use seaway_session::Message;
use seaway_sim::tcp::Segment;
use std::cell::RefCell;

/// The content of a packet: as small as can be, as it is copied from place to place; what it carries stays in its box.
/// Without a box it is a datagram without meaning.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cargo(Option<Box<Load>>);

/// What a packet carries.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Load {
    /// What one end of a TCP flow sends the other.
    Segment(Segment),
    /// What one endpoint of a media session sends the other.
    Message(Message),
    /// The same as octets.
    Octets(Bytes),
}

impl Load {
    /// The message, whatever stands in it; a new one where something else was carried.
    pub(crate) fn message_mut(&mut self) -> &mut Message {
        if !matches!(self, Self::Message(_)) {
            *self = Self::Message(Message::default());
        }
        match self {
            Self::Message(message) => message,
            _ => unreachable!("made above"),
        }
    }
}

impl Default for Load {
    fn default() -> Self {
        Self::Message(Message::default())
    }
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
    /// Loads the message that stands in `blank` and leaves another box for the next one.
    #[inline]
    pub(crate) fn load(self, blank: &mut Box<Load>) -> Cargo {
        match self {
            Self::Messages => Cargo(Some(std::mem::replace(blank, MESSAGES.with_borrow_mut(Spare::take)))),
            Self::Octets => {
                let message = blank.message_mut();
                let mut octets = Vec::with_capacity(message.wire_len());
                message.encode(&mut octets);
                Cargo::of_octets(Bytes::from(octets))
            }
        }
    }
}

/// Boxes of what arrived, for what leaves: in the steady state nothing is allocated for a packet.
#[derive(Debug)]
#[allow(clippy::vec_box)] // The boxes themselves are what is kept.
struct Spare(Vec<Box<Load>>);

impl Spare {
    /// Boxes that are kept at most.
    const MOST: usize = 4096;

    const fn new() -> Self {
        Self(Vec::new())
    }

    /// A box, whatever stands in it.
    fn take(&mut self) -> Box<Load> {
        self.0.pop().unwrap_or_default()
    }

    fn keep(&mut self, spare: Box<Load>) {
        if self.0.len() < Self::MOST {
            self.0.push(spare);
        }
    }
}

// Apart, as a message that is written over an older one is the cheaper for it.
thread_local! {
    static MESSAGES: RefCell<Spare> = const { RefCell::new(Spare::new()) };
    static SEGMENTS: RefCell<Spare> = const { RefCell::new(Spare::new()) };
}

impl Cargo {
    /// Without meaning.
    pub(crate) const FILLING: Self = Self(None);

    /// Loads a TCP segment.
    #[inline]
    pub(crate) fn of_segment(segment: Segment) -> Self {
        let mut spare = SEGMENTS.with_borrow_mut(Spare::take);
        *spare = Load::Segment(segment);
        Self(Some(spare))
    }

    /// Loads octets.
    pub(crate) fn of_octets(octets: Bytes) -> Self {
        Self(Some(Box::new(Load::Octets(octets))))
    }

    /// What is carried; `None` where that has no meaning.
    pub(crate) fn content(&self) -> Option<&Load> {
        self.0.as_deref()
    }

    /// Calls `with` on the TCP segment, where there is one. It is copied once: copies of copies wait for one another.
    #[inline]
    pub(crate) fn unload_segment(self, with: impl FnOnce(Segment)) {
        let Some(load) = self.0 else { return };
        if let Load::Segment(segment) = *load {
            with(segment);
            SEGMENTS.with_borrow_mut(|spare| spare.keep(load));
        }
    }

    /// Calls `with` on the message that was loaded, where there is one and the octets make one.
    #[inline]
    pub(crate) fn unload(self, with: impl FnOnce(&mut Message)) {
        let Some(mut load) = self.0 else { return };
        match &mut *load {
            Load::Segment(_) => {}
            Load::Message(message) => {
                with(message);
                MESSAGES.with_borrow_mut(|spare| spare.keep(load));
            }
            Load::Octets(octets) => {
                if let Ok(mut message) = Message::decode(octets) {
                    with(&mut message);
                }
            }
        }
    }
}
