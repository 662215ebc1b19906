//! Send sequence state and windows, which the parts of a sender share.

/// The lowest slow start threshold after a reduction (RFC 5681 section 3.1, equation 4).
pub(super) const MIN_THRESHOLD: f64 = 2.0;

/// Which segments have been sent and acknowledged, and how many may be on their way.
#[derive(Debug, Clone)]
pub(super) struct SendState {
    /// The lowest segment not acknowledged (`SND.UNA`).
    pub(super) una: u64,
    /// The next to be sent; below `high` after a timeout.
    pub(super) next: u64,
    /// One above the highest ever sent.
    pub(super) high: u64,
    /// One above the last there is to send.
    pub(super) end: u64,
    /// The application has nothing to send at the moment.
    pub(super) is_quiet: bool,
    /// The congestion window in segments, at least 1.
    pub(super) cwnd: f64,
    /// The slow start threshold in segments.
    pub(super) ssthresh: f64,
}

impl SendState {
    /// A fresh connection with this many segments to send.
    pub(super) fn new(initial_window: f64, end: u64) -> Self {
        Self { una: 0, next: 0, high: 0, end, is_quiet: false, cwnd: initial_window, ssthresh: f64::INFINITY }
    }

    /// Segments sent since the lowest that is not acknowledged (`FlightSize`).
    pub(super) const fn flight(&self) -> u64 {
        self.next - self.una
    }

    /// The base of a reduction, with `flight` segments in flight (`FlightSize`): the window, where it limits sending. A window of 8.9 segments is as full with eight whole ones as it can be (Reading: RFC 5681 counts
    /// octets; without the fraction each reduction would take a quarter of a segment more on average).
    pub(super) fn load(&self, flight: u64) -> f64 {
        let flight = flight as f64;
        if self.cwnd < flight + 1.0 { flight.max(self.cwnd) } else { flight }
    }

    /// After a timeout: one segment may leave, and all of them once more.
    pub(super) const fn go_back(&mut self) {
        (self.cwnd, self.next) = (1.0, self.una);
    }

    /// Whole segments in the congestion window.
    pub(super) const fn window(&self) -> u64 {
        self.cwnd as u64
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the window, not the application, is what held back sending: only then may it grow.
    pub(super) fn is_window_limited(&self) -> bool {
        let flight = self.flight() as f64;
        flight + 1.0 > self.cwnd || (self.in_slow_start() && flight > self.cwnd / 2.0)
    }

    /// The next segment, where there is one: once more what was sent before a timeout, then new data.
    pub(super) fn take_next(&mut self) -> Option<u64> {
        let is_again = self.next < self.high;
        if !is_again && (self.is_quiet || self.next >= self.end) {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.high = self.high.max(self.next);
        Some(number)
    }
}
