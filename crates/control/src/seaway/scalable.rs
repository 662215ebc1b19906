//! On an L4S queue: a scalable response to congestion marks (RFC 9331 section 4.3), as DCTCP's.

/// The mean share of marked packets and the cuts by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scalable {
    /// The present round.
    begun: f64,
    received: f64,
    marked: f64,
    /// DCTCP's `alpha` (RFC 8257 section 3.3).
    alpha: f64,
    last_cut: f64,
    last_mark: f64,
}

impl Scalable {
    /// DCTCP's `g`.
    const GAIN: f64 = 1.0 / 16.0;
    /// Flows of a shorter round-trip time grow no faster (Prague's reference).
    const SHORTEST_RTT: f64 = 0.025;
    /// Without a mark for so long the queue is not of this kind.
    const FORGET: f64 = 10.0;

    pub(super) const fn begin(t: f64) -> Self {
        Self { begun: t, received: 0.0, marked: 0.0, alpha: 1.0, last_cut: f64::NEG_INFINITY, last_mark: t }
    }

    /// Whether a packet left after the last cut, so its feedback is about the present rate.
    pub(super) fn counts(&self, sent: f64) -> bool {
        sent > self.last_cut
    }

    /// Packets arrived, some of them marked. Gives the new capacity, and whether it was cut.
    pub(super) fn update(
        &mut self,
        t: f64,
        passed: f64,
        rtt: f64,
        capacity: f64,
        packet: f64,
        (received, marked): (f64, f64),
    ) -> (f64, bool) {
        let rtt = rtt.max(Self::SHORTEST_RTT);
        self.received += received;
        self.marked += marked;
        if marked > 0.0 {
            self.last_mark = t;
        }
        let mut capacity = capacity + packet * 8.0 / (rtt * rtt) * passed;
        let mut is_cut = false;
        if t - self.begun >= rtt && self.received > 0.0 {
            self.alpha += (self.marked / self.received - self.alpha) * Self::GAIN;
            if self.marked > 0.0 {
                capacity *= 1.0 - self.alpha / 2.0;
                self.last_cut = t;
                is_cut = true;
            }
            (self.begun, self.received, self.marked) = (t, 0.0, 0.0);
        }
        (capacity, is_cut)
    }

    pub(super) fn is_over(&self, t: f64) -> bool {
        t - self.last_mark > Self::FORGET
    }

    pub(super) const fn alpha(&self) -> f64 {
        self.alpha
    }
}
