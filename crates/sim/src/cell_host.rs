//! A host of one cell, for tests.

use crate::cell::{Addressed, Cell};
use seaway_link::{Departure, Outbox, Packet, Port, Wake};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};

/// A payload that leaves by a port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    leave: Port,
    sent: Timestamp,
}

impl Addressed for Load {
    fn leave_by(&self) -> Port {
        self.leave
    }
}

/// A cell in virtual time, and what became of its packets.
#[derive(Debug)]
pub(crate) struct CellHost<C> {
    pub(crate) cell: C,
    pub(crate) now: Timestamp,
    wake: Wake,
    out: Outbox<Load>,
    /// Packets that entered.
    pub(crate) sent: usize,
    /// Flow, when sent, when delivered.
    pub(crate) delivered: Vec<(u32, Timestamp, Timestamp)>,
    /// Flow, when sent.
    pub(crate) dropped: Vec<(u32, Timestamp)>,
}

impl<C: Cell<Load>> CellHost<C> {
    pub(crate) fn new(cell: C) -> Self {
        let (now, wake, out) = (Timestamp::ZERO, None, Outbox::default());
        Self { cell, now, wake, out, sent: 0, delivered: Vec::new(), dropped: Vec::new() }
    }

    /// Does what is due before `until`.
    pub(crate) fn run_to(&mut self, until: Timestamp) {
        while let Some(due) = self.wake.filter(|&due| due < until) {
            assert!(due >= self.now, "time ran back");
            self.now = due;
            self.wake = self.cell.run(due, due + TimeDelta::from_nanos(1), &mut self.out);
            self.collect();
        }
        self.now = until;
    }

    pub(crate) fn send(&mut self, at: Timestamp, flow: u32, enter: Port, leave: Port, octets: u64) {
        self.run_to(at);
        self.sent += 1;
        let packet = Packet::new(DataSize::from_bytes(octets), Ecn::NotEct, Load { leave, sent: at });
        self.wake = self.cell.on_packet(at, enter, Packet { flow, ..packet }, &mut self.out);
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(dropped) = self.out.pop_dropped() {
            self.dropped.push((dropped.packet.flow, dropped.packet.payload.sent));
        }
        while let Some(Departure { port, packet, .. }) = self.out.pop_departure(self.now) {
            assert_eq!(port, packet.payload.leave);
            self.delivered.push((packet.flow, packet.payload.sent, self.now));
        }
    }
}
