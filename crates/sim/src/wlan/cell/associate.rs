//! Beacons and frames of association: when they are due, how they are sent and what they do (`docs/models/wlan.md`,
//! section "Beacons and association").

use super::{Wlan, place_of};
use crate::cell::Addressed;
use crate::wlan::config::AccessCategory;
use crate::wlan::event_list::Event;
use crate::wlan::exchange::{Exchange, FrameExchange};
use crate::wlan::management::{Management, ManagementKind};
use crate::wlan::medium::{DeviceId, Frame};
use crate::wlan::mode::{Nanos, octets};

impl<P: Addressed + std::fmt::Debug + Send> Wlan<P> {
    /// The access point has a beacon to send, in place of one that still waits.
    pub(super) fn beacon_is_due(&mut self) {
        let interval = self.config.beacon_interval.as_nanos() as Nanos;
        self.events.put(self.now + interval, Event::Beacon);
        if !std::mem::replace(&mut self.contenders[0].urgent, true) {
            self.request(0);
        }
    }

    /// All stations begin to listen for beacons.
    pub(super) fn begin_associations(&mut self) {
        if self.association.has_frames() {
            (1..self.devices.len()).for_each(|station| self.set_timer(station));
        }
    }

    /// What is due for a station is not forgotten.
    fn set_timer(&mut self, station: DeviceId) {
        let due = self.association.due(station);
        if due < self.association_timer {
            self.events.cancel(Event::Association);
            self.events.put(due, Event::Association);
            self.association_timer = due;
        }
    }

    /// Stations do what is due now.
    #[cold]
    pub(super) fn associate(&mut self) {
        self.association_timer = Nanos::MAX;
        let now = self.now;
        for station in 1..self.devices.len() {
            if self.association.due(station) <= now && self.association.step(station, now) {
                self.push_management(station, 0, ManagementKind::AssociationRequest);
            }
        }
        if let Some(first) = (1..self.devices.len()).min_by_key(|&station| self.association.due(station)) {
            self.set_timer(first);
        }
    }

    /// A management frame waits to be sent, with the priority of voice where there are priorities.
    fn push_management(&mut self, device: DeviceId, to: DeviceId, kind: ManagementKind) {
        let place = place_of(&self.categories, AccessCategory::Voice);
        let index = self.devices[device].contenders.start + usize::from(device == 0) + place;
        let had_work = self.wants_to_send(device, index);
        let now = self.now;
        self.management[device].push(to, kind, now);
        self.contenders[index].urgent = true;
        if !had_work {
            self.request(index);
        }
    }

    /// Sends the first management frame. False where there is none, or where it does not fit into the access.
    #[cold]
    pub(crate) fn send_management(&mut self, index: usize, began: Nanos) -> bool {
        self.expire_management(index);
        let contender = &self.contenders[index];
        if !contender.urgent {
            return false;
        }
        let (device, limit) = (contender.device, contender.backoff.access.limit);
        let Some(Management { to, kind, .. }) = self.management[device].first() else { return false };
        let mode = self.modes.lowest;
        let size = kind.octets(self.config.standard, self.config.band());
        let acknowledgement = self.modes.response[usize::from(mode)];
        let answer = self.timing.sifs + self.duration(acknowledgement, u64::from(octets::ACK));
        let end = self.now + self.duration(mode, u64::from(size)) + answer;
        if began < self.now && end > began + limit {
            return false;
        }
        self.sizes.clear();
        self.sizes.push(size);
        let exchange = self.exchange(index, 0, FrameExchange::Management, began);
        self.devices[device].exchange = Some(Exchange { reserves: limit > 0, ..exchange });
        let reserved = |end: Nanos| (end + answer).max(began + limit);
        self.transmit((device, Some(to), Frame::Management(kind), mode), reserved);
        true
    }

    /// Nothing more is to be sent: the rest of the reservation is given back.
    #[cold]
    pub(crate) fn send_end(&mut self, exchange: Exchange) {
        let device = self.contenders[exchange.contender].device;
        self.sizes.clear();
        self.sizes.push(octets::END);
        let step = FrameExchange::End;
        self.devices[device].exchange = Some(Exchange { step, reserves: false, ..exchange });
        self.transmit((device, None, Frame::End, self.modes.lowest), |end| end);
    }

    fn expire_management(&mut self, index: usize) {
        let lifetime = self.config.ap.queue.time.as_nanos() as Nanos;
        let device = self.contenders[index].device;
        while self.contenders[index].urgent
            && let Some(frame) = self.management[device].expire(self.now, lifetime)
        {
            self.end_of(index, frame, false);
        }
    }

    /// The first management frame was acknowledged.
    #[cold]
    pub(crate) fn end_management(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        contender.backoff.reset();
        contender.short_failures = 0;
        if let Some(frame) = self.management[contender.device].take_first() {
            self.end_of(index, frame, true);
        }
    }

    /// The first management frame was not acknowledged (3.7, rule 2).
    #[cold]
    pub(crate) fn miss_management(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        contender.short_failures += 1;
        if contender.short_failures < self.config.retries {
            contender.backoff.widen();
            return;
        }
        contender.short_failures = 0;
        contender.backoff.reset();
        self.give_up_management(index);
    }

    pub(crate) fn give_up_management(&mut self, index: usize) {
        if let Some(frame) = self.management[self.contenders[index].device].take_first() {
            self.end_of(index, frame, false);
        }
    }

    /// A frame has left the queue.
    fn end_of(&mut self, index: usize, frame: Management, ok: bool) {
        let contender = &mut self.contenders[index];
        contender.urgent = !self.management[contender.device].is_empty();
        if frame.kind == ManagementKind::AssociationResponse {
            self.association.on_answered(frame.to, ok);
        }
    }

    /// A device has received a management frame.
    #[cold]
    pub(crate) fn on_management(&mut self, device: DeviceId, from: DeviceId, kind: ManagementKind) {
        if !self.management[from].receive_first() {
            return;
        }
        match kind {
            ManagementKind::AssociationRequest => {
                self.association.on_request(from);
                self.push_management(device, from, ManagementKind::AssociationResponse);
            }
            ManagementKind::AssociationResponse => {
                self.association.on_response(device, self.now);
                self.set_timer(device);
            }
        }
    }
}
