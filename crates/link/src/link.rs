//! One direction of a link.

use crate::closed_form::{ClosedForm, Fate, Transit};
use crate::error::Error;
use crate::event_driven::{self, EventDriven};
use crate::node::{Dropped, Node, Outbox, Packet, Port, Wake};
use crate::plan::LinkPlan;
use crate::statistics::LinkStatistics;
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};

/// One direction of a link: a queue, a server, and a propagation path. A policer may stand before the queue, and a shaper
/// behind it.
///
/// Packets enter by [`Link::IN`] and leave by [`Link::OUT`]. Every event takes place at its own instant, however late
/// the host calls: end of service before a change of rate, and both before an arrival at the same instant. Each packet's
/// waiting time is added to [`Packet::waited`].
///
/// Where the queue is drop-tail, the rate constant and the order kept, the link is [closed-form](Self::is_closed_form): it
/// computes a packet's departure when the packet arrives. A loss on the channel is then reported at once, with the
/// later instant at which it takes place.
#[derive(Debug, Clone)]
pub struct Link<P>(Kind<P>);

#[derive(Debug, Clone)]
enum Kind<P> {
    ClosedForm(Box<ClosedForm>),
    EventDriven(Box<EventDriven<P>>),
}

macro_rules! each {
    ($self:expr, $link:ident => $call:expr) => {
        match $self {
            Kind::ClosedForm($link) => $call,
            Kind::EventDriven($link) => $call,
        }
    };
}

impl<P> Link<P> {
    /// The port by which packets enter.
    pub const IN: Port = Port(0);
    /// The port by which packets leave.
    pub const OUT: Port = event_driven::OUT;

    /// The link that `plan` describes. Its queue, loss and jitter draw from the streams `name/queue`, `name/loss`
    /// and `name/jitter` of the run's `seed`, so that changing one does not
    /// change what the others draw.
    ///
    /// # Errors
    /// Where the plan's queue does not hold together with its rate.
    pub fn new(plan: &LinkPlan, seed: u64, name: &str) -> Result<Self, Error> {
        // The general form checks the plan, whichever form is used.
        let general = EventDriven::new(plan, seed, name)?;
        Ok(Self(match ClosedForm::new(plan, general.admission(), seed, name) {
            Some(closed) => Kind::ClosedForm(Box::new(closed)),
            None => Kind::EventDriven(Box::new(general)),
        }))
    }

    /// Counters and averages of the window that began with the link or with [`Link::restart_statistics`], up to `now`, to
    /// which the host has run the link.
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

    /// Packets and octets that wait at `now`, to which the host has run the link; the packet in service does not.
    pub fn waiting(&self, now: Timestamp) -> (u64, DataSize) {
        match &self.0 {
            Kind::ClosedForm(link) => link.waiting(now),
            Kind::EventDriven(link) => link.waiting(),
        }
    }

    /// Packets waiting, in service, or in flight at `now`, to which the host has run the link.
    pub fn inside(&self, now: Timestamp) -> u64 {
        match &self.0 {
            Kind::ClosedForm(link) => link.inside(now),
            Kind::EventDriven(link) => link.inside(),
        }
    }

    /// The least time that a packet spends in a [closed-form](Self::is_closed_form) link; `None` for another.
    pub fn least_delay(&self) -> Option<TimeDelta> {
        match &self.0 {
            Kind::ClosedForm(link) => Some(link.least_delay()),
            Kind::EventDriven(_) => None,
        }
    }

    /// True where a packet's departure is computed when it arrives.
    pub const fn is_closed_form(&self) -> bool {
        matches!(self.0, Kind::ClosedForm(_))
    }

