//! The packet scheduler of a subscriber station (`docs/models/wimax.md`, section "Station scheduler").

use super::air::Air;
use super::burst::Burst;
use super::config::{Order, Scheduler, Service};
use crate::mac_queue::MacQueue;
use seaway_units::Timestamp;

/// The queues of a station's uplink, one a service.
#[derive(Debug)]
pub(super) struct Uplink<P> {
    pub(super) queues: Vec<MacQueue<P>>,
    /// The polled queue at which the last grant ended, counted from ertPS.
    pointer: usize,
}

/// The queues that are polled: ertPS, rtPS, nrtPS.
const POLLED: usize = 3;

impl<P> Uplink<P> {
    pub(super) fn new(queues: Vec<MacQueue<P>>) -> Self {
        debug_assert_eq!(queues.len(), Service::COUNT);
        Self { queues, pointer: 0 }
    }

    /// Packets in all queues.
    pub(super) fn waiting(&self) -> u64 {
        self.queues.iter().map(MacQueue::waiting).sum()
    }

    /// Fills a grant: UGS up to its reservation, the polled queues in turn, best effort last.
    pub(super) fn serve(
        &mut self,
        now: Timestamp,
        burst: &mut Burst,
        reserved: u64,
        scheduler: Scheduler,
        air: &mut Air<'_, P>,
    ) {
        let mut unsolicited = burst.split(reserved);
        self.drain(now, Service::Ugs as usize, &mut unsolicited, None, air);
        burst.rejoin(unsolicited);
        self.serve_polled(now, burst, scheduler, air);
        self.drain(now, Service::BestEffort as usize, burst, None, air);
    }

    fn serve_polled(
        &mut self,
        now: Timestamp,
        burst: &mut Burst,
        scheduler: Scheduler,
        air: &mut Air<'_, P>,
    ) {
        let mut turn = if scheduler.order == Order::Cyclic { self.pointer } else { 0 };
        let mut empty = 0;
        while empty < POLLED && burst.room() > 0 {
            let service = Service::Ertps as usize + turn;
            self.drain(now, service, burst, scheduler.visit, air);
            let is_empty = self.queues[service].waiting() == 0;
            empty = if is_empty { empty + 1 } else { 0 };
            if is_empty || burst.room() > 0 {
                turn = (turn + 1) % POLLED;
            }
        }
        self.pointer = turn;
    }

    fn drain(
        &mut self,
        now: Timestamp,
        service: usize,
        burst: &mut Burst,
        visit: Option<u32>,
        air: &mut Air<'_, P>,
    ) {
        air.queue = service;
        drain(&mut self.queues[service], now, burst, visit, air);
    }
}

/// Sends of one queue until it is empty, the grant is used up, or so many packets are whole.
pub(super) fn drain<P>(
    queue: &mut MacQueue<P>,
    now: Timestamp,
    burst: &mut Burst,
    visit: Option<u32>,
    air: &mut Air<'_, P>,
) {
    let before = burst.left();
    let mut whole = 0;
    while visit.is_none_or(|most| whole < most) {
        let room = burst.room();
        if room == 0 {
            break;
        }
        let Some(fragment) = queue.take(now, room, |octets| air.loses(octets)) else { break };
        burst.put(fragment.octets);
        if let Some(packet) = fragment.completed {
            whole += 1;
            air.carry(now, packet);
        }
    }
    queue.offer(0, before - burst.left());
    while let Some(dropped) = queue.poll_dropped() {
        air.out.drop(dropped);
    }
}
