//! Applications over TCP: an endless file, a single transfer, transfers with pauses between them.

use crate::tcp::{Segment, Sender, SenderConfig, SenderStatistics};
use seaway_link::{Packet, RandomStream};
use seaway_units::{DataSize, TimeDelta, Timestamp};

/// What an application transfers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transfers {
    /// There is always more to send.
    Endless,
    /// One transfer.
    Once(SizeModel),
    /// One transfer after the other, each by a new connection. After each, the application is idle for an
    /// exponentially distributed time with mean `idle` (RFC 8867 section 5.7, RFC 8868 section 2.4).
    OnOff {
        /// Drawn for each transfer.
        size: SizeModel,
        /// Mean time between the end of a transfer and the begin of the next.
        idle: TimeDelta,
        /// It begins with a pause, not with a transfer.
        starts_idle: bool,
    },
}

/// How much a transfer moves, in octets of payload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SizeModel {
    /// Always the same.
    Fixed(DataSize),
    /// Uniform between two sizes.
    Uniform(DataSize, DataSize),
    /// Pareto with this mean and shape, as objects of the web are; the shape is above 1.
    Pareto {
        /// Mean.
        mean: DataSize,
        /// The lower, the heavier the tail.
        shape: f64,
    },
}

impl SizeModel {
    /// At least one octet.
    fn draw(self, stream: &mut RandomStream) -> DataSize {
        let bytes = match self {
            Self::Fixed(size) => return size.max(DataSize::from_bytes(1)),
            Self::Uniform(from, to) => stream.uniform_between(from.as_bytes_f64(), to.as_bytes_f64()),
            Self::Pareto { mean, shape } => {
                let least = mean.as_bytes_f64() * (shape - 1.0) / shape;
                least / libm::pow(1.0 - stream.uniform(), 1.0 / shape)
            }
        };
        DataSize::from_bytes((bytes + 0.5) as u64).max(DataSize::from_bytes(1))
    }
}

/// What a [`TcpSource`] has transferred.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TransferStatistics {
    /// Transfers begun.
    pub begun: u64,
    /// Transfers whose last octet has been acknowledged.
    pub completed: u64,
    /// How long these took in all, from the SYN to the last acknowledgement.
    pub completion: TimeDelta,
}

/// A TCP sender with an application on top.
#[derive(Debug, Clone)]
pub struct TcpSource {
    sender: Sender,
    transfers: Transfers,
    stream: RandomStream,
    state: State,
    statistics: TransferStatistics,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has not been started.
    New,
    Transferring {
        since: Timestamp,
    },
    /// The next transfer begins then.
    Idle {
        until: Timestamp,
    },
    /// There is nothing more to transfer.
    Done,
}

impl TcpSource {
    /// An application that has not begun. Sizes and pauses come from `stream`.
    pub fn new(config: SenderConfig, transfers: Transfers, stream: RandomStream) -> Self {
        let statistics = TransferStatistics::default();
        Self { sender: Sender::new(config), transfers, stream, state: State::New, statistics }
    }

    /// The application begins, or goes on after [`pause`](Self::pause).
    pub fn resume(&mut self, now: Timestamp) {
        self.sender.set_quiet(false);
        match (self.state, self.transfers) {
            (State::New, Transfers::OnOff { idle, starts_idle: true, .. }) => self.idle(now, idle),
            (State::New, _) => self.begin(now),
            (State::Idle { until }, _) => self.state = State::Idle { until: until.max(now) },
            _ => {}
        }
    }

    /// The application gives no new data, and begins no transfer, before it is resumed. What is on its way is
    /// repaired.
    pub fn pause(&mut self) {
        self.sender.set_quiet(true);
    }

    /// The sender underneath.
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The sample of the round-trip time that the last input gave, once.
    pub const fn take_round_trip(&mut self) -> Option<TimeDelta> {
        self.sender.take_round_trip()
    }

    /// What it has transferred.
    pub const fn transferred(&self) -> TransferStatistics {
        self.statistics
    }

    /// What its sender has done.
    pub const fn statistics(&self) -> SenderStatistics {
        self.sender.statistics()
    }

    fn begin(&mut self, now: Timestamp) {
        let size = match self.transfers {
            Transfers::Endless => None,
            Transfers::Once(size) | Transfers::OnOff { size, .. } => Some(size.draw(&mut self.stream)),
        };
        self.sender.open(size);
        self.state = State::Transferring { since: now };
        self.statistics.begun += 1;
    }

    fn idle(&mut self, now: Timestamp, mean: TimeDelta) {
        let span = TimeDelta::from_secs_f64(self.stream.exponential(mean.as_secs_f64()));
        self.state = State::Idle { until: now + span };
    }

    /// Sees whether a transfer has come to its end.
    fn after_input(&mut self, now: Timestamp) {
        let State::Transferring { since } = self.state else { return };
        if !self.sender.is_closed() {
            return;
        }
        self.statistics.completed += 1;
        self.statistics.completion += now - since;
        match self.transfers {
            Transfers::OnOff { idle, .. } => self.idle(now, idle),
            _ => self.state = State::Done,
        }
    }
}

impl TcpSource {
    /// A segment arrives.
    pub fn handle_segment(&mut self, now: Timestamp, segment: &Segment) {
        self.sender.handle_segment(now, segment);
        self.after_input(now);
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.sender.handle_timeout(now);
        if let State::Idle { until } = self.state
            && until <= now
            && !self.sender.is_quiet()
        {
            self.begin(now);
        }
    }

    /// The next segment that leaves at `now`.
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<Packet<Segment>> {
        self.sender.poll_transmit(now)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) and [`poll_transmit`](Self::poll_transmit) next.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        match self.state {
            State::Idle { until } if !self.sender.is_quiet() => Some(until),
            State::Idle { .. } => None,
            _ => self.sender.poll_timeout(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(model: SizeModel) -> f64 {
        let mut stream = RandomStream::new(3, "sizes");
        let draws = 100_000;
        (0..draws).map(|_| model.draw(&mut stream).as_bytes_f64()).sum::<f64>() / f64::from(draws)
    }

    #[test]
    fn sizes_have_their_means() {
        let kb = |kilo: u64| DataSize::from_bytes(kilo * 1000);
        assert_eq!(mean(SizeModel::Fixed(kb(40))), 40_000.0);
        assert!((mean(SizeModel::Uniform(kb(30), kb(50))) - 40_000.0).abs() < 100.0);
        let pareto = mean(SizeModel::Pareto { mean: kb(12), shape: 2.5 });
        assert!((pareto - 12_000.0).abs() < 300.0, "{pareto}");
    }
}
