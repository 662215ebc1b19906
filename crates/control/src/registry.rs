//! The built-in controllers by name.
//!
//! A controller is listed only when its acceptance tests pass. To add a controller: implement the
//! traits, describe it in a [`ControllerInfo`] and list that in [`CONTROLLERS`], and give [`AnyController`]
//! (and [`AnyFeedbackSource`] where the receiving half is new) a variant. One from outside this crate is
//! [registered](crate::outside) instead.

use crate::allowance::{Allowance, Probe, Target};
use crate::buffer_aware::{BufferAware, BufferReports};
use crate::controller::{Needs, RateController};
use crate::ctfrc::{Ctfrc, CtfrcReceiver};
use crate::decision::{Decision, Gauge};
use crate::feedback::{BufferLevel, Feedback, PeerReport};
use crate::feedback_source::{Arrival, FeedbackSource};
use crate::fixed::{Fixed, FixedFeedback};
use crate::gcc::Gcc;
use crate::lda::LossDelay;
use crate::multfrc::{Multfrc, MultfrcReceiver};
use crate::nada::{Nada, NadaReceiver};
use crate::outside::{self, Halves};
use crate::packet::{Lane, SentPacket, Stamp};
use crate::scream::{Scream, ScreamFeedback};
use crate::signal::LocalSignal;
use crate::spec::{ControlSpec, SpecError};
use crate::tfrc::{Ns2Receiver, Ns2Tfrc, Tfrc, TfrcReceiver};
use crate::utfrc::Utfrc;
use crate::vtp::Vtp;
use crate::window::{EveryPacket, Window};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};
use std::fmt;
use std::str::FromStr;

/// How a controller limits its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It sets a rate.
    Rate,
    /// It sets how much may be in flight.
    Window,
}

