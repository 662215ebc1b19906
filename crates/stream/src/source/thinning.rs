//! Chooses the coded pictures to send where the network carries less than their rate.

use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// What is to be known of a coded picture.
#[derive(Debug, Clone, Copy)]
pub struct Thinnable {
    /// Its octets.
    pub size: DataSize,
    /// No picture before it is needed.
    pub is_key: bool,
    /// Others may need it.
    pub is_reference: bool,
    /// Its temporal layer: no picture needs one of a higher layer.
    pub layer: u8,
}

/// Coded pictures that were left out, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Thinned {
    /// No other picture needed them.
    pub non_reference: u64,
    /// They were of a temporal layer that was left out until the next key frame.
    pub layers: u64,
    /// They, or one that they need, did not fit: the picture stands until the next key frame.
    pub until_key: u64,
}

impl Thinned {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.non_reference + self.layers + self.until_key
    }
}

/// Leaves whole pictures out, so that the others are sent in time at a rate that may change: first those that no other
/// needs, then temporal layers from the highest down, then all until the next key frame.
///
/// A picture's delay is what a queue that is emptied at the rate would have in front of its end. Each kind has a bound for it.
#[derive(Debug, Clone)]
pub struct Thinning {
    latency: TimeDelta,
    backlog: f64,
    /// The rate that the queue is emptied at. It falls slowly: after a large picture less is allowed for a moment.
    rate: Bitrate,
    last: Option<Timestamp>,
    /// The lowest temporal layer that is left out until the next key frame.
    without_layer: Option<u8>,
    /// A picture that others need was left out.
    needs_key: bool,
    thinned: Thinned,
}

impl Thinning {
    /// Of the latency, the bounds of pictures that no other needs, of temporal layers, and of the others.
    const BOUNDS: [f64; 3] = [0.3, 0.6, 1.0];

    /// The time in which a lower rate comes into force, in seconds; a full send queue is heeded at once.
    const FALL: f64 = 1.0;

    /// Pictures leave at most about `latency` late.
    pub fn new(latency: TimeDelta) -> Self {
        Self {
            latency,
            backlog: 0.0,
            rate: Bitrate::ZERO,
            last: None,
            without_layer: None,
            needs_key: true,
            thinned: Thinned::default(),
        }
    }

    /// What was left out so far.
    pub const fn thinned(&self) -> Thinned {
        self.thinned
    }

    /// The send queue is full, whatever the rate promises: nothing that can be spared is to be added.
    pub fn on_full_queue(&mut self, rate: Bitrate) {
        self.backlog = self.backlog.max(self.bound(rate, Self::BOUNDS[1]));
    }

    /// Whether the next picture in decoding order leaves at `now`, where `rate` coded octets may.
    pub fn admits(&mut self, now: Timestamp, picture: &Thinnable, rate: Bitrate) -> bool {
        let passed = self.last.map_or(0.0, |last| now.since(last).as_secs_f64().max(0.0));
        self.last = Some(now);
        let fall = (passed / Self::FALL).min(1.0);
        let fallen = self.rate.as_bps_f64() * (1.0 - fall) + rate.as_bps_f64() * fall;
        let rate = rate.max(Bitrate::from_bps_f64(fallen));
        self.rate = rate;
        self.backlog = (self.backlog - rate.as_bps_f64() / 8.0 * passed).max(0.0);
        let is_admitted = self.judge(picture, rate);
        if is_admitted {
            self.backlog += picture.size.as_bytes_f64();
        }
        is_admitted
    }

    fn judge(&mut self, picture: &Thinnable, rate: Bitrate) -> bool {
        let [spare, layers, all] = Self::BOUNDS.map(|part| self.bound(rate, part));
        let after = self.backlog + picture.size.as_bytes_f64();
        if picture.is_key {
            // It may be large, but what waits already must not make it late.
            let is_admitted = self.backlog <= layers;
            self.needs_key = !is_admitted;
            self.without_layer = None;
            self.thinned.until_key += u64::from(!is_admitted);
            return is_admitted;
        }
        if self.needs_key {
            self.thinned.until_key += 1;
            return false;
        }
        if self.without_layer.is_some_and(|layer| picture.layer >= layer) {
            self.thinned.layers += 1;
            return false;
        }
        if !picture.is_reference {
            self.thinned.non_reference += u64::from(after > spare);
            return after <= spare;
        }
        if picture.layer > 0 && after > layers {
            self.without_layer = Some(picture.layer);
            self.thinned.layers += 1;
            return false;
        }
        self.needs_key = after > all;
        self.thinned.until_key += u64::from(self.needs_key);
        !self.needs_key
    }

