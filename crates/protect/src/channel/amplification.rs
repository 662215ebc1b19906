//! The limit of RFC 9000 section 8.1: an address may be that of a victim, whose source address an attacker forges.

/// Octets to an address stay within three times those that came from it.
#[derive(Debug, Clone, Copy, Default)]
pub struct AmplificationLimit {
    received: u64,
    sent: u64,
}

impl AmplificationLimit {
    const FACTOR: u64 = 3;

    /// So many octets of UDP payload came.
    pub const fn on_received(&mut self, len: usize) {
        self.received = self.received.saturating_add(len as u64);
    }

    /// Whether so many octets may leave; then they count as sent.
    pub const fn allows(&mut self, len: usize) -> bool {
        let sent = self.sent.saturating_add(len as u64);
        let is_allowed = sent <= self.received.saturating_mul(Self::FACTOR);
        if is_allowed {
            self.sent = sent;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_times_what_came() {
        let mut limit = AmplificationLimit::default();
        assert!(!limit.allows(1));
        limit.on_received(100);
        assert!(limit.allows(200) && !limit.allows(101) && limit.allows(100) && !limit.allows(1));
        limit.on_received(1);
        assert!(limit.allows(3) && !limit.allows(1));
    }
}
