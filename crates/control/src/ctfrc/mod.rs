//! CTFRC: one connection worth `n`, its loss measured on a virtual flow of marked packets (S001).
//!
//! A fraction `1/n` of the packets belongs to a virtual TFRC flow and carries a number of its own. Loss events
//! are what *that* flow sees: on the whole flow, `n` losses would fall into one event and the rate come out too
//! high. The flow then sends `n` times what the virtual one may, `n` real and found as MULTFRC finds it.

mod receiver;

pub use receiver::CtfrcReceiver;

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{Decision, Gauge};
use crate::feedback::Feedback;
use crate::multfrc::{COUNT_OPTIONS, ConnectionCount, CountConfig, Decrease};
use crate::packet::{Lane, SentPacket, Stamp};
use crate::parts::plausible_rtt;
use crate::registry::{ControllerInfo, Kind, OptionInfo, join_options};
use crate::signal::LocalSignal;
use crate::tfrc::{CONNECTION_OPTIONS, Cause, Config, Tfrc, Worth};
use seaway_units::{Ecn, Timestamp};

/// The sending half of CTFRC.
#[derive(Debug, Clone)]
pub struct Ctfrc {
    connection: Tfrc,
    count: ConnectionCount,
    counted_at: Option<Timestamp>,
    /// Share of the virtual flow's next packet that has been sent.
    due: f64,
    next_virtual: u16,
}

const OWN_OPTIONS: [OptionInfo; 1] = [OptionInfo {
    name: "form",
    default: "ctfrc",
    range: "ctfrc or aio (AIO-TFRC)",
    about: "ctfrc answers congestion marks too; aio measures loss alone",
}];
const FAMILY: [OptionInfo; 7] = join_options(COUNT_OPTIONS, OWN_OPTIONS);
const OPTIONS: [OptionInfo; 18] = join_options(CONNECTION_OPTIONS, FAMILY);

impl Ctfrc {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        name: "ctfrc",
        source: "S001; AIO-TFRC",
        kind: Kind::Rate,
        options: &OPTIONS,
        build: |options, setting| {
            let form = options.take_if("form", |form: &String| form == "ctfrc" || form == "aio")?;
            let ecn = if form.is_some_and(|form| form == "aio") { Ecn::NotEct } else { setting.ecn };
            let config = Config { ecn, ..Config::from_options(options, setting)? };
            let count = CountConfig::from_options(options, Self::COUNT)?;
            Ok((Self::new(config, count).into(), CtfrcReceiver::new(config).into()))
        },
    };

    /// S001's law. The tolerated queue is twice MULTFRC's: one virtual flow times `n` varies more than `n` flows
    /// together, and with less to fall back on the link would idle.
    const COUNT: CountConfig = CountConfig { gamma: 0.4, ..CountConfig::new(Decrease::Additive(1.0)) };

    /// Worth one connection at first.
    pub fn new(config: Config, count: CountConfig) -> Self {
        let connection = Tfrc::new(config, 1);
        Self { connection, count: ConnectionCount::new(count), counted_at: None, due: 0.0, next_virtual: 0 }
    }

    fn count_report(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        let Some(rtt) = feedback.rtt.and_then(plausible_rtt) else { return };
        if self.counted_at.is_some_and(|at| now.since(at).as_secs_f64() < 0.5 * rtt) {
            return;
        }
        self.counted_at = Some(now);
        let former = self.count.get();
        let Some(queueing) = self.count.on_rtt(rtt) else { return };
        let n = self.count.get();
        let rule = if n > former { "no queue: worth more" } else { "queue: worth less" };
        let signal = Gauge::new("queueing_delay", queueing.delay, "s");
        self.connection.change(now, |connection| {
            connection.set_worth(Worth::Rate(n));
            Some(Cause::new(rule, signal, queueing.tolerated))
        });
    }
}

impl RateController for Ctfrc {
    fn stamp(&mut self, now: Timestamp, next: &SentPacket) -> Stamp {
        self.due += 1.0 / self.count.get();
        let tag = (self.due >= 1.0).then(|| {
            self.due -= 1.0;
            let number = self.next_virtual;
            self.next_virtual = number.wrapping_add(1);
            number
        });
        Stamp { tag, ..self.connection.stamp(now, next) }
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        self.connection.on_sent(now, packet);
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        self.connection.on_feedback(now, feedback);
        self.count_report(now, feedback);
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        if signal == LocalSignal::RouteChanged {
            self.count.route_changed();
        }
        self.connection.on_signal(now, signal);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.connection.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.connection.poll_timeout()
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.connection.poll_decision()
    }

    fn allowance(&self, lane: Lane) -> Allowance {
        self.connection.allowance(lane)
    }

    fn target(&self) -> Target {
        self.connection.target()
    }

    fn phase(&self) -> &'static str {
        self.connection.phase()
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        self.connection.inspect(visit);
        visit(Gauge::new("connections", self.count.get(), ""));
        if self.count.rtt_min().is_finite() {
            visit(Gauge::new("rtt_min", self.count.rtt_min(), "s"));
        }
    }
}
