//! One direction of a link.

use crate::error::Error;
use crate::foreseen::{Foreseen, Foresight};
use crate::node::{Dropped, Node, Packet, Port};
use crate::plan::LinkPlan;
use crate::random::RandomStream;
use crate::statistics::LinkStatistics;
use crate::stepwise::Stepwise;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// One direction of a link: a queue, a server that takes from it, and a pipe behind. A policer may stand before the
/// queue, and a shaper behind it.
///
/// Packets come in at [`Link::IN`] and leave by [`Link::OUT`]. Everything happens at its own instant, however late
/// the host calls: end of service comes before a change of rate, and both before an arrival at the same instant.
/// Each packet's waiting time is added to [`Packet::waited`].
///
/// Where the queue is drop-tail, the rate constant and nothing overtakes, the fate of a packet is known when it
/// comes: then a loss on the channel is told at once, with the later instant at which it falls.
#[derive(Debug, Clone)]
pub struct Link<P>(Kind<P>);

#[derive(Debug, Clone)]
enum Kind<P> {
    Foreseen(Box<Foreseen<P>>),
    Stepwise(Box<Stepwise<P>>),
}

macro_rules! each {
    ($self:expr, $link:ident => $call:expr) => {
        match $self {
            Kind::Foreseen($link) => $call,
            Kind::Stepwise($link) => $call,
        }
    };
}

/// The random stream of a part of a link.
pub(crate) fn stream(seed: u64, name: &str, part: &str) -> RandomStream {
    RandomStream::new(seed, &format!("{name}/{part}"))
}

impl<P> Link<P> {
    /// The port where packets come in.
    pub const IN: Port = Port(0);
    /// The port by which packets leave.
    pub const OUT: Port = Port(1);

    /// The link that `plan` describes. Its queue, loss and jitter draw from the streams `name/queue`, `name/loss`
    /// and `name/jitter` of the run's `seed`, so that changing one leaves the others' luck alone.
    ///
    /// # Errors
    /// Where the plan's queue does not hold together with its rate.
    pub fn new(plan: &LinkPlan, seed: u64, name: &str) -> Result<Self, Error> {
        // The general form checks the plan, whichever form is used.
        let stepwise = Stepwise::new(plan, seed, name)?;
        Ok(Self(match Foreseen::new(plan, stepwise.door(), seed, name) {
            Some(foreseen) => Kind::Foreseen(Box::new(foreseen)),
            None => Kind::Stepwise(Box::new(stepwise)),
        }))
    }

    /// Books and averages of the window that began with the link or with [`Link::restart_statistics`], up to `now`, to
    /// which the host has driven the link.
    pub fn statistics(&self, now: Timestamp) -> LinkStatistics {
        each!(&self.0, link => link.statistics(now))
    }

    /// Begins a new window at `now`, as at the end of a warm-up.
    pub fn restart_statistics(&mut self, now: Timestamp) {
        each!(&mut self.0, link => link.restart_statistics(now));
    }

    /// The present rate, zero in an outage; where a trace gives opportunities, their mean rate.
    pub fn rate(&self) -> Bitrate {
        each!(&self.0, link => link.rate())
    }

    /// Packets and octets that wait at `now`, to which the host has driven the link; the packet in service does not.
    pub fn waiting(&self, now: Timestamp) -> (u64, DataSize) {
        match &self.0 {
            Kind::Foreseen(link) => link.waiting(now),
            Kind::Stepwise(link) => link.waiting(),
        }
    }

    /// Packets waiting, in service, or flying at `now`, to which the host has driven the link.
    pub fn inside(&self, now: Timestamp) -> u64 {
        match &self.0 {
            Kind::Foreseen(link) => link.inside(now),
            Kind::Stepwise(link) => link.inside(),
        }
    }

    /// The least time that a packet spends in a link that [foresees](Self::foresees); `None`
    /// for another.
    pub fn least_delay(&self) -> Option<TimeDelta> {
        match &self.0 {
            Kind::Foreseen(link) => Some(link.least_delay()),
            Kind::Stepwise(_) => None,
        }
    }

    /// True where the fate of a packet is known when it comes.
    pub const fn foresees(&self) -> bool {
        matches!(self.0, Kind::Foreseen(_))
    }

    /// A packet comes at `at`, which may lie ahead of the host's present as long as no other comes before it; what
    /// becomes of it. The host adds its waiting and delivers it itself, and asks for books and waiting packets no
    /// earlier than `unseen_until`. `None`, and nothing happened: this link [foresees](Self::foresees) nothing.
    #[inline(always)]
    pub fn foresee(&mut self, at: Timestamp, size: DataSize, unseen_until: Timestamp) -> Option<Foresight> {
        match &mut self.0 {
            Kind::Foreseen(link) => Some(link.foresee(at, size, unseen_until)),
            Kind::Stepwise(_) => None,
        }
    }
}