/// What there is to say of a controller.
#[derive(Debug, Clone, Copy)]
pub struct ControllerInfo {
    /// Its name in scenarios and on the command line.
    pub name: &'static str,
    /// The document it follows.
    pub source: &'static str,
    /// How it limits its sender.
    pub kind: Kind,
    /// What can be set.
    pub options: &'static [OptionInfo],
    /// Makes both halves.
    pub(crate) build: fn(&Options<'_>, Setting) -> Built,
}

/// What there is to say of an option.
#[derive(Debug, Clone, Copy)]
pub struct OptionInfo {
    /// Its key.
    pub name: &'static str,
    /// The value it has when it is not given.
    pub default: &'static str,
    /// What it may be.
    pub range: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// What a controller must know of its flow beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The largest packet the flow sends, as a whole IP datagram.
    pub packet: DataSize,
    /// The codepoint its packets should carry, where the controller can answer marks.
    pub ecn: Ecn,
}

/// Both halves of a controller, or why there are none.
pub(crate) type Built = Result<(AnyController, AnyFeedbackSource), SpecError>;

/// Every controller there is.
pub const CONTROLLERS: &[ControllerInfo] = &[
    Fixed::INFO,
    Tfrc::INFO,
    Multfrc::INFO,
    Ctfrc::INFO,
    Utfrc::INFO,
    BufferAware::TYPE_1,
    BufferAware::TYPE_2,
    Vtp::INFO,
    LossDelay::LDA,
    LossDelay::LDA_PLUS,
    LossDelay::SRTP,
    Window::INFO,
    Nada::INFO,
    Gcc::INFO,
    Scream::INFO,
];

/// Makes both halves of the built-in controller that `spec` names.
///
/// # Errors
/// An unknown name or option, or a value out of its range: says what was found and what would be valid.
pub fn build(spec: &ControlSpec, setting: Setting) -> Result<(AnyController, AnyFeedbackSource), SpecError> {
    let info = find_named(CONTROLLERS, |info| info.name, "controller", &spec.name)?;
    (info.build)(&Options::new(spec, info.name, info.options)?, setting)
}

/// Makes both halves of the controller that `spec` names, whether it is built in or [registered](crate::outside).
///
/// # Errors
/// As [`build`].
pub fn halves(spec: &ControlSpec, setting: Setting) -> Result<Halves, SpecError> {
    if let Some(outside) = outside::find(&spec.name) {
        return outside.make(spec, setting);
    }
    let (controller, source) = build(spec, setting)?;
    Ok((controller.into_boxed(), source.into_boxed()))
}

/// Whether `spec` names a controller with options that it has.
///
/// # Errors
/// As [`build`].
pub fn check(spec: &ControlSpec) -> Result<(), SpecError> {
    let usual = Setting { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };
    halves(spec, usual).map(drop)
}

/// How a controller is told to be worth so many flows.
struct Weight {
    control: &'static str,
    /// The option that takes the number.
    option: &'static str,
    /// The option and its value without which the number means nothing.
    needs: Option<(&'static str, &'static str)>,
}

const WEIGHTS: [Weight; 2] = [
    Weight { control: "nada", option: "prio", needs: None },
    Weight { control: "multfrc", option: "n", needs: Some(("form", "weighted")) },
];

/// The controller that `spec` names with this weight against others of its kind (RFC 8867 section 6.1). A weight of 1
/// is what every controller has.
///
/// # Errors
/// A controller that has no weight, one that is given it twice, or a weight out of its range.
pub fn weighted(spec: &ControlSpec, weight: f64) -> Result<ControlSpec, SpecError> {
    if weight == 1.0 {
        return Ok(spec.clone());
    }
    let has = |key: &str, value: &str| spec.options.iter().any(|(k, v)| k == key && v == value);
    let known = WEIGHTS
        .iter()
        .find(|known| known.control == spec.name && known.needs.is_none_or(|(key, value)| has(key, value)));
    let Some(Weight { option, .. }) = known else {
        let problem = "has no weight; there are: nada, multfrc(form=weighted)";
        return Err(SpecError::new(&spec.to_string(), problem));
    };
    if spec.options.iter().any(|(key, _)| key == option) {
        let problem = format!("names its weight already: `{option}`");
        return Err(SpecError::new(&spec.to_string(), problem));
    }
    let mut spec = spec.clone();
    spec.options.push(((*option).to_owned(), weight.to_string()));
    check(&spec)?;
    Ok(spec)
}

/// The option of controllers whose documents leave the pace of feedback open.
pub(crate) const fn pace(default: &'static str) -> OptionInfo {
    OptionInfo {
        name: PACE,
        default,
        range: "5 ms to 1 s",
        about: "from one message of the receiver to the next",
    }
}

const PACE: &str = "feedback";

/// The controller that `spec` names with feedback at this interval.
///
/// # Errors
/// A controller whose document sets its pace, one that is told it already, or an interval out of its range.
pub fn paced(spec: &ControlSpec, interval: TimeDelta) -> Result<ControlSpec, SpecError> {
    if outside::find(&spec.name).is_some() {
        return Err(SpecError::new(&spec.to_string(), "sets the pace of its feedback itself"));
    }
    let info = find_named(CONTROLLERS, |info| info.name, "controller", &spec.name)?;
    let is_open = |info: &&ControllerInfo| info.options.iter().any(|option| option.name == PACE);
    if !is_open(&info) {
        let open: Vec<_> = CONTROLLERS.iter().filter(is_open).map(|info| info.name).collect();
        let problem = format!("sets the pace of its feedback itself; not so: {}", open.join(", "));
        return Err(SpecError::new(&spec.to_string(), problem));
    }
    if spec.options.iter().any(|(key, _)| key == PACE) {
        return Err(SpecError::new(&spec.to_string(), format!("names its interval already: `{PACE}`")));
    }
    let mut spec = spec.clone();
    spec.options.push((PACE.to_owned(), interval.to_string()));
    check(&spec)?;
    Ok(spec)
}

/// What the controller that `spec` names must be told.
///
/// # Errors
/// As [`build`].
pub fn needs(spec: &ControlSpec, setting: Setting) -> Result<Needs, SpecError> {
    halves(spec, setting).map(|(controller, _)| controller.needs())
}

/// The entry of that name, or advice.
pub(crate) fn find_named<T>(
    entries: &'static [T],
    name_of: impl Fn(&T) -> &'static str + Copy,
    what: &str,
    name: &str,
) -> Result<&'static T, SpecError> {
    let advice = || format!("no such {what}; {}", nearest(name, entries.iter().map(name_of)));
    entries.iter().find(|entry| name_of(entry) == name).ok_or_else(|| SpecError::new(name, advice()))
}

