//! Packets as they arrive: crate `rtc` ends RTCP in its chain of interceptors, and hands on nothing that it cannot assign to a track.

use bytes::{Bytes, BytesMut};
use rtc::interceptor::{Interceptor, Packet, StreamInfo, TaggedPacket};
use rtc::rtcp;
use rtc::sansio::Protocol;
use rtc::shared::error::Error;
use rtc::shared::marshal::Marshal;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Packets that may wait; more are dropped.
const MOST: usize = 256;

/// The RTP packets and compound RTCP packets that arrived and were authentic, for reading outside the peer connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox(Arc<Mutex<VecDeque<Bytes>>>);

/// Puts a copy of all RTCP into an [`Inbox`], or of all packets; everything passes.
#[derive(Default)]
pub(super) struct InboxInterceptor {
    inbox: Inbox,
    keeps_media: bool,
    reads: VecDeque<TaggedPacket>,
    writes: VecDeque<TaggedPacket>,
}

impl Inbox {
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The next packet.
    pub(super) fn take(&self) -> Option<Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn put(&self, packet: Bytes) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST {
            waiting.push_back(packet);
        }
    }
}

impl InboxInterceptor {
    /// Next to the wire, where nothing was taken out yet.
    pub(super) const SLOT: usize = 1;

    /// Media is kept too.
    pub(super) fn of_all() -> Self {
        Self { keeps_media: true, ..Self::default() }
    }

    pub(super) fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }
}

impl Protocol<TaggedPacket, TaggedPacket, ()> for InboxInterceptor {
    type Rout = TaggedPacket;
    type Wout = TaggedPacket;
    type Eout = ();
    type Error = Error;
    type Time = Instant;

    fn handle_read(&mut self, packet: TaggedPacket) -> Result<(), Error> {
        // What was parsed can be written.
        let octets = match &packet.message.packet {
            Packet::Rtcp(packets) => rtcp::packet::marshal(packets).ok().map(BytesMut::freeze),
            Packet::Rtp(packet) if self.keeps_media => packet.marshal().ok().map(BytesMut::freeze),
            _ => None,
        };
        octets.into_iter().for_each(|octets| self.inbox.put(octets));
        self.reads.push_back(packet);
        Ok(())
    }

    fn poll_read(&mut self) -> Option<TaggedPacket> {
        self.reads.pop_front()
    }

    fn handle_write(&mut self, packet: TaggedPacket) -> Result<(), Error> {
        self.writes.push_back(packet);
        Ok(())
    }

    fn poll_write(&mut self) -> Option<TaggedPacket> {
        self.writes.pop_front()
    }
}

impl Interceptor for InboxInterceptor {
    fn bind_local_stream(&mut self, _info: &StreamInfo) {}
    fn unbind_local_stream(&mut self, _info: &StreamInfo) {}
    fn bind_remote_stream(&mut self, _info: &StreamInfo) {}
    fn unbind_remote_stream(&mut self, _info: &StreamInfo) {}
}
