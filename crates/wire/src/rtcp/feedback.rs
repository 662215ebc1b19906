//! The common part of feedback messages (RFC 4585 section 6.1): the SSRCs of the reporter and of the media.

use super::{Packet, emit_header};
use crate::Error;
use crate::bytes::{put_u32, u32_at};

/// Generic NACK (transport layer).
pub(super) const NACK: u8 = 1;
/// Congestion control feedback (transport layer).
pub(super) const CCFB: u8 = 11;
/// Transport-wide congestion control feedback (transport layer).
pub(super) const TWCC: u8 = 15;
/// Picture loss indication (payload specific).
pub(super) const PLI: u8 = 1;
/// Application layer feedback (payload specific).
pub(super) const APPLICATION: u8 = 15;

pub(super) mod field {
    pub(in crate::rtcp) const SENDER_SSRC: usize = 4;
    pub(in crate::rtcp) const MEDIA_SSRC: usize = 8;
    /// Feedback control information.
    pub(in crate::rtcp) const FCI: usize = 12;
}

/// What a feedback message is: transport layer or payload specific, its format, its name in errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) packet_type: u8,
    pub(super) format: u8,
    pub(super) name: &'static str,
}

impl Kind {
    /// The octets of a message of this kind that has at least `len` of them.
    pub(super) fn expect<'a>(&self, packet: Packet<'a>, len: usize) -> Result<&'a [u8], Error> {
        let bytes = packet.expect(self.packet_type, len, self.name)?;
        if packet.count() != self.format {
            let seen = packet.count().into();
            let expected = "the feedback message type of this report";
            return Err(Error::Invalid { field: self.name, offset: 0, seen, expected });
        }
        Ok(bytes)
    }

    /// Both SSRCs and the octets of a message with at least `fci` octets of control information.
    pub(super) fn parse<'a>(&self, packet: Packet<'a>, fci: usize) -> Result<(u32, u32, &'a [u8]), Error> {
        let bytes = self.expect(packet, field::FCI + fci)?;
        Ok((u32_at(bytes, field::SENDER_SSRC), u32_at(bytes, field::MEDIA_SSRC), bytes))
    }

    /// Writes header and SSRCs of a message of `len` octets and returns all of it.
    pub(super) fn emit<'b>(
        &self,
        buffer: &'b mut [u8],
        len: usize,
        sender_ssrc: u32,
        media_ssrc: u32,
    ) -> Result<&'b mut [u8], Error> {
        let buffer = emit_header(buffer, self.format, self.packet_type, len, self.name)?;
        put_u32(buffer, field::SENDER_SSRC, sender_ssrc);
        put_u32(buffer, field::MEDIA_SSRC, media_ssrc);
        Ok(buffer)
    }
}
