//! Decides which packet leaves next, by which subflow and when: media, retransmissions, repair, filler and padding share one
//! pacer a subflow.

use super::pacer::Pacer;
use super::queue::SendQueue;
use super::retransmission::RetransmissionBuffer;
use crate::config::SenderConfig;
use crate::source_id::SourceId;
use seaway_control::{Allowance, PacketId, ProbeId, RateController, StreamId, Subflow};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// What a packet carries, in order of priority.
#[derive(Debug, Clone, Copy)]
pub(super) enum Class {
    Retransmission(PacketId),
    /// Repair of the pictures of a stream that left.
    Fec(StreamId),
    Media,
    /// The media of an endless source.
    Filler,
    /// Nothing, for a probe that finds nothing else to send.
    Padding,
}

/// The next packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    pub(super) due: Timestamp,
    /// When the driver is to be there: later where others can leave with it.
    pub(super) wake: Timestamp,
    pub(super) subflow: Subflow,
    pub(super) class: Class,
    /// The credit of the allowance by which it is due.
    credit: TimeDelta,
}

/// Repair packets of a stream that wait at most.
const MOST_REPAIRS: u64 = 128;

/// What waits to be sent, and the pacers that release it.
#[derive(Debug)]
pub(super) struct Scheduler {
    pub(super) queue: SendQueue,
    pub(super) retransmissions: RetransmissionBuffer,
    /// Repair packets that wait, by stream, and of all streams.
    repairs: [u8; SourceId::STREAMS as usize],
    repairs_waiting: u64,
    /// By subflow.
    pacers: Vec<Pacer>,
    probe: Option<ActiveProbe>,
    /// A receiver of others that knows no repair source takes no padding, so probes are not sent.
    takes_padding: bool,
    /// The source is silent on purpose.
    pub(super) paused: bool,
    /// All subflows together leave at this rate at most, whatever the controller allows.
    pub(super) most: Option<Bitrate>,
    /// The size of a filler packet, where the source is endless.
    filler: Option<DataSize>,
    /// The largest packet.
    packet: DataSize,
    /// How long before it is due a packet may leave, and how late a driver may be.
    burst: TimeDelta,
}

#[derive(Debug)]
struct ActiveProbe {
    id: ProbeId,
    allowance: Allowance,
    size_left: DataSize,
    packets_left: u8,
    pacer: Pacer,
}

impl Scheduler {
    pub(super) fn new(config: &SenderConfig) -> Self {
        Self {
            queue: SendQueue::new(
                config.queue,
                config.stripe,
                config.streams.iter().map(|stream| stream.description.is_audio()),
            ),
            retransmissions: RetransmissionBuffer::new(config.repair),
            repairs: [0; SourceId::STREAMS as usize],
            repairs_waiting: 0,
            pacers: Vec::new(),
            probe: None,
            takes_padding: config.plain.is_none() || config.repair.is_some(),
            paused: false,
            most: None,
            filler: config.endless.then_some(config.packet),
            packet: config.packet,
            burst: config.send_burst_interval,
        }
    }

    /// When a packet leaves whose driver is there at `now`: at once where it is due within the send burst interval.
    #[inline]
    pub(super) fn release(&self, now: Timestamp, next: &Transmission) -> Timestamp {
        if next.due <= now + self.burst { now } else { next.due }
    }

    /// Octets of IP datagrams that wait.
    #[inline]
    pub(super) fn backlog(&self) -> DataSize {
        self.queue.waiting()
            + self.packet * (self.retransmissions.waiting() as u64 + self.repairs_waiting)
            + self.filler.unwrap_or(DataSize::ZERO)
    }

    /// So many repair packets of a stream are to be sent.
    pub(super) fn add_repairs(&mut self, stream: StreamId, packets: u64) {
        let waiting = &mut self.repairs[usize::from(stream.0)];
        let added = packets.min(MOST_REPAIRS - u64::from(*waiting));
        *waiting += added as u8;
        self.repairs_waiting += added;
    }

    /// A repair packet of a stream is to be written now. False where none waits.
    pub(super) fn take_repair(&mut self, stream: StreamId) -> bool {
        let waiting = &mut self.repairs[usize::from(stream.0)];
        let is_there = *waiting > 0;
        *waiting -= u8::from(is_there);
        self.repairs_waiting -= u64::from(is_there);
        is_there
    }

    /// The probe that is being sent.
    #[inline]
    pub(super) fn probe(&self) -> Option<ProbeId> {
        self.probe.as_ref().map(|probe| probe.id)
    }

    /// Begins the probe that the controller wants, unless one is being sent. True where it did.
    #[inline]
    pub(super) fn begin_probe(&mut self, now: Timestamp, controller: &mut dyn RateController) -> bool {
        if self.probe.is_some() || self.paused || self.most.is_some() || !self.takes_padding {
            return false;
        }
        self.probe = controller.poll_probe(now).map(|probe| ActiveProbe {
            id: probe.id,
            allowance: Allowance::paced(probe.rate),
            size_left: probe.size,
            packets_left: probe.packets,
            pacer: Pacer::default(),
        });
        self.probe.is_some()
    }