/// "did you mean a or b?" with the names nearest to `found`, or all of them. Capitals and hyphens make no distance.
pub fn nearest<'a>(found: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    const SHOWN: usize = 3;
    let plain = |name: &str| -> String { name.to_lowercase().replace(['-', '_', ' '], "") };
    let wanted = plain(found);
    let mut close: Vec<_> = known
        .clone()
        .map(|name| (edit_distance(&wanted, &plain(name)), name))
        .filter(|(distance, _)| *distance <= 2.min(wanted.len().saturating_sub(1)))
        .collect();
    close.sort_by_key(|(distance, _)| *distance);
    close.truncate(SHOWN);
    if close.is_empty() {
        format!("there are: {}", known.collect::<Vec<_>>().join(", "))
    } else {
        format!("did you mean {}?", close.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" or "))
    }
}

/// Levenshtein distance in characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[row.len() - 1]
}

/// The options of a [`ControlSpec`], checked against those that there are.
#[derive(Debug)]
pub struct Options<'a> {
    spec: &'a ControlSpec,
    known: &'static [OptionInfo],
}

impl<'a> Options<'a> {
    pub(crate) fn new(
        spec: &'a ControlSpec,
        name: &str,
        options: &'static [OptionInfo],
    ) -> Result<Self, SpecError> {
        let known = options.iter().map(|option| option.name);
        for (index, (key, _)) in spec.options.iter().enumerate() {
            if !known.clone().any(|option| option == key) {
                let advice = if options.is_empty() {
                    format!("{name} has no options")
                } else {
                    format!("{name} has no such option; {}", nearest(key, known))
                };
                return Err(SpecError::new(key, advice));
            }
            if spec.options[..index].iter().any(|(earlier, _)| earlier == key) {
                return Err(SpecError::new(key, "given twice"));
            }
        }
        Ok(Self { spec, known: options })
    }

    /// The value of `key` as a `T`, `None` where it was not given.
    ///
    /// # Errors
    /// Where it reads as none.
    pub fn take<T: FromStr<Err: fmt::Display>>(&self, key: &str) -> Result<Option<T>, SpecError> {
        debug_assert!(self.known.iter().any(|option| option.name == key), "{key} is not described");
        let Some((_, value)) = self.spec.options.iter().find(|(name, _)| name == key) else {
            return Ok(None);
        };
        let parsed = value.parse().map_err(|error| self.wrong(key, value, &error));
        parsed.map(Some)
    }

    /// The value of `key`, which must satisfy `valid`.
    ///
    /// # Errors
    /// Where it reads as none, or does not satisfy that.
    pub fn take_if<T: FromStr<Err: fmt::Display>>(
        &self,
        key: &str,
        valid: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, SpecError> {
        let value = self.take(key)?;
        match &value {
            Some(value) if !valid(value) => {
                let text =
                    self.spec.options.iter().find(|(name, _)| name == key).map_or("", |(_, text)| text);
                Err(self.wrong(key, text, &"out of range"))
            }
            _ => Ok(value),
        }
    }

    /// The interval of feedback where it was given: see [`pace`].
    pub(crate) fn pace(&self) -> Result<Option<TimeDelta>, SpecError> {
        let range = TimeDelta::from_millis(5)..=TimeDelta::from_secs(1);
        self.take_if(PACE, |interval| range.contains(interval))
    }

    /// None of `keys` may be given.
    pub(crate) fn refuse(&self, keys: &[&str], why: &str) -> Result<(), SpecError> {
        match self.spec.options.iter().find(|(name, _)| keys.contains(&name.as_str())) {
            Some((name, _)) => Err(SpecError::new(name, why)),
            None => Ok(()),
        }
    }

    fn wrong(&self, key: &str, value: &str, why: &dyn fmt::Display) -> SpecError {
        let range = self.known.iter().find(|option| option.name == key).map_or("", |option| option.range);
        SpecError::new(&format!("{key}={value}"), format!("{why}; expected {range}"))
    }
}

/// Two lists of options as one, for a controller that builds on another.
pub(crate) const fn join_options<const A: usize, const B: usize, const N: usize>(
    first: [OptionInfo; A],
    second: [OptionInfo; B],
) -> [OptionInfo; N] {
    assert!(A + B == N);
    let mut all = [first[0]; N];
    let mut index = 0;
    while index < N {
        all[index] = if index < A { first[index] } else { second[index - A] };
        index += 1;
    }
    all
}

/// An option that is on or off.
pub(crate) struct Switch(pub(crate) bool);

impl FromStr for Switch {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "on" => Ok(Self(true)),
            "off" => Ok(Self(false)),
            _ => Err("neither on nor off"),
        }
    }
}

