//! CTFRC: one connection worth `n`, its loss measured on a virtual flow of marked packets (S001).
//!
//! A fraction `1/n` of the packets belongs to a virtual TFRC flow and carries a number of its own. Loss events
//! are what *that* flow sees: on the whole flow, `n` losses would fall into one event and the rate come out too
//! high. The flow then sends `n` times what the virtual one may, `n` real and found as MULTFRC finds it.

mod receiver;

pub use receiver::CtfrcReceiver;

use crate::decision::{Gauge, LogsDecisions};
use crate::feedback::Feedback;
use crate::info::{ControllerInfo, Requirements, pair};
use crate::multfrc::{CountConfig, CountedReports, Decrease};
use crate::options;
use crate::options::OptionTable;
use crate::packet::SentPacket;
use crate::signal::LocalSignal;
use crate::tfrc::{Config, Extended, Extension, Tfrc, Weight};
use seaway_units::{Ecn, Timestamp};

/// The sending half of CTFRC.
pub type Ctfrc = Extended<VirtualFlow>;

/// CTFRC's law: which packets belong to the virtual flow, and how many such flows the whole is worth.
#[derive(Debug, Clone)]
pub struct VirtualFlow {
    count: CountedReports,
    /// Share of the virtual flow's next packet that has been sent.
    due: f64,
    next_number: u16,
}

impl Ctfrc {
    const OPTIONS: OptionTable<Config> = options! { |config: &mut Config, value|
        "form" = "ctfrc", "ctfrc or aio (AIO-TFRC)",
            "ctfrc responds to congestion marks too; aio measures loss alone":
            config.ecn = value.choose(&[("ctfrc", config.ecn), ("aio", Ecn::NotEct)])?;
    };

    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        options: &[Config::OPTIONS.group, CountConfig::OPTIONS.group, Self::OPTIONS.group],
        requirements: |_| Requirements { tags: true, ..Requirements::DEFAULT },
        ..ControllerInfo::new("ctfrc", "S001; AIO-TFRC", |options, flow| {
            let config = options.read(&Self::OPTIONS, Config::from_options(options, flow)?)?;
            let count = options.read(&CountConfig::OPTIONS, Self::COUNT)?;
            Ok(pair(Self::new(config, count), CtfrcReceiver::new(config)))
        })
    };

    /// S001's law. The tolerated queue is twice MULTFRC's: one virtual flow times `n` varies more than `n` flows
    /// together, and with less to fall back on the link would idle.
    const COUNT: CountConfig = CountConfig { gamma: 0.4, ..CountConfig::new(Decrease::Additive(1.0)) };

    /// Weight one connection at first.
    pub fn new(config: Config, count: CountConfig) -> Self {
        Self::over(config, 1, VirtualFlow { count: CountedReports::new(count), due: 0.0, next_number: 0 })
    }
}

impl Extension for VirtualFlow {
    fn tag(&mut self, _next: &SentPacket) -> Option<u16> {
        self.due += 1.0 / self.count.n();
        (self.due >= 1.0).then(|| {
            self.due -= 1.0;
            let number = self.next_number;
            self.next_number = number.wrapping_add(1);
            number
        })
    }

    fn on_feedback(&mut self, connections: &mut Tfrc, now: Timestamp, feedback: &Feedback<'_>) {
        let Some(decided) = self.count.on_report(now, feedback) else { return };
        let rule = if decided.grew { "no queue: higher weight" } else { "queue: lower weight" };
        connections.decide(now, |connection| {
            connection.set_weight(Weight::Rate(decided.n));
            Some(decided.reason(rule))
        });
    }

    fn on_signal(&mut self, _connections: &mut Tfrc, _now: Timestamp, signal: LocalSignal) {
        self.count.on_signal(signal);
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        self.count.inspect(visit);
    }
}
