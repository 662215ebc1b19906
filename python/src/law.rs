//! Controllers that are written in Python.

use crate::digest::{Digest, Digester};
use crate::error;
use crate::names::intern;
use crate::watch::Failure;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat};
use seaway_control::{
    ControllerInfo, Decision, DecisionLog, FEEDBACK_INTERVAL, Factory, Fate, Feedback, FlowConfig, Gauge,
    LocalSignal, OptionGroup, OptionInfo, Options, PacketReport, PeriodicFeedback, RateController, Registry,
    SpecError, Target, pair,
};
use seaway_units::{Bitrate, RateRange, TimeDelta, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A law as the Python half describes it.
#[derive(FromPyObject)]
pub(crate) struct Law {
    name: String,
    /// Makes the arguments of a law from the texts of its options, or raises.
    arguments: Py<PyAny>,
    /// Makes a law from its arguments.
    make: Py<PyAny>,
    /// Seconds between reports.
    feedback_interval: f64,
    /// Each with its default and its type, as texts.
    options: Vec<(String, String, String)>,
}

impl Law {
    /// The registry with this law.
    pub(crate) fn add_to(self, registry: Registry, failure: &Failure) -> PyResult<Registry> {
        let name = intern(&self.name)?;
        let groups = option_groups(&self.options)?;
        let interval = TimeDelta::from_secs_f64(self.feedback_interval);
        if !(TimeDelta::from_millis(5)..=TimeDelta::from_secs(1)).contains(&interval) {
            return Err(error::input(format!(
                "{name}: feedback_interval is {interval}: expected 5 ms to 1 s"
            )));
        }
        let build = |_: &Options<'_>, _: FlowConfig| Err(SpecError::new("", "its factory makes it"));
        let info =
            ControllerInfo { options: groups, ..ControllerInfo::new(name, "written in Python", build) };
        let failure = failure.clone();
        let (arguments, make) = (Arc::new(self.arguments), Arc::new(self.make));
        let factory: Factory = Arc::new(move |options, _| {
            let interval = options.read(&FEEDBACK_INTERVAL, interval)?;
            let arguments = Python::attach(|py| read_arguments(py, &arguments, options, groups))
                .map_err(|problem| SpecError::new(name, problem.to_string()))?;
            let controller = PythonController::new(Arc::clone(&make), arguments, failure.clone());
            Ok(pair(controller, PeriodicFeedback::new(interval)))
        });
        registry.with_factory(info, factory).map_err(error::input)
    }
}

/// An option's name, default and type.
type OptionKey = [&'static str; 3];

/// The options as the registry keeps them, for ever: each set of them once.
fn option_groups(options: &[(String, String, String)]) -> PyResult<&'static [OptionGroup]> {
    static GROUPS: LazyLock<Mutex<BTreeMap<Vec<OptionKey>, &'static [OptionGroup]>>> =
        LazyLock::new(Mutex::default);
    let key: Vec<OptionKey> = options
        .iter()
        .map(|(name, default, kind)| Ok([intern(name)?, intern(default)?, intern(kind)?]))
        .collect::<PyResult<_>>()?;
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    let make = |key: &Vec<OptionKey>| -> &'static [OptionGroup] {
        let info = |&[name, default, range]: &OptionKey| OptionInfo { name, default, range, about: "" };
        let own = OptionGroup { family: None, options: key.iter().map(info).collect::<Vec<_>>().leak() };
        vec![own, FEEDBACK_INTERVAL.group].leak()
    };
    Ok(groups.entry(key).or_insert_with_key(make))
}

fn read_arguments(
    py: Python<'_>,
    arguments: &Py<PyAny>,
    options: &Options<'_>,
    groups: &[OptionGroup],
) -> PyResult<Py<PyDict>> {
    let texts = PyDict::new(py);
    for option in groups.first().into_iter().flat_map(|group| group.options) {
        if let Some(text) = options.text(option.name) {
            texts.set_item(option.name, text)?;
        }
    }
    Ok(arguments.bind(py).call1((texts,))?.cast_into::<PyDict>()?.unbind())
}

/// A law at work.
#[derive(Debug)]
struct PythonController {
    make: Arc<Py<PyAny>>,
    arguments: Py<PyDict>,
    /// Made by the first input: controllers are also built to be checked and dropped.
    law: Option<Methods>,
    failure: Failure,
    digester: Digester,
    limits: RateRange,
    rate: Bitrate,
    phase: &'static str,
    log: DecisionLog,
    /// When its timer is due.
    due: Option<Timestamp>,
}

/// The methods of a law.
#[derive(Debug)]
struct Methods {
    on_feedback: Py<PyAny>,
    on_limits: Option<Py<PyAny>>,
    on_timer: Option<(Py<PyAny>, TimeDelta)>,
}