macro_rules! any {
    ($(#[$doc:meta])* $any:ident { $($variant:ident($half:ty)),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub enum $any {
            $(#[doc = concat!("See [`", stringify!($half), "`].")] $variant(Box<$half>),)*
        }

        $(impl From<$half> for $any {
            fn from(half: $half) -> Self {
                Self::$variant(Box::new(half))
            }
        })*
    };
}

macro_rules! dispatch {
    ($self:ident, $any:ident [$($variant:ident)*], $half:ident => $call:expr) => {
        match $self { $($any::$variant($half) => $call,)* }
    };
}

any!(
    /// The sending half of a built-in controller. The trait stays usable as `Box<dyn RateController>` too.
    AnyController { Fixed(Fixed), Tfrc(Tfrc), Ns2Tfrc(Ns2Tfrc), Multfrc(Multfrc), Ctfrc(Ctfrc), Utfrc(Utfrc), BufferAware(BufferAware), Vtp(Vtp), LossDelay(LossDelay), Window(Window), Nada(Nada), Gcc(Gcc), Scream(Scream) }
);

any!(
    /// The receiving half of a built-in controller.
    AnyFeedbackSource { Fixed(FixedFeedback), Tfrc(TfrcReceiver), Ns2Tfrc(Ns2Receiver), Multfrc(MultfrcReceiver), Ctfrc(CtfrcReceiver), BufferReports(BufferReports), EveryPacket(EveryPacket), Nada(NadaReceiver), Scream(ScreamFeedback) }
);

macro_rules! controller {
    ($self:ident, $half:ident => $call:expr) => { dispatch!($self, AnyController [Fixed Tfrc Ns2Tfrc Multfrc Ctfrc Utfrc BufferAware Vtp LossDelay Window Nada Gcc Scream], $half => $call) };
}

macro_rules! source {
    ($self:ident, $half:ident => $call:expr) => { dispatch!($self, AnyFeedbackSource [Fixed Tfrc Ns2Tfrc Multfrc Ctfrc BufferReports EveryPacket Nada Scream], $half => $call) };
}

impl AnyController {
    /// The half itself behind the trait, without this enum between.
    pub fn into_boxed(self) -> Box<dyn RateController> {
        controller!(self, half => half)
    }
}

impl AnyFeedbackSource {
    /// The half itself behind the trait, without this enum between.
    pub fn into_boxed(self) -> Box<dyn FeedbackSource> {
        source!(self, half => half)
    }
}

impl RateController for AnyController {
    fn stamp(&mut self, now: Timestamp, next: &SentPacket) -> Stamp {
        controller!(self, half => half.stamp(now, next))
    }
    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        controller!(self, half => half.on_sent(now, packet));
    }
    fn on_feedback(&mut self, now: Timestamp, feedback: &Feedback<'_>) {
        controller!(self, half => half.on_feedback(now, feedback));
    }
    fn on_signal(&mut self, now: Timestamp, signal: LocalSignal) {
        controller!(self, half => half.on_signal(now, signal));
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        controller!(self, half => half.handle_timeout(now));
    }
    fn poll_timeout(&self) -> Option<Timestamp> {
        controller!(self, half => half.poll_timeout())
    }
    fn poll_probe(&mut self, now: Timestamp) -> Option<Probe> {
        controller!(self, half => half.poll_probe(now))
    }
    fn poll_decision(&mut self) -> Option<Decision> {
        controller!(self, half => half.poll_decision())
    }
    fn needs(&self) -> Needs {
        controller!(self, half => half.needs())
    }
    fn lanes(&self) -> u8 {
        controller!(self, half => half.lanes())
    }
    fn allowance(&self, lane: Lane) -> Allowance {
        controller!(self, half => half.allowance(lane))
    }
    fn target(&self) -> Target {
        controller!(self, half => half.target())
    }
    fn phase(&self) -> &'static str {
        controller!(self, half => half.phase())
    }
    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) {
        controller!(self, half => half.inspect(visit));
    }
}