    /// Gives up the probe.
    pub(super) fn end_probe(&mut self) {
        self.probe = None;
    }

    /// What a subflow has to send, and its size.
    #[inline]
    fn waiting(&self, subflow: Subflow, subflows: u8) -> Option<(Class, DataSize)> {
        if let Some(id) = self.retransmissions.next(subflow, subflows) {
            return Some((Class::Retransmission(id), self.packet));
        }
        if self.repairs_waiting > 0
            && let Some(stream) = self.repairs.iter().position(|waiting| *waiting > 0)
        {
            return Some((Class::Fec(StreamId(stream as u8)), self.packet));
        }
        if let Some(queued) = self.queue.front(subflow) {
            return Some((Class::Media, queued.size));
        }
        if let Some(id) = self.retransmissions.next_copy(subflow, subflows) {
            return Some((Class::Retransmission(id), self.packet));
        }
        self.filler.filter(|_| !self.paused).map(|size| (Class::Filler, size))
    }

    fn pacer(&self, subflow: Subflow) -> Pacer {
        self.pacers.get(usize::from(subflow.0)).copied().unwrap_or_default()
    }

    /// A subflow's next packet; `None` where nothing waits or the controller lets nothing leave.
    #[inline]
    fn next_of(
        &self,
        controller: &dyn RateController,
        subflow: Subflow,
        subflows: u8,
    ) -> Option<Transmission> {
        let (class, size) = self.waiting(subflow, subflows)?;
        let mut allowance = controller.allowance(subflow);
        if let Some(most) = self.most {
            allowance.rate = allowance.rate.min(most / u64::from(subflows));
        }
        if allowance.window.is_some_and(|window| size > window) {
            return None;
        }
        let due = self.pacer(subflow).due(allowance)?;
        let wake = self.wake(due, size, allowance);
        Some(Transmission { due, wake, subflow, class, credit: allowance.credit.max(self.burst * 2) })
    }

    /// Where the packet behind one that is due is due within two send burst intervals, the driver comes in the middle of
    /// them.
    #[inline]
    fn wake(&self, due: Timestamp, size: DataSize, allowance: Allowance) -> Timestamp {
        let is_last = self.filler.is_none() && self.backlog() <= size;
        if self.burst == TimeDelta::ZERO || is_last {
            return due;
        }
        let pause = allowance.rate.time_to_send(size).map(|pause| pause + allowance.gap);
        if pause.is_some_and(|pause| pause <= self.burst * 2) { due + self.burst } else { due }
    }

    /// The next packet of all subflows: a probe's before all others.
    #[inline]
    pub(super) fn next(&self, controller: &dyn RateController) -> Option<Transmission> {
        let subflows = controller.subflows().clamp(1, SourceId::SUBFLOWS);
        match &self.probe {
            Some(probe) => self.next_of_probe(probe, subflows),
            None if subflows == 1 => self.next_of(controller, Subflow(0), 1),
            None => self.next_of_several(controller, subflows),
        }
    }

    #[inline(never)]
    fn next_of_several(&self, controller: &dyn RateController, subflows: u8) -> Option<Transmission> {
        let all = (0..subflows).filter_map(|subflow| self.next_of(controller, Subflow(subflow), subflows));
        all.min_by_key(|next| next.due)
    }

    fn next_of_probe(&self, probe: &ActiveProbe, subflows: u8) -> Option<Transmission> {
        let due = probe.pacer.due(probe.allowance)?;
        let busy = (0..subflows)
            .map(Subflow)
            .find_map(|subflow| Some((subflow, self.waiting(subflow, subflows)?.0)));
        let (subflow, class) = busy.unwrap_or((Subflow(0), Class::Padding));
        Some(Transmission { due, wake: due, subflow, class, credit: probe.allowance.credit })
    }

    /// The packet left.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Timestamp, next: &Transmission, size: DataSize) {
        let index = usize::from(next.subflow.0);
        if self.pacers.len() <= index {
            self.pacers.resize_with(index + 1, Pacer::default);
        }
        let pacer = &mut self.pacers[index];
        if let Some(probe) = &mut self.probe {
            // At a low rate the pauses for a whole probe would silence the subflow for tens of seconds.
            pacer.on_probed(now, size);
            probe.pacer.on_sent(now, probe.allowance, size);
            probe.size_left -= size;
            probe.packets_left = probe.packets_left.saturating_sub(1);
            if probe.size_left.is_zero() && probe.packets_left == 0 {
                self.probe = None;
            }
        } else {
            pacer.on_due_sent(now, Some(next.due), next.credit, size);
        }
    }
}
