//! The keys of a connection: agreed on in the handshake, replaced while it runs (draft-sharabayko-srt-01, section 6.1.6).

use crate::cipher::{Key, KeyRing, WrappingKey};
use crate::key_material::{KeyMaterial, status};
use crate::random::Random;
use crate::settings::{KeyLength, Passphrase, Settings};
use crate::{KeyFlag, Refusal, Sequence};
use seaway_units::{TimeDelta, Timestamp};

/// The next key is announced so many packets before its first one, as in libsrt.
const ANNOUNCED_BEFORE: u64 = 1 << 12;
/// From one announcement to the next, at least.
const ANNOUNCEMENT_INTERVAL: TimeDelta = TimeDelta::from_millis(100);
/// A wrapping key takes a millisecond to compute: a peer gets one each second.
const DERIVATION_INTERVAL: TimeDelta = TimeDelta::from_secs(1);

/// The keys of a connection.
#[derive(Debug)]
pub(crate) struct Crypto {
    passphrase: Passphrase,
    wrapping: WrappingKey,
    derived_at: Timestamp,
    keys: KeyRing,
    /// The key of what is sent, ...
    current: KeyFlag,
    /// ... and of what came last: a request that is sent again by another can not replace it.
    received: KeyFlag,
    /// Packets under it, and how many there are at most.
    used: u64,
    limit: u64,
    next: Option<NextKey>,
    random: Random,
}

#[derive(Debug)]
struct NextKey {
    material: Vec<u8>,
    announce_at: Timestamp,
    is_confirmed: bool,
}

impl Crypto {
    /// A caller chooses the key.
    pub(crate) fn initiate(
        now: Timestamp,
        passphrase: &Passphrase,
        length: KeyLength,
        settings: &Settings,
        mut random: Random,
    ) -> Self {
        let (octets, salt) = (random.octets(), random.octets());
        let mut keys = KeyRing::default();
        keys.set(KeyFlag::Even, Key::new(length, octets, salt));
        Self {
            passphrase: passphrase.clone(),
            wrapping: WrappingKey::derive(passphrase, length, salt),
            derived_at: now,
            keys,
            current: KeyFlag::Even,
            received: KeyFlag::Plain,
            used: 0,
            limit: settings.key_packets,
            next: None,
            random,
        }
    }

    /// A listener takes the caller's key.
    pub(crate) fn respond(
        now: Timestamp,
        passphrase: &Passphrase,
        material: &[u8],
        settings: &Settings,
        random: Random,
    ) -> Result<Self, Refusal> {
        let material = KeyMaterial::parse(material).map_err(|_| Refusal::ROGUE)?;
        let wrapping = WrappingKey::derive(passphrase, material.length, material.salt);
        let unwrapped = material.unwrap(&wrapping).ok_or(Refusal::BAD_SECRET)?;
        let mut keys = KeyRing::default();
        let mut current = KeyFlag::Even;
        for (flag, key) in unwrapped {
            keys.set(flag, key);
            current = flag;
        }
        Ok(Self {
            passphrase: passphrase.clone(),
            wrapping,
            derived_at: now,
            keys,
            current,
            received: KeyFlag::Plain,
            used: 0,
            limit: settings.key_packets,
            next: None,
            random,
        })
    }

    /// The key in use, wrapped, for a handshake.
    pub(crate) fn material(&self) -> Option<Vec<u8>> {
        let key = self.keys.get(self.current)?;
        Some(KeyMaterial::wrap(&self.wrapping, &[(self.current, key)])?.emit())
    }

    /// Encrypts what is sent; returns its key.
    pub(crate) fn encrypt(&mut self, now: Timestamp, sequence: Sequence, payload: &mut [u8]) -> KeyFlag {
        self.used += 1;
        if self.used + ANNOUNCED_BEFORE.min(self.limit / 4) >= self.limit && self.next.is_none() {
            self.next = self.make_next(now);
        }
        if self.used >= self.limit && self.next.as_ref().is_some_and(|next| next.is_confirmed) {
            (self.current, self.used, self.next) = (other(self.current), 0, None);
        }
        if let Some(key) = self.keys.get(self.current) {
            key.apply(sequence, payload);
        }
        self.current
    }

    fn make_next(&mut self, now: Timestamp) -> Option<NextKey> {
        let (flag, present) = (other(self.current), self.keys.get(self.current)?.clone());
        let length = KeyLength::from_octets(present.octets().len())?;
        let key = Key::new(length, self.random.octets(), present.salt());
        let mut both = [(self.current, &present), (flag, &key)];
        both.sort_by_key(|(flag, _)| *flag == KeyFlag::Odd);
        let material = KeyMaterial::wrap(&self.wrapping, &both)?.emit();
        self.keys.set(flag, key);
        Some(NextKey { material, announce_at: now, is_confirmed: false })
    }