impl FeedbackSource for AnyFeedbackSource {
    fn on_arrival(&mut self, now: Timestamp, arrival: &Arrival) {
        source!(self, half => half.on_arrival(now, arrival));
    }
    fn on_channel_loss(&mut self, lost: &Arrival) {
        source!(self, half => half.on_channel_loss(lost));
    }
    fn on_buffer(&mut self, now: Timestamp, level: BufferLevel) {
        source!(self, half => half.on_buffer(now, level));
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        source!(self, half => half.handle_timeout(now));
    }
    fn poll_timeout(&self) -> Option<Timestamp> {
        source!(self, half => half.poll_timeout())
    }
    fn has_report(&self, now: Timestamp) -> bool {
        source!(self, half => half.has_report(now))
    }
    fn poll_report(&mut self, now: Timestamp) -> Option<(Lane, PeerReport)> {
        source!(self, half => half.poll_report(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting = Setting { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };

    fn error(text: &str) -> String {
        build(&text.parse().unwrap(), SETTING).unwrap_err().to_string()
    }

    #[test]
    fn every_name_builds() {
        for info in CONTROLLERS {
            build(&info.name.parse().unwrap(), SETTING).unwrap();
        }
    }

    #[test]
    fn errors_say_what_would_be_valid() {
        assert_eq!(error("fixt"), "\"fixt\": no such controller; did you mean fixed?");
        assert!(error("zzz").starts_with("\"zzz\": no such controller; there are: fixed"));
        assert_eq!(error("fixed(rat=1 bit/s)"), "\"rat\": fixed has no such option; did you mean rate?");
        assert!(error("fixed(rate=1)").contains("has no unit"));
        assert_eq!(error("TFRC"), "\"TFRC\": no such controller; did you mean tfrc or ctfrc or utfrc?");
        assert_eq!(
            error("buffer_type3"),
            "\"buffer_type3\": no such controller; did you mean buffer-type1 or buffer-type2?"
        );
        assert_eq!(error("fixed(rate=1 bit/s, rate=2 bit/s)"), "\"rate\": given twice");
    }

    /// An option that would change nothing is a mistake.
    #[test]
    fn options_that_do_not_apply_are_refused() {
        for (spec, option, to) in [
            ("tfrc(profile=ns2, sp=on)", "sp", "profile=ns2"),
            ("tfrc(sp=on, segment=500 B)", "segment", "sp=on"),
            ("tfrc(equation=simple, clamp=on)", "clamp", "equation=simple"),
            ("tfrc(equation=simple, t_rto=floor)", "t_rto", "equation=simple"),
            ("multfrc(n=4)", "n", "form=iiad"),
            ("multfrc(form=lerd, n=4)", "n", "form=lerd"),
            ("multfrc(form=weighted, gamma=1)", "gamma", "form=weighted"),
            ("multfrc(form=weighted, loss=receiver)", "loss", "form=weighted"),
            ("scream(version=1, jitter=on)", "jitter", "version=1"),
            ("scream(delay_high=200 ms)", "delay_high", "competing=off"),
            ("gcc(kalman=literal)", "kalman", "variant=current"),
            ("gcc(variant=draft, tolerate=0.1)", "tolerate", "variant=draft"),
            ("nada(variant=draft, side=receiver)", "side", "variant=draft"),
        ] {
            assert_eq!(error(spec), format!("\"{option}\": does not apply to {to}"));
        }
        assert_eq!(
            error("buffer-type2(gamma=adverse)"),
            "\"gamma\": buffer-type2 has no such option; there are: dynamic, clamp, packet_time, rtt"
        );
    }

    #[test]
    fn feedback_is_paced_where_that_is_left_open() {
        let paced = |spec: &str, ms| {
            let spec = paced(&spec.parse().unwrap(), TimeDelta::from_millis(ms));
            spec.map(|spec| spec.to_string()).map_err(|error| error.to_string())
        };
        assert_eq!(paced("nada(variant=draft)", 50).unwrap(), "nada(variant=draft, feedback=50 ms)");
        let error = paced("tfrc", 50).unwrap_err();
        assert_eq!(
            error,
            "\"tfrc\": sets the pace of its feedback itself; not so: fixed, lda, lda-plus, srtp, nada, gcc"
        );
        assert!(paced("nada", 2000).unwrap_err().contains("out of range; expected 5 ms to 1 s"));
        assert!(paced("nada(feedback=30 ms)", 50).unwrap_err().contains("already"));
    }

    #[test]
    fn edit_distance_is_levenshteins() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
    }
}
