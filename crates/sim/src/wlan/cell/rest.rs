//! Idle devices: their NAV and busy state is updated only when it matters (`docs/models/wlan.md`, section "Event
//! model").

use super::{Contender, Device, Wlan};
use crate::cell::Addressed;
use crate::wlan::medium::{DeviceId, PpduId};
use crate::wlan::mode::Nanos;

/// What contenders are to know of the medium when they have something to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// It is busy.
    Busy,
    /// It is free, unless something is in the air that all hear.
    Free,
}

/// What all heard, and those that rest have not been told: the last PPDUs that were alone in the air.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hearsay {
    /// When the last one ended, and who sent it.
    ended: Nanos,
    sender: DeviceId,
    /// When the last one of somebody else ended.
    ended_before: Nanos,
    /// Until when bystanders keep quiet.
    reserved: Nanos,
    /// The two that are no bystanders.
    pair: (DeviceId, DeviceId),
}

impl Hearsay {
    /// One more has ended.
    fn note(&mut self, now: Nanos, (sender, to, reserved): (DeviceId, DeviceId, Nanos)) {
        if self.sender != sender {
            self.ended_before = self.ended;
        }
        (self.ended, self.sender) = (now, sender);
        self.reserved = self.reserved.max(reserved);
        self.pair = (sender.min(to), sender.max(to));
    }

    /// Another pair has made a reservation that is still good at `now`.
    fn binds_others(&self, now: Nanos, sender: DeviceId, to: DeviceId) -> bool {
        self.reserved > now && self.pair != (sender.min(to), sender.max(to))
    }

    /// Tells it to a device.
    fn tell(&self, number: DeviceId, device: &mut Device) {
        device.busy_end = device.busy_end.max(self.ended);
        let heard = if number == self.sender { self.ended_before } else { self.ended };
        if heard > device.rx_end {
            device.rx_end = heard;
            device.rx_failed = false;
        }
        if number != self.pair.0 && number != self.pair.1 {
            device.nav = device.nav.max(self.reserved);
        }
    }
}

impl Device {
    /// A medium that was free has become busy, noticed then.
    #[inline]
    pub(super) fn hear<P>(&mut self, noticed: Nanos, contenders: &mut [Contender<P>], dues: &mut [Nanos]) {
        if let Some(rest) = &mut self.rest {
            *rest = Rest::Busy;
            return;
        }
        for index in self.contenders.clone() {
            // What is due before it notices is sent all the same, and collides.
            if dues[index] >= noticed {
                contenders[index].backoff.freeze(noticed);
                dues[index] = Nanos::MAX;
            }
        }
    }

    /// It begins to send, what all hear or not.
    #[inline]
    pub(super) fn speak<P>(
        &mut self,
        (now, is_shared): (Nanos, bool),
        contenders: &mut [Contender<P>],
        dues: &mut [Nanos],
    ) {
        if let Some(rest) = &mut self.rest {
            if !is_shared {
                *rest = Rest::Busy;
            }
            return;
        }
        for index in self.contenders.clone() {
            contenders[index].backoff.freeze(now);
            dues[index] = Nanos::MAX;
        }
    }
}

impl<P: Addressed + std::fmt::Debug + Send> Wlan<P> {
    /// What is in the air is no longer the same to all: those that rest are told.
    pub(super) fn spread(&mut self) {
        for device in 0..self.devices.len() {
            self.tell(device);
            if let Some(rest) = &mut self.devices[device].rest {
                *rest = Rest::Busy;
            }
        }
    }

    /// The end of a PPDU that all have followed and understood.
    pub(super) fn end_shared(&mut self, ppdu: PpduId, (sender, to, reserved): (DeviceId, DeviceId, Nanos)) {
        let now = self.now;
        if self.hearsay.binds_others(now, sender, to) {
            (0..self.devices.len()).for_each(|device| self.tell(device));
            self.hearsay.reserved = 0;
        }
        self.hearsay.note(now, (sender, to, reserved));
        self.medium.end_shared(ppdu);
        for &number in &self.awake {
            let device = &mut self.devices[number];
            device.busy_end = now;
            if number == sender {
                device.tx_end = now;
                continue;
            }
            device.rx_end = now;
            device.rx_failed = false;
            if number != to {
                device.nav = device.nav.max(reserved);
            }
        }
        let last = self.medium.ppdu(ppdu).subframes() - 1;
        let frame = self.medium.ppdu(ppdu).frame;
        self.arrive(ppdu, last);
        self.understood(to, ppdu);
        self.sent(sender, frame);
        // Whoever counts waits longer than an answer does: counting would stop before it begins.
        self.is_pause = self.devices[to].reply.is_some();
        if !self.is_pause {
            self.resume_awake();
        }
    }

    /// Somebody looks at the medium in the moment before an answer: it is free.
    pub(super) fn end_pause(&mut self) {
        if std::mem::take(&mut self.is_pause) {
            self.resume_awake();
        }
    }

    fn resume_awake(&mut self) {
        let mut place = 0;
        while let Some(&device) = self.awake.get(place) {
            self.resume_contenders(device);
            place += usize::from(self.devices[device].rest.is_none());
        }
    }

    /// Counting may go on for the queues of a device whose medium is free.
    #[inline]
    pub(crate) fn resume(&mut self, device: DeviceId) {
        self.end_pause();
        match &mut self.devices[device].rest {
            Some(rest) => *rest = Rest::Free,
            None => self.resume_contenders(device),
        }
    }

    /// SIFS after all that kept the medium of a device busy.
    fn free_from(&self, device: DeviceId) -> Nanos {
        let state = &self.devices[device];
        let eifs = if state.rx_failed { self.timing.eifs } else { 0 };
        let last =
            (state.rx_end + eifs).max(state.tx_end).max(state.busy_end).max(state.nav).max(state.timeout_end);
        last + self.timing.sifs
    }

    fn resume_contenders(&mut self, device: DeviceId) {
        let from = self.free_from(device);
        let state = &self.devices[device];
        let mut rests = state.exchange.is_none();
        for index in state.contenders.clone() {
            let contender = &mut self.contenders[index];
            contender.backoff.resume(from);
            rests &= contender.backoff.is_spent() && !contender.has_work();
            self.refresh(index);
        }
        if rests {
            self.devices[device].rest = Some(Rest::Free);
            self.awake.retain(|&awake| awake != device);
        }
    }

    /// A device that rested learns what it has not been told.
    pub(crate) fn tell(&mut self, device: DeviceId) {
        if self.devices[device].rest.is_some() {
            self.hearsay.tell(device, &mut self.devices[device]);
        }
    }

    /// A device that rested has something to send.
    pub(super) fn rouse(&mut self, device: DeviceId) {
        self.tell(device);
        let Some(rest) = self.devices[device].rest.take() else { return };
        self.awake.push(device);
        let is_busy = rest == Rest::Busy || self.medium.is_shared();
        let from = self.free_from(device);
        for contender in &mut self.contenders[self.devices[device].contenders.clone()] {
            if is_busy {
                contender.backoff.halt();
            } else {
                contender.backoff.resume(from);
            }
        }
    }
}