    /// Octets that leave in a part of the latency.
    fn bound(&self, rate: Bitrate, part: f64) -> f64 {
        rate.as_bps_f64() / 8.0 * self.latency.as_secs_f64() * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS: u64 = 20;
    /// A key frame every two seconds.
    const GROUP: u64 = 50;

    /// Twenty-five pictures a second for 20 s, a key frame of 12 kB in each group of fifty, 4 kB each else, every second of
    /// which no other needs (or is of layer one): 832 kbit/s. Which of them leave at `rate`.
    fn sent(rate: Bitrate, is_layered: bool) -> (Vec<bool>, Thinned) {
        let mut thinning = Thinning::new(TimeDelta::from_millis(500));
        let sent = (0..25 * SECONDS).map(|count| {
            let now = Timestamp::from_nanos(count * 40_000_000);
            let (is_key, is_odd) = (count % GROUP == 0, count % 2 == 1);
            let size = DataSize::from_bytes(if is_key { 12_000 } else { 4_000 });
            let is_reference = is_layered || !is_odd;
            let layer = u8::from(is_layered && is_odd);
            thinning.admits(now, &Thinnable { size, is_key, is_reference, layer }, rate)
        });
        (sent.collect(), thinning.thinned())
    }

    #[test]
    fn all_leave_where_there_is_room() {
        let (sent, thinned) = sent(Bitrate::from_kbps(1500), false);
        assert!(sent.iter().all(|sent| *sent));
        assert_eq!(thinned, Thinned::default());
    }

    #[test]
    fn pictures_that_no_other_needs_go_first() {
        let (sent, thinned) = sent(Bitrate::from_kbps(650), false);
        assert!(sent.iter().step_by(2).all(|sent| *sent), "{thinned:?}");
        assert!(thinned.non_reference > 50 && thinned.until_key == 0, "{thinned:?}");
    }

    #[test]
    fn then_temporal_layers() {
        let (sent, thinned) = sent(Bitrate::from_kbps(650), true);
        assert!(sent.iter().step_by(2).all(|sent| *sent), "{thinned:?}");
        assert!(thinned.layers > 50 && thinned.until_key == 0, "{thinned:?}");
    }

    /// Every group begins, so the picture never stands longer than a group lasts, and the rate is kept.
    #[test]
    fn then_all_until_the_next_key_frame() {
        let rate = Bitrate::from_kbps(250);
        let (sent, thinned) = sent(rate, false);
        assert!(sent.iter().step_by(GROUP as usize).all(|sent| *sent), "{thinned:?}");
        assert!(thinned.until_key > 0, "{thinned:?}");
        let octets = |count: usize| if (count as u64).is_multiple_of(GROUP) { 12_000 } else { 4_000 };
        let total: u64 = sent.iter().enumerate().filter(|(_, sent)| **sent).map(|(at, _)| octets(at)).sum();
        let allowed = rate.as_bps() / 8 * SECONDS;
        assert!(total <= allowed + 12_000 && total * 10 >= allowed * 3, "{total} of {allowed}");
        // What needs a picture that was left out never leaves.
        let is_decodable = sent.chunks(GROUP as usize).all(|group| {
            let broken = group.iter().step_by(2).position(|sent| !sent).map_or(group.len(), |at| 2 * at);
            group[broken..].iter().all(|sent| !sent)
        });
        assert!(is_decodable);
    }

    #[test]
    fn a_full_queue_spares_what_can_be_spared() {
        let mut thinning = Thinning::new(TimeDelta::from_millis(500));
        let rate = Bitrate::from_mbps(1);
        let picture = |is_key, is_reference| Thinnable {
            size: DataSize::from_bytes(1000),
            is_key,
            is_reference,
            layer: 0,
        };
        assert!(thinning.admits(Timestamp::ZERO, &picture(true, true), rate));
        thinning.on_full_queue(rate);
        assert!(!thinning.admits(Timestamp::ZERO, &picture(false, false), rate));
        assert!(thinning.admits(Timestamp::ZERO, &picture(false, true), rate));
    }
}
