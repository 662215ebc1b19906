//! The payload of packets inside the lab's simulator.

use bytes::Bytes;
use seaway_session::Message;
use seaway_sim::tcp::Segment;
use std::cell::RefCell;

/// A packet's payload. Packets are moved often, so the content is boxed. Without a box the payload is padding: only its
/// size matters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Payload(Option<Box<Content>>);

/// The content of a payload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// A segment or an acknowledgement of a TCP flow.
    Segment(Segment),
    /// A message between the endpoints of a media session.
    Message(Message),
    /// A message in its wire format.
    Bytes(Bytes),
}

impl Content {
    /// The message in this box, which may be an old one; a new one where the box holds something else.
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

impl Default for Content {
    fn default() -> Self {
        Self::Message(Message::default())
    }
}

/// How the messages of a media session are carried. The results do not depend on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encoding {
    /// As structs, which is faster.
    #[default]
    Structs,
    /// In the wire format: the sender encodes a message, the receiver decodes it.
    Wire,
}

impl Encoding {
    /// Makes a payload of the message in `scratch` and puts another box in its place.
    #[inline]
    pub(crate) fn encode(self, scratch: &mut Box<Content>) -> Payload {
        match self {
            Self::Structs => Payload(Some(std::mem::replace(scratch, MESSAGES.with_borrow_mut(Pool::take)))),
            Self::Wire => {
                let message = scratch.message_mut();
                let mut octets = Vec::with_capacity(message.wire_len());
                message.encode(&mut octets);
                Payload::of_bytes(Bytes::from(octets))
            }
        }
    }
}

/// Boxes of packets that arrived, for packets that leave: in the steady state nothing is allocated for a packet.
#[derive(Debug)]
#[allow(clippy::vec_box)] // The boxes themselves are kept.
struct Pool(Vec<Box<Content>>);

impl Pool {
    /// The most boxes it keeps.
    const MOST: usize = 4096;

    const fn new() -> Self {
        Self(Vec::new())
    }

    /// A box with its old content.
    fn take(&mut self) -> Box<Content> {
        self.0.pop().unwrap_or_default()
    }

    fn keep(&mut self, content: Box<Content>) {
        if self.0.len() < Self::MOST {
            self.0.push(content);
        }
    }
}

// Two pools: writing a message over an older message reuses its buffers.
thread_local! {
    static MESSAGES: RefCell<Pool> = const { RefCell::new(Pool::new()) };
    static SEGMENTS: RefCell<Pool> = const { RefCell::new(Pool::new()) };
}

impl Payload {
    /// No content.
    pub(crate) const PADDING: Self = Self(None);

    /// Carries a TCP segment.
    #[inline]
    pub(crate) fn of_segment(segment: Segment) -> Self {
        let mut content = SEGMENTS.with_borrow_mut(Pool::take);
        *content = Content::Segment(segment);
        Self(Some(content))
    }

    /// Carries octets.
    pub(crate) fn of_bytes(octets: Bytes) -> Self {
        Self(Some(Box::new(Content::Bytes(octets))))
    }

    /// The content; `None` for padding.
    pub(crate) fn content(&self) -> Option<&Content> {
        self.0.as_deref()
    }

    /// Calls `with` on the TCP segment, if there is one.
    #[inline]
    pub(crate) fn take_segment(self, with: impl FnOnce(&Segment)) {
        let Some(content) = self.0 else { return };
        if let Content::Segment(segment) = &*content {
            with(segment);
            SEGMENTS.with_borrow_mut(|pool| pool.keep(content));
        }
    }

    /// Calls `with` on the message, if there is one that can be decoded.
    #[inline]
    pub(crate) fn take_message(self, with: impl FnOnce(&mut Message)) {
        let Some(mut content) = self.0 else { return };
        match &mut *content {
            Content::Segment(_) => {}
            Content::Message(message) => {
                with(message);
                MESSAGES.with_borrow_mut(|pool| pool.keep(content));
            }
            Content::Bytes(octets) => {
                if let Ok(mut message) = Message::decode(octets) {
                    with(&mut message);
                }
            }
        }
    }
}