impl Methods {
    /// Of an object with `on_feedback`, else of a function that takes its place.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name| -> PyResult<Option<Py<PyAny>>> {
            Ok(object.getattr_opt(name)?.filter(|method| !method.is_none()).map(Bound::unbind))
        };
        let on_feedback = method("on_feedback")?.unwrap_or_else(|| object.clone().unbind());
        if !on_feedback.bind(object.py()).is_callable() {
            return Err(error::input(format!("{object}: expected a function or an object with on_feedback")));
        }
        let interval = object.getattr_opt("timer")?.filter(|timer| !timer.is_none());
        let interval = interval.map(|timer| timer.extract::<f64>()).transpose()?;
        let interval = interval.map(TimeDelta::from_secs_f64).filter(|timer| *timer > TimeDelta::ZERO);
        let on_timer = method("on_timer")?.zip(interval.map(|timer| timer.max(TimeDelta::from_millis(1))));
        Ok(Self { on_feedback, on_limits: method("on_limits")?, on_timer })
    }
}

impl PythonController {
    fn new(make: Arc<Py<PyAny>>, arguments: Py<PyDict>, failure: Failure) -> Self {
        Self {
            make,
            arguments,
            law: None,
            failure,
            digester: Digester::default(),
            limits: RateRange::ALL,
            rate: Bitrate::ZERO,
            phase: "running",
            log: DecisionLog::new(),
            due: None,
        }
    }

    /// Calls the law and does what it answers. After an exception nothing is called any more: the run ends.
    fn call(
        &mut self,
        now: Timestamp,
        call: impl FnOnce(&Methods, Python<'_>) -> PyResult<Option<Py<PyAny>>>,
    ) {
        if self.failure.is_set() {
            return;
        }
        let done = Python::attach(|py| {
            if self.law.is_none() {
                let law = self.make.bind(py).call((), Some(self.arguments.bind(py)))?;
                self.law = Some(Methods::of(&law)?);
            }
            let Some(law) = &self.law else { return Ok(()) };
            match call(law, py)? {
                Some(answer) if !answer.is_none(py) => self.apply(now, answer.bind(py)),
                _ => Ok(()),
            }
        });
        if let Err(error) = done {
            self.failure.set(error);
        }
    }

    /// Takes the rate, and the cause where one is given.
    fn apply(&mut self, now: Timestamp, answer: &Bound<'_, PyAny>) -> PyResult<()> {
        let before = self.rate;
        let phase_before = self.phase;
        let plain;
        let decision = match answer.cast_exact::<PyFloat>() {
            Ok(rate) => {
                plain = PythonDecision::plain(rate.value());
                &plain
            }
            Err(_) => match answer.cast::<PythonDecision>() {
                Ok(decision) => decision.get(),
                Err(_) => {
                    plain = PythonDecision::plain(answer.extract::<f64>()?);
                    &plain
                }
            },
        };
        if !decision.rate.is_finite() || decision.rate < 0.0 {
            return Err(error::input(format!("a law gave {} as its rate: expected bit/s", decision.rate)));
        }
        self.rate = self.limits.clamp(Bitrate::from_bps_f64(decision.rate));
        self.phase = decision.phase;
        if self.rate != before || self.phase != phase_before {
            let PythonDecision { cause, signal, threshold, phase, .. } = *decision;
            let after = self.rate;
            self.log.push(Decision { at: now, cause, signal, threshold, before, after, phase });
        }
        Ok(())
    }
}

impl RateController for PythonController {
    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        let digest = self.digester.digest(feedback);
        let (rate, packets) = (self.rate, feedback.packets);
        self.call(now, |law, py| {
            let view = FeedbackView { digest, rate: rate.as_bps_f64(), packets: packets.to_vec() };
            law.on_feedback.call1(py, (now.as_secs_f64(), view)).map(Some)
        });
    }

    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        let LocalSignal::Limits { min, start, max } = signal else { return };
        self.limits = RateRange::new(min, max);
        self.rate = self.limits.clamp(if self.law.is_some() { self.rate } else { start });
        self.call(now, |law, py| {
            let limits = (min.as_bps_f64(), start.as_bps_f64(), max.as_bps_f64());
            law.on_limits.as_ref().map(|method| method.call1(py, limits)).transpose()
        });
        self.due = self.law.as_ref().and_then(|law| Some(now + law.on_timer.as_ref()?.1));
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.due = self.law.as_ref().and_then(|law| Some(now + law.on_timer.as_ref()?.1));
        self.call(now, |law, py| {
            law.on_timer.as_ref().map(|(method, _)| method.call1(py, (now.as_secs_f64(),))).transpose()
        });
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    fn decision_log(&mut self) -> Option<&mut DecisionLog> {
        Some(&mut self.log)
    }

