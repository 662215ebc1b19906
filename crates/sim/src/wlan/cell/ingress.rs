//! Ingress and egress of packets: queues, expiry, counters (`docs/models/wlan.md`, section "Queue").

use super::{Wlan, place_of};
use crate::cell::Addressed;
use crate::wlan::medium::DeviceId;
use crate::wlan::mode::{Nanos, octets};
use crate::wlan::queue::Discarded;
use crate::wlan::statistics::PairMeter;
use seaway_link::{DropCause, Dropped, Outbox, Packet};
use seaway_units::Timestamp;

impl<P: Addressed + std::fmt::Debug + Send> Wlan<P> {
    /// The counters of what one device sends another.
    pub(crate) fn meter(&mut self, from: DeviceId, to: DeviceId) -> &mut PairMeter {
        &mut self.meters[pair_number(from, to)]
    }

    /// A packet goes into a queue of `device`, for `to`.
    pub(crate) fn enqueue(&mut self, device: DeviceId, to: DeviceId, packet: Packet<P>) {
        self.meter(device, to).arrive(packet.size);
        if !self.association.carries(device, to) {
            self.meter(device, to).lose();
            self.drop(DropCause::Mac, packet);
            return;
        }
        let index = self.contender_of(device, packet.flow);
        let had_work = self.wants_to_send(device, index);
        // A full queue drops the packet before expired packets are removed.
        if self.contenders[index].queue.is_full() {
            self.meter(device, to).drop_full();
            self.drop(DropCause::Tail, packet);
            return;
        }
        self.expire(index);
        let contender = &mut self.contenders[index];
        let octets = octets::mpdu(packet.size.as_bytes() as u32, self.config.standard.is_qos());
        let recipient = if device == 0 { to - 1 } else { 0 };
        contender.queue.push(recipient, self.now, octets, packet);
        let now = self.now;
        self.meter(device, to).push(now, octets);
        if !had_work {
            self.request(index);
        }
    }

    fn contender_of(&self, device: DeviceId, flow: u32) -> usize {
        let known = self.config.categories.iter().find(|&&(known, _)| known == flow);
        let place = known.map_or(self.best_effort, |&(_, category)| place_of(&self.categories, category));
        self.devices[device].contenders.start + usize::from(device == 0) + place
    }

    /// The contender has something to send, or an exchange under way.
    pub(super) fn wants_to_send(&self, device: DeviceId, index: usize) -> bool {
        self.dues[index] < Nanos::MAX || self.contenders[index].has_work() || self.is_engaged(device, index)
    }

    /// The contender has an exchange under way.
    fn is_engaged(&self, device: DeviceId, index: usize) -> bool {
        self.devices[device].exchange.as_ref().is_some_and(|exchange| exchange.contender == index)
    }

    /// An idle queue wants to send.
    pub(super) fn request(&mut self, index: usize) {
        self.end_sifs();
        self.wake(self.contenders[index].device);
        let contender = &mut self.contenders[index];
        let device = &mut self.devices[contender.device];
        contender.backoff.request(self.now, device.nav > self.now, &mut device.rng);
        self.refresh(index);
    }

    /// Drops packets that are too old.
    pub(crate) fn expire(&mut self, index: usize) {
        while let Some((recipient, discarded)) = self.contenders[index].queue.expire(self.now) {
            self.discard(index, recipient, discarded);
        }
    }

    /// What left a queue without an acknowledgement (3.7, rule 4).
    pub(crate) fn discard(&mut self, index: usize, recipient: usize, discarded: Discarded<P>) {
        let contender = &mut self.contenders[index];
        if discarded.was_sent && contender.backoff.access.is_qos {
            contender.queue.request(recipient, false, false);
        }
        let (device, to, now) = (contender.device, contender.queue.recipients[recipient].to, self.now);
        let meter = self.meter(device, to);
        meter.pop(now, 1, u64::from(discarded.octets));
        let Some(packet) = discarded.packet else { return };
        if discarded.was_sent {
            meter.lose();
            self.drop(DropCause::Mac, packet);
        } else {
            meter.drop_old();
            self.drop(DropCause::Age, packet);
        }
    }

    fn drop(&mut self, cause: DropCause, packet: Packet<P>) {
        self.out.drop(Dropped { at: Timestamp::from_nanos(self.now), cause, packet });
    }
}

/// Delivers what one device has received from another.
pub(crate) struct Exit<'a, P> {
    pub(crate) meter: &'a mut PairMeter,
    pub(crate) out: &'a mut Outbox<P>,
    pub(crate) now: Nanos,
    /// The receiver hands it up: both take the station for associated.
    pub(crate) accepts: bool,
}

impl<P: Addressed> Exit<'_, P> {
    #[inline]
    pub(crate) fn deliver(&mut self, packet: Packet<P>) {
        if !self.accepts {
            self.meter.lose();
            let at = Timestamp::from_nanos(self.now);
            self.out.drop(Dropped { at, cause: DropCause::Mac, packet });
            return;
        }
        self.meter.deliver(packet.size);
        self.out.send(Timestamp::from_nanos(self.now), packet.payload.leave_by(), packet);
    }
}

impl<P> Wlan<P> {
    /// Packets of a queue that have neither arrived nor been dropped: waiting, in the air, or with a receiver that waits
    /// for an earlier one.
    pub(super) fn inside(&self, queue: usize) -> u64 {
        let recipients = self.contenders.iter().flat_map(|contender| {
            let recipients = contender.queue.recipients.iter();
            recipients.filter(move |recipient| pair_number(contender.device, recipient.to) == queue)
        });
        recipients.map(|recipient| recipient.owned() + recipient.peer.len() as u64).sum()
    }
}

/// The number of the queue between two devices, as [`WlanConfig::queue_names`] counts them.
pub(crate) const fn pair_number(from: DeviceId, to: DeviceId) -> usize {
    if from == 0 { 2 * (to - 1) } else { 2 * (from - 1) + 1 }
}
