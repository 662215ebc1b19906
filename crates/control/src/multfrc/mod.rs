//! MULTFRC: as many TFRC connections as the path has room for (S001, Chen and Zakhor), and its relatives.
//!
//! On a wireless path one TFRC takes every loss for congestion and leaves capacity unused. MULTFRC adds
//! connections while the round-trip time shows no queue, and takes them away when it does.

mod count;
mod receiver;

pub use count::{ConnectionCount, CountConfig, Decrease, Queueing, RttMin};
pub use receiver::MultfrcReceiver;

pub(crate) use count::COUNT_OPTIONS;

use crate::allowance::{Allowance, Target};
use crate::controller::RateController;
use crate::decision::{Decision, Gauge};
use crate::feedback::Feedback;
use crate::packet::{Lane, SentPacket, Stamp};
use crate::parts::plausible_rtt;
use crate::registry::{ControllerInfo, Kind, OptionInfo, Options, Setting, join_options};
use crate::signal::LocalSignal;
use crate::spec::SpecError;
use crate::tfrc::{CONNECTION_OPTIONS, Cause, Config, Equation, LossSide, Tfrc, Worth};
use seaway_units::Timestamp;
use std::str::FromStr;

/// The sending half of MULTFRC.
#[derive(Debug, Clone)]
pub struct Multfrc {
    connections: Tfrc,
    form: Form,
    count: ConnectionCount,
    /// When a report of the round-trip time was counted last.
    counted_at: Option<Timestamp>,
    /// How often each lane was opened, for the receiving half to begin anew.
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

const OWN_OPTIONS: [OptionInfo; 2] = [
    OptionInfo {
        name: "form",
        default: "iiad",
        range: "iiad, iimd (E-MULTFRC), lerd (MULTFRC-LERD) or weighted (MulTFRC)",
        about: "which relative: whole connections that fall by one or by a quarter, or one connection worth n",
    },
    OptionInfo {
        name: "n",
        default: "2",
        range: "0.1 to 64",
        about: "how many flows form=weighted is worth; other forms find n themselves",
    },
];

const FAMILY: [OptionInfo; 8] = join_options(COUNT_OPTIONS, OWN_OPTIONS);
const OPTIONS: [OptionInfo; 19] = join_options(CONNECTION_OPTIONS, FAMILY);

impl Multfrc {
    pub(crate) const INFO: ControllerInfo = ControllerInfo {
        name: "multfrc",
        source: "S001; E-MULTFRC, MULTFRC-LERD; MulTFRC (draft-irtf-iccrg-multfrc)",
        kind: Kind::Rate,
        options: &OPTIONS,
        build: |options, setting| {
            let (config, form, count) = from_options(options, setting)?;
            let lanes = if form == Form::Connections { count.max as u8 } else { 1 };
            Ok((Self::new(config, form, count).into(), MultfrcReceiver::new(config, lanes).into()))
        },
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
        Self {
            connections: Tfrc::with_room(
                config,
                1,
                if form == Form::Connections { count.max as u8 } else { 1 },
            ),
            form,
            count: ConnectionCount::new(count),
            counted_at: None,
            epochs: vec![0; count.max as usize],
        }
    }

    /// Counts a report of the round-trip time, one each round-trip time, of the first connection.
    fn count_report(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        if feedback.lane != Lane(0) || matches!(self.form, Form::Weighted(_)) {
            return;
        }
        let Some(rtt) = feedback.rtt.and_then(plausible_rtt) else { return };
        if self.counted_at.is_some_and(|at| now.since(at).as_secs_f64() < 0.5 * rtt) {
            return;
        }
        self.counted_at = Some(now);
        let former = self.count.get();
        let Some(queueing) = self.count.on_rtt(rtt) else { return };
        let n = self.count.get();
        let rule = if n > former { "no queue: more connections" } else { "queue: fewer connections" };
        let signal = Gauge::new("queueing_delay", queueing.delay, "s");
        let cause = Cause::new(rule, signal, queueing.tolerated);
        let form = self.form;
        let open = self.connections.lanes();
        self.connections.change(now, |connections| {
            match form {
                Form::Lerd => connections.set_worth(Worth::Loss(n)),
                _ => connections.set_count(n.floor() as u8),
            }
            Some(cause)
        });
        for lane in open..self.connections.lanes() {
            self.epochs[usize::from(lane)] = self.epochs[usize::from(lane)].wrapping_add(1);
        }
    }
}

fn from_options(options: &Options<'_>, setting: Setting) -> Result<(Config, Form, CountConfig), SpecError> {
    let config = Config::from_options(options, setting)?;
    let (form, decrease) = match options.take("form")?.unwrap_or(FormName::Iiad) {
        FormName::Iiad => (Form::Connections, Decrease::Additive(1.0)),
        // The factor is ours; the thesis behind E-MULTFRC was not at hand.
        FormName::Iimd => (Form::Connections, Decrease::Multiplicative(0.75)),
        FormName::Lerd => (Form::Lerd, Decrease::Additive(1.0)),
        FormName::Weighted => {
            let n = options.take_if("n", |n| (0.1..=64.0).contains(n))?.unwrap_or(2.0);
            (Form::Weighted(n), Decrease::Additive(1.0))
        }
    };
    Ok((config, form, CountConfig::from_options(options, CountConfig::new(decrease))?))
}

#[derive(Clone, Copy)]
enum FormName {
    Iiad,
    Iimd,
    Lerd,
    Weighted,
}

impl FromStr for FormName {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "iiad" => Ok(Self::Iiad),
            "iimd" => Ok(Self::Iimd),
            "lerd" => Ok(Self::Lerd),
            "weighted" => Ok(Self::Weighted),
            _ => Err("no such form"),
        }
    }
}

impl RateController for Multfrc {
    fn stamp(&mut self, now: Timestamp, next: &SentPacket) -> Stamp {
        let epoch = self.epochs.get(usize::from(next.lane.0)).copied().unwrap_or(0);
        Stamp { tag: Some(epoch), ..self.connections.stamp(now, next) }
    }

    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        self.connections.on_sent(now, packet);
    }

    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        self.connections.on_feedback(now, feedback);
        self.count_report(now, feedback);
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        if signal == LocalSignal::RouteChanged {
            self.count.route_changed();
        }
        self.connections.on_signal(now, signal);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.connections.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.connections.poll_timeout()
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.connections.poll_decision()
    }

    fn lanes(&self) -> u8 {
        self.connections.lanes()
    }

    fn allowance(&self, lane: Lane) -> Allowance {
        self.connections.allowance(lane)
    }

    fn target(&self) -> Target {
        self.connections.target()
    }

    fn phase(&self) -> &'static str {
        self.connections.phase()
    }

    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        self.connections.inspect(visit);
        visit(Gauge::new("connections", self.count.get(), ""));
        if self.count.rtt_min().is_finite() {
            visit(Gauge::new("rtt_min", self.count.rtt_min(), "s"));
        }
    }
}