    /// When the next key is announced again.
    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        self.next.as_ref().filter(|next| !next.is_confirmed).map(|next| next.announce_at)
    }

    /// The next key, wrapped, until the peer has it.
    pub(crate) fn poll_announcement(&mut self, now: Timestamp, rtt: TimeDelta) -> Option<Vec<u8>> {
        let next = self.next.as_mut().filter(|next| !next.is_confirmed && next.announce_at <= now)?;
        next.announce_at = now + (rtt * 2).max(ANNOUNCEMENT_INTERVAL);
        Some(next.material.clone())
    }

    /// The peer has the keys: it sends them back.
    pub(crate) fn on_response(&mut self, material: &[u8]) {
        if let Some(next) = &mut self.next {
            next.is_confirmed |= status(material).is_none() && next.material == material;
        }
    }

    /// The peer announces its next key; true where it can be used.
    pub(crate) fn on_request(&mut self, now: Timestamp, material: &[u8]) -> bool {
        let Ok(material) = KeyMaterial::parse(material) else { return false };
        if !self.wrapping.is_for(material.length, material.salt) {
            if now.since(self.derived_at) < DERIVATION_INTERVAL {
                return false;
            }
            self.derived_at = now;
            let wrapping = WrappingKey::derive(&self.passphrase, material.length, material.salt);
            if material.unwrap(&wrapping).is_none() {
                return false;
            }
            self.wrapping = wrapping;
        }
        let Some(keys) = material.unwrap(&self.wrapping) else { return false };
        for (flag, key) in keys.into_iter().filter(|(flag, _)| *flag != self.received) {
            self.keys.set(flag, key);
        }
        true
    }

    /// Decrypts what is received; false where there is no such key.
    pub(crate) fn decrypt(&mut self, flag: KeyFlag, sequence: Sequence, payload: &mut [u8]) -> bool {
        let Some(key) = self.keys.get(flag) else { return false };
        key.apply(sequence, payload);
        self.received = flag;
        true
    }
}

fn other(flag: KeyFlag) -> KeyFlag {
    match flag {
        KeyFlag::Even => KeyFlag::Odd,
        KeyFlag::Odd | KeyFlag::Plain => KeyFlag::Even,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    fn at(ms: i64) -> Timestamp {
        Timestamp::ZERO + TimeDelta::from_millis(ms)
    }

    fn settings() -> Settings {
        Settings { key_packets: 100, ..Settings::new(Direction::Send) }
    }

    fn pair(length: KeyLength) -> (Crypto, Crypto) {
        let passphrase = Passphrase::new("correct horse").unwrap();
        let caller = Crypto::initiate(at(0), &passphrase, length, &settings(), Random::new(&[1; 32]));
        let material = caller.material().unwrap();
        let random = Random::new(&[2; 32]);
        let listener = Crypto::respond(at(0), &passphrase, &material, &settings(), random).unwrap();
        (caller, listener)
    }

    #[test]
    fn keys_are_replaced_while_the_stream_runs() {
        for length in [KeyLength::Aes128, KeyLength::Aes192, KeyLength::Aes256] {
            let (mut sender, mut receiver) = pair(length);
            let mut flags = Vec::new();
            for n in 0..350 {
                let sequence = Sequence::new(n);
                let mut payload = [5; 100];
                let flag = sender.encrypt(at(n.into()), sequence, &mut payload);
                assert_ne!(payload, [5; 100]);
                if let Some(material) = sender.poll_announcement(at(n.into()), TimeDelta::ZERO) {
                    assert!(receiver.on_request(at(n.into()), &material));
                    sender.on_response(&material);
                }
                assert!(receiver.decrypt(flag, sequence, &mut payload));
                assert_eq!(payload, [5; 100]);
                flags.push(flag);
            }
            flags.dedup();
            assert_eq!(flags, [KeyFlag::Even, KeyFlag::Odd, KeyFlag::Even, KeyFlag::Odd]);
        }
    }

    #[test]
    fn a_key_that_is_not_confirmed_is_not_used() {
        let (mut sender, _) = pair(KeyLength::Aes128);
        for n in 0..350 {
            let flag = sender.encrypt(at(n.into()), Sequence::new(n), &mut [0; 8]);
            assert_eq!(flag, KeyFlag::Even);
        }
        assert!(sender.poll_announcement(at(350), TimeDelta::ZERO).is_some());
        sender.on_response(&4_u32.to_be_bytes());
        assert!(sender.poll_announcement(at(450), TimeDelta::ZERO).is_some());
    }

    #[test]
    fn another_passphrase_is_refused() {
        let (caller, mut listener) = pair(KeyLength::Aes128);
        let passphrase = Passphrase::new("another passphrase").unwrap();
        let respond = |material: &[u8]| {
            let random = Random::new(&[2; 32]);
            Crypto::respond(at(0), &passphrase, material, &settings(), random).unwrap_err()
        };
        assert_eq!(respond(&caller.material().unwrap()), Refusal::BAD_SECRET);
        assert_eq!(respond(&[]), Refusal::ROGUE);
        // A request that costs a derivation is looked at once a second.
        let settings = settings();
        let random = Random::new(&[7; 32]);
        let other = Crypto::initiate(at(0), &passphrase, KeyLength::Aes256, &settings, random);
        let passphrase = Passphrase::new("correct horse").unwrap();
        let random = Random::new(&[8; 32]);
        let true_one = Crypto::initiate(at(0), &passphrase, KeyLength::Aes256, &settings, random);
        assert!(!listener.on_request(at(1000), &other.material().unwrap()));
        assert!(!listener.on_request(at(1999), &true_one.material().unwrap()));
        assert!(listener.on_request(at(2000), &true_one.material().unwrap()));
    }
}
