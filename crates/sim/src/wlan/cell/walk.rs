//! Stations that walk (`docs/models/wlan.md`, section "Moving stations").

use super::Wlan;
use crate::cell::Addressed;
use crate::wlan::config::RateChoice;
use crate::wlan::rate_adaptation::RateAdaptation;

impl<P: Addressed + std::fmt::Debug + Send> Wlan<P> {
    /// Stations have gone a step. Nothing is in the air.
    #[cold]
    pub(super) fn walk(&mut self) {
        // Who receives whom may change: afterwards nothing may be left to be brought up to date by the old rule.
        self.end_sifs();
        (0..self.devices.len()).for_each(|device| self.catch_up(device));
        self.deferred.forget_reservation();
        let (now, medium) = (self.now, &mut self.medium);
        self.walks.go(now, |device, at| medium.place(device, at));
        if self.config.choice() == RateChoice::Ideal {
            self.adapt_to_places();
        }
    }

    fn adapt_to_places(&mut self) {
        for contender in &mut self.contenders {
            for recipient in &mut contender.queue.recipients {
                let mode = self.modes.ideal(&self.medium, (contender.device, recipient.to));
                recipient.adaptation = RateAdaptation::Fixed(mode);
            }
        }
    }
}
