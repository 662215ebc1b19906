//! MULTFRC: as many TFRC connections as the path has room for (S001, Chen and Zakhor), and its relatives.
//!
//! On a wireless path one TFRC takes every loss for congestion and leaves capacity unused. MULTFRC adds
//! connections while the round-trip time shows no queue, and takes them away when it does.

mod count;
mod receiver;

pub use count::{ConnectionCount, CountConfig, Decrease, Queueing, RttMin};
pub use receiver::MultfrcReceiver;

pub(crate) use count::CountedReports;

use crate::controller::RateController;
use crate::decision::{Gauge, LogsDecisions};
use crate::feedback::Feedback;
use crate::info::{ControllerInfo, Requirements, WeightOption, pair};
use crate::options;
use crate::options::OptionTable;
use crate::packet::{SentPacket, Subflow};
use crate::signal::LocalSignal;
use crate::tfrc::{Config, Equation, Extended, Extension, LossSide, Tfrc, Weight};
use seaway_units::Timestamp;

/// The sending half of MULTFRC.
pub type Multfrc = Extended<Connections>;

/// MULTFRC's law: how many connections are open, or what the one stands for.
#[derive(Debug, Clone)]
pub struct Connections {
    form: Form,
    count: CountedReports,
    /// How often each subflow was opened, for the receiving half to begin anew.
    epochs: Vec<u16>,
}

/// Which relative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// Whole connections, `n` rounded down: MULTFRC, and E-MULTFRC by its decrease.
    Connections,
    /// One connection that divides its loss event rate by `n²` (MULTFRC-LERD).
    Lerd,
    /// One connection worth `n` by equation, `n` set (MulTFRC of Damjanovic and Welzl).
    Weighted(f64),
}

/// Which relative, and how its number of connections falls.
#[derive(Debug, Clone, Copy)]
struct FormConfig {
    form: Form,
    decrease: Decrease,
}

impl FormConfig {
    const IIAD: Self = Self { form: Form::Connections, decrease: Decrease::Additive(1.0) };
    /// The factor is ours; the thesis behind E-MULTFRC was not at hand.
    const IIMD: Self = Self { decrease: Decrease::Multiplicative(0.75), ..Self::IIAD };
    const LERD: Self = Self { form: Form::Lerd, ..Self::IIAD };
    const WEIGHTED: Self = Self { form: Form::Weighted(2.0), ..Self::IIAD };

    const OPTIONS: OptionTable<Self> = options! { |config: &mut FormConfig, value|
        "form" = "iiad", "iiad, iimd (E-MULTFRC), lerd (MULTFRC-LERD) or weighted (MulTFRC)",
            "which relative: whole connections that fall by one or by a quarter, or one connection worth n":
            *config = value.choose(&[
                ("iiad", Self::IIAD),
                ("iimd", Self::IIMD),
                ("lerd", Self::LERD),
                ("weighted", Self::WEIGHTED),
            ])?;
        "n" = "2", "0.1 to 64", "how many flows form=weighted is worth; other forms find n themselves":
            config.form = Form::Weighted(
                value
                    .applies(matches!(config.form, Form::Weighted(_)), "a form other than weighted")?
                    .within(0.1..=64.0)?,
            );
    };
}

impl Multfrc {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        options: &[Config::OPTIONS.group, CountConfig::OPTIONS.group, FormConfig::OPTIONS.group],
        weight: Some(WeightOption { name: "n", requires: Some(("form", "weighted")) }),
        requirements: |options| {
            let subflows = !options.is("form", "weighted") && !options.is("form", "lerd");
            Requirements { tags: true, subflows, ..Requirements::DEFAULT }
        },
        ..ControllerInfo::new(
            "multfrc",
            "S001; E-MULTFRC, MULTFRC-LERD; MulTFRC (draft-irtf-iccrg-multfrc)",
            |options, flow| {
                let FormConfig { form, decrease } = options.read(&FormConfig::OPTIONS, FormConfig::IIAD)?;
                if let Form::Weighted(_) = form {
                    // It has an equation of its own, whose packets lost in an event the sender measures, and its n is set.
                    const ABSENT: &[&str] = &[
                        "equation", "clamp", "loss", "max", "alpha", "gamma", "ignored", "averaged",
                        "rtt_min",
                    ];
                    options.refuse(ABSENT, "form=weighted")?;
                }
                let config = Config::from_options(options, flow)?;
                let count = options.read(&CountConfig::OPTIONS, CountConfig::new(decrease))?;
                let subflows = if form == Form::Connections { count.max as u8 } else { 1 };
                Ok(pair(Self::new(config, form, count), MultfrcReceiver::new(config, subflows)))
            },
        )
    };

    /// One connection at first.
    pub fn new(config: Config, form: Form, count: CountConfig) -> Self {
        let config = match form {
            // Its equation wants the packets lost in an event, which only the sender sees.
            Form::Weighted(n) => {
                Config { equation: Equation::Weighted { n }, loss: LossSide::Sender, ..config }
            }
            Form::Connections | Form::Lerd => config,
        };
        let most = if form == Form::Connections { count.max as u8 } else { 1 };
        let epochs = vec![0; usize::from(most)];
        Self::over(config, most, Connections { form, count: CountedReports::new(count), epochs })
    }
}

impl Extension for Connections {
    fn tag(&mut self, next: &SentPacket) -> Option<u16> {
        Some(self.epochs.get(usize::from(next.subflow.0)).copied().unwrap_or(0))
    }

    fn on_feedback(&mut self, connections: &mut Tfrc, now: Timestamp, feedback: &Feedback<'_>) {
        // The round-trip time of the first connection stands for all.
        if feedback.subflow != Subflow(0) || matches!(self.form, Form::Weighted(_)) {
            return;
        }
        let Some(decided) = self.count.on_report(now, feedback) else { return };
        let rule = if decided.grew { "no queue: more connections" } else { "queue: fewer connections" };
        let open = connections.subflows();
        connections.decide(now, |connections| {
            match self.form {
                Form::Lerd => connections.set_weight(Weight::Loss(decided.n)),
                _ => connections.set_count(decided.n.floor() as u8),
            }
            Some(decided.reason(rule))
        });
        for subflow in open..connections.subflows() {
            self.epochs[usize::from(subflow)] = self.epochs[usize::from(subflow)].wrapping_add(1);
        }
    }

    fn on_signal(&mut self, _connections: &mut Tfrc, _now: Timestamp, signal: LocalSignal) {
        self.count.on_signal(signal);
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        self.count.inspect(visit);
    }
}
