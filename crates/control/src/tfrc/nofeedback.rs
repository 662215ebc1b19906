//! The nofeedback timer (RFC 5348 section 4.4, RFC 3448 section 4.4).

use super::config::Profile;
use super::receive_limit::ReceiveRates;
use super::sender::{Connection, LONGEST_PAUSE};
use crate::decision::{Gauge, Reason};
use seaway_units::Timestamp;

impl Connection {
    /// The timer ran out, if it did: silence for so long is taken for congestion.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) -> Option<Reason> {
        self.nofeedback_at().filter(|due| *due <= now)?;
        self.forget_peer();
        let before = self.rate;
        match (self.rtt.get(), self.config.profile) {
            (None, _) if self.busy => self.halve(),
            // Without a round-trip time there is no recover_rate to keep an idle sender at.
            (None, _) => {}
            (Some(rtt), Profile::Rfc5348) => self.expire_rfc5348(now, rtt),
            (Some(rtt), Profile::Rfc3448) => self.expire_rfc3448(now, rtt),
        }
        if !self.busy && self.rate == before {
            self.stop_nofeedback();
            return None;
        }
        let interval = self.nofeedback_interval();
        let waited = Gauge::new("nofeedback_interval", interval.as_secs_f64(), "s");
        self.restart_nofeedback(now, interval);
        (self.rate != before).then_some(Reason::new("nofeedback timer", waited, 0.0))
    }

    fn expire_rfc5348(&mut self, now: Timestamp, rtt: f64) {
        let received = self.receive_rates.max();
        let recover_rate = self.initial_rate(rtt);
        let lossless = self.loss_event_rate <= 0.0;
        let slow = if lossless { self.rate < 2.0 * recover_rate } else { received < recover_rate };
        if !self.busy && slow {
            return;
        }
        if lossless {
            self.halve();
        } else if self.equation_rate > 2.0 * received {
            self.limit(now, received);
        } else {
            self.limit(now, self.equation_rate / 2.0);
        }
    }

    /// RFC 5348 section 4.4, procedure Update_Limits.
    fn limit(&mut self, now: Timestamp, limit: f64) {
        let limit = limit.max(self.least_rate());
        self.receive_rates = ReceiveRates::only(limit / 2.0, now);
        self.rate = self.equation_rate.min(limit).max(self.least_rate());
    }

    fn expire_rfc3448(&mut self, now: Timestamp, rtt: f64) {
        let received = self.receive_rates.max();
        let segment = self.least_rate() * LONGEST_PAUSE;
        if !self.busy && received < 4.0 * segment / rtt {
            return;
        }
        let lossless = self.loss_event_rate <= 0.0;
        let received = if lossless || self.equation_rate > 2.0 * received {
            (received / 2.0).max(self.least_rate() / 2.0)
        } else {
            self.equation_rate / 4.0
        };
        self.receive_rates = ReceiveRates::only(received, now);
        // Before a loss RFC 3448 leaves X_calc undefined; read as infinite, and X as halved, never raised. Its
        // floor of a packet each round-trip time is left out: a dead path would be sent to for ever.
        self.rate = if lossless {
            (self.rate / 2.0).min(2.0 * received).max(self.least_rate())
        } else {
            self.equation_rate.min(2.0 * received).max(self.least_rate())
        };
    }

    fn halve(&mut self) {
        self.rate = (self.rate / 2.0).max(self.least_rate());
    }
}
