//! RTCP as it arrives: crate `rtc` ends it in its chain of interceptors, and hands on none that it cannot assign to a track.

use bytes::Bytes;
use rtc::interceptor::{Interceptor, Packet, StreamInfo, TaggedPacket};
use rtc::rtcp;
use rtc::sansio::Protocol;
use rtc::shared::error::Error;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Compound packets that may wait; more are dropped.
const MOST: usize = 256;

/// The compound packets that arrived and were authentic, for reading outside the peer connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox(Arc<Mutex<VecDeque<Bytes>>>);

/// Puts a copy of all RTCP into an [`Inbox`]; everything passes.
#[derive(Default)]
pub(super) struct InboxInterceptor {
    inbox: Inbox,
    reads: VecDeque<TaggedPacket>,
    writes: VecDeque<TaggedPacket>,
}

impl Inbox {
    /// The next compound packet.
    pub(super) fn take(&self) -> Option<Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn put(&self, packets: &[Box<dyn rtcp::Packet>]) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was parsed can be written.
        if waiting.len() < MOST
            && let Ok(compound) = rtcp::packet::marshal(packets)
        {
            waiting.push_back(compound.freeze());
        }
    }
}

impl InboxInterceptor {
    /// Next to the wire, where nothing was taken out yet.
    pub(super) const SLOT: usize = 1;

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
        if let Packet::Rtcp(packets) = &packet.message.packet {
            self.inbox.put(packets);
        }
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