impl<P: std::fmt::Debug + Send> Node<P> for Link<P> {
    fn handle_packet(&mut self, now: Timestamp, port: Port, packet: Packet<P>) {
        debug_assert_eq!(port, Self::IN);
        each!(&mut self.0, link => link.handle_packet(now, packet));
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        each!(&mut self.0, link => link.handle_timeout(now));
    }

    fn poll_packet(&mut self, now: Timestamp) -> Option<(Port, Packet<P>)> {
        each!(&mut self.0, link => link.poll_packet(now)).map(|packet| (Self::OUT, packet))
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        each!(&self.0, link => link.poll_timeout())
    }

    fn poll_dropped(&mut self) -> Option<Dropped<P>> {
        each!(&mut self.0, link => link.poll_dropped())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkConfig;
    use proptest::prelude::*;
    use seaway_units::Ecn;

    type Deliveries = Vec<(Timestamp, Packet<usize>)>;

    fn host(mut link: Link<usize>, sends: &[(i64, u64)]) -> (Deliveries, Vec<Dropped<usize>>, String) {
        let (mut delivered, mut dropped, mut books) = (Vec::new(), Vec::new(), String::new());
        let mut now = Timestamp::ZERO;
        for (index, &(gap, bytes)) in sends.iter().enumerate() {
            now += TimeDelta::from_micros(gap);
            while let Some(due) = link.poll_timeout().filter(|due| *due <= now) {
                link.handle_timeout(due);
                delivered
                    .extend(std::iter::from_fn(|| link.poll_packet(due)).map(|(_, packet)| (due, packet)));
                dropped.extend(std::iter::from_fn(|| link.poll_dropped()));
            }
            link.handle_packet(
                now,
                Link::<usize>::IN,
                Packet::new(DataSize::from_bytes(bytes), Ecn::NotEct, index),
            );
            dropped.extend(std::iter::from_fn(|| link.poll_dropped()));
            if index == sends.len() / 2 {
                link.restart_statistics(now);
            }
        }
        // When all is over the books must agree; on the way a loss is known earlier.
        let end = now + TimeDelta::from_secs(3600);
        while let Some(due) = link.poll_timeout() {
            link.handle_timeout(due);
            delivered.extend(std::iter::from_fn(|| link.poll_packet(due)).map(|(_, packet)| (due, packet)));
            dropped.extend(std::iter::from_fn(|| link.poll_dropped()));
        }
        link.handle_timeout(end);
        let mut statistics = link.statistics(end);
        // What was inside at the restart and is lost later is known to be so already.
        statistics.carried_in = 0;
        statistics.drops.channel = 0;
        books.push_str(&format!("{statistics:?}"));
        dropped.sort_by_key(|dropped| (dropped.packet.payload, dropped.at));
        (delivered, dropped, books)
    }

    proptest! {
        /// Known beforehand or found out step by step: the same packets arrive at the same instants after the same
        /// waiting, the same are dropped, and queue and server have been as long and as busy.
        #[test]
        fn foresight_is_what_happens(
            extra in prop::sample::select(vec![
                "", "loss = { kind = 'independent', rate = 0.2 }\n", "policer = { rate = '500 kbit/s', burst = '4 kB' }\n",
                "loss = { kind = 'gilbert-elliott', mean = 0.1, burst = 3, per = 'ms' }\n",
                "loss = { kind = 'independent', rate = 0.2, at = 'entry' }\n", "jitter = { kind = 'rfc8868', std = '5 ms' }\n",
            ]),
            queue in prop::sample::select(vec![
                "packets = 4", "packets_waiting = 3", "bytes = '4 kB'", "time = '9 ms'",
                "bytes = '4 kB', room = '1500 B'", "time = '9 ms', room = '700 B'",
            ]),
            rate in prop::sample::select(vec!["2 Mbit/s", "1777773 bit/s"]),
            sends in prop::collection::vec((0_i64..6000, 40_u64..1501), 1..80),
        ) {
            let text = format!("rate = '{rate}'\ndelay = '7 ms'\n{extra}queue = {{ kind = 'drop-tail', {queue} }}");
            let plan = toml::from_str::<LinkConfig>(&text).unwrap().plan().unwrap();
            let link = Link::new(&plan, 1, "link").unwrap();
            prop_assert!(link.foresees());
            let stepwise = Link(Kind::Stepwise(Box::new(Stepwise::new(&plan, 1, "link").unwrap())));
            prop_assert_eq!(host(link, &sends), host(stepwise, &sends));
        }
    }
}
