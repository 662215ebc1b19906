//! Idle devices: their NAV and busy state is updated only when it matters (`docs/models/wlan.md`, section "Event
//! model").

use super::{Contender, Device, Wlan};
use crate::cell::Addressed;
use crate::wlan::medium::{DeviceId, PpduId};
use crate::wlan::mode::Nanos;

/// The state of the medium for a device with nothing to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Idle {
    Busy,
    /// Free, unless a PPDU that all devices receive is in the air.
    Free,
}

/// Busy state that active devices have and idle ones do not have yet: of the last PPDUs that were alone in the air.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Deferred {
    /// When the last one ended, and who sent it.
    ended: Nanos,
    sender: DeviceId,
    /// When the last one of another sender ended.
    ended_before: Nanos,
    /// The NAV of third parties.
    reserved: Nanos,
    /// The two devices that are no third parties.
    pair: (DeviceId, DeviceId),
}

impl Deferred {
    /// A PPDU has ended.
    fn note(&mut self, now: Nanos, (sender, to, reserved): (DeviceId, DeviceId, Nanos)) {
        if self.sender != sender {
            self.ended_before = self.ended;
        }
        (self.ended, self.sender) = (now, sender);
        self.reserved = self.reserved.max(reserved);
        self.pair = (sender.min(to), sender.max(to));
    }

    /// Devices have it, or it is over.
    pub(super) const fn forget_reservation(&mut self) {
        self.reserved = 0;
    }

    /// Another pair has made a reservation that still holds at `now`.
    fn binds_others(&self, now: Nanos, sender: DeviceId, to: DeviceId) -> bool {
        self.reserved > now && self.pair != (sender.min(to), sender.max(to))
    }

    /// Brings a device up to date.
    fn apply(&self, number: DeviceId, device: &mut Device) {
        device.busy_end = device.busy_end.max(self.ended);
        let last = if number == self.sender { self.ended_before } else { self.ended };
        if last > device.rx_end {
            device.rx_end = last;
            device.rx_failed = false;
        }
        if number != self.pair.0 && number != self.pair.1 {
            device.nav = device.nav.max(self.reserved);
        }
    }
}

impl Device {
    /// The medium becomes busy; the device notices at `noticed`.
    #[inline]
    pub(super) fn on_busy<P>(&mut self, noticed: Nanos, contenders: &mut [Contender<P>], dues: &mut [Nanos]) {
        if let Some(idle) = &mut self.idle {
            *idle = Idle::Busy;
            return;
        }
        for index in self.contenders.clone() {
            // A contender that is due earlier sends all the same, and collides.
            if dues[index] >= noticed {
                contenders[index].backoff.freeze(noticed);
                dues[index] = Nanos::MAX;
            }
        }
    }

    /// The device begins to send. `is_shared`: all devices receive it.
    #[inline]
    pub(super) fn on_transmit<P>(
        &mut self,
        (now, is_shared): (Nanos, bool),
        contenders: &mut [Contender<P>],
        dues: &mut [Nanos],
    ) {
        if let Some(idle) = &mut self.idle {
            if !is_shared {
                *idle = Idle::Busy;
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
    /// Devices no longer share one view of the medium: brings the idle ones up to date.
    pub(super) fn catch_up_all(&mut self) {
        for device in 0..self.devices.len() {
            self.catch_up(device);
            if let Some(idle) = &mut self.devices[device].idle {
                *idle = Idle::Busy;
            }
        }
    }

    /// The end of a PPDU that all devices have received.
    pub(super) fn end_shared(&mut self, ppdu: PpduId, (sender, to, reserved): (DeviceId, DeviceId, Nanos)) {
        let now = self.now;
        if self.deferred.binds_others(now, sender, to) {
            (0..self.devices.len()).for_each(|device| self.catch_up(device));
            self.deferred.forget_reservation();
        }
        self.deferred.note(now, (sender, to, reserved));
        self.medium.end_shared(ppdu);
        for &number in &self.active {
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
        self.on_received(to, ppdu);
        self.sent(sender, frame);
        // A response comes after SIFS, before any backoff slot: counting would stop before it begins.
        self.is_sifs = self.devices[to].reply.is_some();
        if !self.is_sifs {
            self.resume_active();
        }
    }

    /// A device needs the state of the medium during the SIFS before a response: it is free.
    pub(super) fn end_sifs(&mut self) {
        if std::mem::take(&mut self.is_sifs) {
            self.resume_active();
        }
    }

    fn resume_active(&mut self) {
        let mut place = 0;
        while let Some(&device) = self.active.get(place) {
            self.resume_contenders(device);
            place += usize::from(self.devices[device].idle.is_none());
        }
    }

    /// The medium is free for a device: its backoffs go on.
    #[inline]
    pub(crate) fn resume(&mut self, device: DeviceId) {
        self.end_sifs();
        match &mut self.devices[device].idle {
            Some(idle) => *idle = Idle::Free,
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
        let mut is_idle = state.exchange.is_none();
        for index in state.contenders.clone() {
            let contender = &mut self.contenders[index];
            contender.backoff.resume(from);
            is_idle &= contender.backoff.is_spent() && !contender.has_work();
            self.refresh(index);
        }
        if is_idle {
            self.devices[device].idle = Some(Idle::Free);
            self.active.retain(|&active| active != device);
        }
    }

    /// Brings an idle device up to date.
    pub(crate) fn catch_up(&mut self, device: DeviceId) {
        if self.devices[device].idle.is_some() {
            self.deferred.apply(device, &mut self.devices[device]);
        }
    }

    /// An idle device has something to send.
    pub(super) fn wake(&mut self, device: DeviceId) {
        self.catch_up(device);
        let Some(idle) = self.devices[device].idle.take() else { return };
        self.active.push(device);
        let is_busy = idle == Idle::Busy || self.medium.is_shared();
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
