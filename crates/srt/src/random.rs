//! Random numbers from a seed.

use ring::hmac;

/// HMAC-SHA256 of a counter, under the seed. Who does not know the seed can not predict it.
#[derive(Debug)]
pub(crate) struct Random {
    key: hmac::Key,
    counter: u64,
}

impl Random {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, seed), counter: 0 }
    }

    pub(crate) fn octets<const N: usize>(&mut self) -> [u8; N] {
        let mut octets = [0; N];
        for chunk in octets.chunks_mut(32) {
            self.counter += 1;
            let tag = hmac::sign(&self.key, &self.counter.to_be_bytes());
            chunk.copy_from_slice(&tag.as_ref()[..chunk.len()]);
        }
        octets
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.octets())
    }

    /// A number of a socket: 30 bits, not 0.
    pub(crate) fn socket(&mut self) -> u32 {
        (self.u32() & 0x3fff_ffff).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence() {
        let mut one = Random::new(&[1; 32]);
        let first: [u8; 40] = one.octets();
        assert_eq!(Random::new(&[1; 32]).octets::<40>(), first);
        assert_ne!(Random::new(&[2; 32]).octets::<40>(), first);
        assert_ne!(one.octets::<40>(), first);
        assert_ne!(first[..8], first[32..]);
    }
}