    fn target(&self) -> Target {
        Target::new(self.rate)
    }

    fn phase(&self) -> &'static str {
        self.phase
    }
}

/// A report, as a law sees it. Times are in seconds, rates in bit/s, sizes in octets of IP datagrams.
#[pyclass(frozen, module = "seaway", name = "Feedback")]
#[derive(Debug)]
pub(crate) struct FeedbackView {
    digest: Digest,
    rate: f64,
    packets: Vec<PacketReport>,
}

#[pymethods]
impl FeedbackView {
    /// A fresh sample of the round-trip time, s.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.digest.rtt.map(TimeDelta::as_secs_f64)
    }

    /// The law's present rate, bit/s.
    #[getter]
    fn rate(&self) -> f64 {
        self.rate
    }

    /// Packets that arrived.
    #[getter]
    fn received(&self) -> u32 {
        self.digest.received
    }

    /// Packets taken for lost.
    #[getter]
    fn lost(&self) -> u32 {
        self.digest.lost
    }

    /// Packets that arrived after they were taken for lost.
    #[getter]
    fn late(&self) -> u32 {
        self.digest.late
    }

    /// Packets that arrived marked CE.
    #[getter]
    fn marked(&self) -> u32 {
        self.digest.marked
    }

    /// Octets that arrived.
    #[getter]
    fn received_bytes(&self) -> u64 {
        self.digest.received_size.as_bytes()
    }

    /// Lost packets over those whose fate is known, 0 to 1.
    #[getter]
    fn loss_ratio(&self) -> f64 {
        self.digest.loss_ratio()
    }

    /// The rate of arrival, bit/s.
    #[getter]
    fn receive_rate(&self) -> Option<f64> {
        self.digest.receive_rate()
    }

    /// Mean one-way delay above the least of the flow, s.
    #[getter]
    fn queue_delay(&self) -> Option<f64> {
        self.digest.queue_delay.map(TimeDelta::as_secs_f64)
    }

    /// One-way delay of the newest packet less that of the oldest, s.
    #[getter]
    fn delay_change(&self) -> Option<f64> {
        self.digest.delay_change.map(TimeDelta::as_secs_f64)
    }

    /// Each packet as (number, size, sent, arrived or None, fate): fate is "received", "lost" or "late"; `arrived` is on
    /// the receiver's clock.
    fn packets(&self) -> Vec<(u64, u64, f64, Option<f64>, &'static str)> {
        let tuple = |report: &PacketReport| {
            let (at, fate) = match report.fate {
                Fate::Received { at, .. } => (at, "received"),
                Fate::Lost => (None, "lost"),
                Fate::Late { at } => (at, "late"),
            };
            let at = at.map(|at| at.as_nanos() as f64 * 1e-9);
            (report.packet.id.0, report.packet.size.as_bytes(), report.sent.as_secs_f64(), at, fate)
        };
        self.packets.iter().map(tuple).collect()
    }

    fn __repr__(&self) -> String {
        format!("<seaway.Feedback: {:?}>", self.digest)
    }
}

/// A rate and its cause.
#[pyclass(frozen, module = "seaway", name = "Decision")]
#[derive(Debug)]
pub(crate) struct PythonDecision {
    rate: f64,
    cause: &'static str,
    signal: Gauge,
    threshold: f64,
    phase: &'static str,
}

impl PythonDecision {
    const fn plain(rate: f64) -> Self {
        let (cause, phase) = ("the law's answer", "running");
        Self { rate, cause, signal: Gauge::new("rate", rate, "bit/s"), threshold: f64::NAN, phase }
    }
}

#[pymethods]
impl PythonDecision {
    #[new]
    #[pyo3(signature = (rate, cause, *, signal = "rate", value = None, unit = "", threshold = None, phase = "running"))]
    fn new(
        rate: f64,
        cause: &str,
        signal: &str,
        value: Option<f64>,
        unit: &str,
        threshold: Option<f64>,
        phase: &str,
    ) -> PyResult<Self> {
        Ok(Self {
            rate,
            cause: intern(cause)?,
            signal: Gauge::new(intern(signal)?, value.unwrap_or(rate), intern(unit)?),
            threshold: threshold.unwrap_or(f64::NAN),
            phase: intern(phase)?,
        })
    }

    /// bit/s.
    #[getter]
    fn rate(&self) -> f64 {
        self.rate
    }

    /// The rule that fired.
    #[getter]
    fn cause(&self) -> &'static str {
        self.cause
    }
}