    /// The way of a packet of `size` that arrives at `at`, which may lie after the host's present as long as no other packet
    /// arrives before. The host adds the wait and delivers the packet itself. It reads statistics no earlier than
    /// `unread_until`. `None`, without effect, where the link is not [closed-form](Self::is_closed_form).
    #[inline(always)]
    pub fn transit(&mut self, at: Timestamp, size: DataSize, unread_until: Timestamp) -> Option<Transit> {
        match &mut self.0 {
            Kind::ClosedForm(link) => Some(link.transit(at, size, unread_until)),
            Kind::EventDriven(_) => None,
        }
    }
}

impl<P: std::fmt::Debug + Send> Node<P> for Link<P> {
    fn on_packet(&mut self, now: Timestamp, port: Port, mut packet: Packet<P>, out: &mut Outbox<P>) -> Wake {
        debug_assert_eq!(port, Self::IN);
        match &mut self.0 {
            Kind::ClosedForm(link) => {
                let Transit { fate, wait } = link.transit(now, packet.size, now);
                packet.waited += wait;
                match fate {
                    Fate::Arrives(arrival) => out.send(arrival, Self::OUT, packet),
                    Fate::Dropped { at, cause } => out.drop(Dropped { at, cause, packet }),
                }
                None
            }
            Kind::EventDriven(link) => link.on_packet(now, packet, out),
        }
    }

    fn run(&mut self, now: Timestamp, until: Timestamp, out: &mut Outbox<P>) -> Wake {
        match &mut self.0 {
            Kind::ClosedForm(_) => None,
            Kind::EventDriven(link) => link.run(now, until, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkConfig;
    use proptest::prelude::*;
    use seaway_units::Ecn;
    use seaway_units::earlier;

    type Deliveries = Vec<(Timestamp, Packet<usize>)>;

    const TICK: TimeDelta = TimeDelta::from_nanos(1);

    fn host(mut link: Link<usize>, sends: &[(i64, u64)]) -> (Deliveries, Vec<Dropped<usize>>, String) {
        let (mut delivered, mut dropped, mut wake) = (Vec::new(), Vec::new(), None);
        let mut out = Outbox::default();
        let mut run = |link: &mut Link<usize>,
                       wake: &mut Option<Timestamp>,
                       out: &mut Outbox<usize>,
                       end: Timestamp| {
            while let Some(due) = earlier(*wake, out.next_departure()).filter(|due| *due <= end) {
                *wake = link.run(due, due + TICK, out);
                delivered.extend(std::iter::from_fn(|| out.pop_departure(due)).map(|out| (due, out.packet)));
            }
            dropped.extend(std::iter::from_fn(|| out.pop_dropped()));
        };
        let mut now = Timestamp::ZERO;
        for (index, &(gap, bytes)) in sends.iter().enumerate() {
            now += TimeDelta::from_micros(gap);
            run(&mut link, &mut wake, &mut out, now);
            let packet = Packet::new(DataSize::from_bytes(bytes), Ecn::NotEct, index);
            wake = link.on_packet(now, Link::<usize>::IN, packet, &mut out);
            if index == sends.len() / 2 {
                link.restart_statistics(now);
            }
        }
        // When all is over the counters must agree; before that a loss is known earlier.
        let end = now + TimeDelta::from_secs(3600);
        run(&mut link, &mut wake, &mut out, end);
        link.run(end, end + TICK, &mut out);
        let mut statistics = link.statistics(end);
        // What was inside at the restart and is lost later is known to be so already.
        statistics.carried_in = 0;
        statistics.drops.channel = 0;
        let statistics = format!("{statistics:?}");
        dropped.sort_by_key(|dropped| (dropped.packet.payload, dropped.at));
        (delivered, dropped, statistics)
    }

    proptest! {
        /// Both forms of a link deliver the same packets at the same instants after the same waiting, drop the same, and
        /// report the same statistics.
        #[test]
        fn the_closed_form_equals_the_event_driven_link(
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
            prop_assert!(link.is_closed_form());
            let general = Link(Kind::EventDriven(Box::new(EventDriven::new(&plan, 1, "link").unwrap())));
            prop_assert_eq!(host(link, &sends), host(general, &sends));
        }
    }
}
