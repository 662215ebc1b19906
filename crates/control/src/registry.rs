//! Controllers by name.
//!
//! A built-in name stands here only when the controller's acceptance tests pass. To add one, implement the traits,
//! describe it in a [`ControllerInfo`] and list that in `BUILTIN`. A controller of another crate is added to a
//! registry [by value](Registry::with).

use crate::buffer_aware::BufferAware;
use crate::ctfrc::Ctfrc;
use crate::fixed::Fixed;
use crate::gcc::Gcc;
use crate::info::{ControllerInfo, ControllerPair, FlowConfig, Requirements};
use crate::lda::LossDelay;
use crate::multfrc::Multfrc;
use crate::nada::Nada;
use crate::options::{FEEDBACK_INTERVAL, Options, find_named};
use crate::scream::Scream;
use crate::seaway::Seaway;
use crate::spec::{ControlSpec, SpecError};
use crate::tfrc::Tfrc;
use crate::utfrc::Utfrc;
use crate::vtp::Vtp;
use crate::window::Window;
use seaway_units::{DataSize, Ecn, TimeDelta};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

const BUILTIN: &[ControllerInfo] = &[
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
    LossDelay::SMOOTHED,
    Window::INFO,
    Nada::INFO,
    Gcc::INFO,
    Scream::INFO,
    Seaway::INFO,
];

/// Makes both halves of a controller, with what it captured.
pub type Factory = Arc<dyn Fn(&Options<'_>, FlowConfig) -> Result<ControllerPair, SpecError> + Send + Sync>;

/// The controllers that can be named. Both ends of a flow need the same one. A clone of the built-in registry is free.
#[derive(Clone)]
pub struct Registry {
    controllers: Cow<'static, [ControllerInfo]>,
    /// What makes the controllers that no plain function makes, by name.
    factories: Vec<(&'static str, Factory)>,
}

impl Registry {
    /// The controller where none is named.
    pub const DEFAULT: &str = "seaway";

    /// The built-in controllers.
    pub const fn builtin() -> Self {
        Self { controllers: Cow::Borrowed(BUILTIN), factories: Vec::new() }
    }

    /// These controllers and one more.
    ///
    /// # Errors
    /// A name that is taken, or that cannot stand in a [`ControlSpec`].
    pub fn with(mut self, info: ControllerInfo) -> Result<Self, SpecError> {
        let is_plain = info.name.parse::<ControlSpec>().is_ok_and(|spec| spec.name == info.name);
        if !is_plain {
            return Err(SpecError::new(info.name, "expected a name such as tfrc, without options"));
        }
        if self.controllers.iter().any(|other| other.name == info.name) {
            return Err(SpecError::new(info.name, "there is a controller of that name already"));
        }
        self.controllers.to_mut().push(info);
        Ok(self)
    }

    /// These controllers and one more, which `factory` makes in place of `info.build`: a closure may capture what a
    /// plain function cannot, such as a law that is written in another language.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn with_factory(self, info: ControllerInfo, factory: Factory) -> Result<Self, SpecError> {
        let mut registry = self.with(info)?;
        registry.factories.push((info.name, factory));
        Ok(registry)
    }

    /// Every controller, in the order they were added.
    pub fn controllers(&self) -> &[ControllerInfo] {
        &self.controllers
    }

    fn find<'a>(&self, spec: &'a ControlSpec) -> Result<(&ControllerInfo, Options<'a>), SpecError> {
        let info = find_named(&self.controllers, |info| info.name, "controller", &spec.name)?;
        Ok((info, Options::new(spec, info.name, info.options)?))
    }

    /// Makes both halves of the controller that `spec` names.
    ///
    /// # Errors
    /// An unknown name or option, or a value out of its range: says what was found and what would be valid.
    pub fn build(&self, spec: &ControlSpec, flow: FlowConfig) -> Result<ControllerPair, SpecError> {
        let (info, options) = self.find(spec)?;
        match self.factories.iter().find(|(name, _)| *name == info.name) {
            Some((_, factory)) => factory(&options, flow),
            None => (info.build)(&options, flow),
        }
    }

    /// Whether `spec` names a controller with options that it has.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn check(&self, spec: &ControlSpec) -> Result<(), SpecError> {
        self.build(spec, FlowConfig { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct }).map(drop)
    }

    /// What the controller that `spec` names needs from its session.
    ///
    /// # Errors
    /// An unknown name or option.
    pub fn requirements(&self, spec: &ControlSpec) -> Result<Requirements, SpecError> {
        let (info, options) = self.find(spec)?;
        Ok((info.requirements)(&options))
    }

    /// The controller that `spec` names with this weight against others of its kind (RFC 8867 section 6.1). Every
    /// controller has a weight of 1.
    ///
    /// # Errors
    /// A controller that has no weight, one whose options set it already, or a weight out of its range.
    pub fn with_weight(&self, spec: &ControlSpec, weight: f64) -> Result<ControlSpec, SpecError> {
        if weight == 1.0 {
            return Ok(spec.clone());
        }
        let (info, options) = self.find(spec)?;
        let option =
            info.weight.filter(|weight| weight.requires.is_none_or(|(key, value)| options.is(key, value)));
        let Some(option) = option else {
            let weighted = self.controllers.iter().filter_map(|info| {
                let requires = info.weight?.requires.map(|(key, value)| format!("({key}={value})"));
                Some(format!("{}{}", info.name, requires.unwrap_or_default()))
            });
            let known = weighted.collect::<Vec<_>>().join(", ");
            return Err(SpecError::new(&spec.to_string(), format!("has no weight; there are: {known}")));
        };
        self.with_option(spec, option.name, weight.to_string())
    }

    /// The controller that `spec` names with feedback at this interval.
    ///
    /// # Errors
    /// A controller that sets the interval itself, one whose options set it already, or an interval out of its range.
    pub fn with_feedback_interval(
        &self,
        spec: &ControlSpec,
        interval: TimeDelta,
    ) -> Result<ControlSpec, SpecError> {
        let is_open = |info: &ControllerInfo| info.options.contains(&FEEDBACK_INTERVAL.group);
        if !is_open(self.find(spec)?.0) {
            let open: Vec<_> =
                self.controllers.iter().filter(|info| is_open(info)).map(|info| info.name).collect();
            let problem = format!("sets its feedback interval itself; not so: {}", open.join(", "));
            return Err(SpecError::new(&spec.to_string(), problem));
        }
        self.with_option(spec, FEEDBACK_INTERVAL.group.options[0].name, interval.to_string())
    }

    /// The feedback interval that the options of `spec` set.
    pub fn feedback_interval(&self, spec: &ControlSpec) -> Option<TimeDelta> {
        let (info, options) = self.find(spec).ok()?;
        let is_open = info.options.contains(&FEEDBACK_INTERVAL.group);
        let set = options.read(&FEEDBACK_INTERVAL, TimeDelta::ZERO).ok().filter(|_| is_open)?;
        (set > TimeDelta::ZERO).then_some(set)
    }

    fn with_option(&self, spec: &ControlSpec, name: &str, value: String) -> Result<ControlSpec, SpecError> {
        if spec.options.iter().any(|(key, _)| key == name) {
            return Err(SpecError::new(&spec.to_string(), format!("has the option `{name}` already")));
        }
        let mut spec = spec.clone();
        spec.options.push((name.to_owned(), value));
        self.check(&spec)?;
        Ok(spec)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::builtin()
    }
}

/// By the names of their controllers.
impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        self.controllers.iter().map(|info| info.name).eq(other.controllers.iter().map(|info| info.name))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.controllers.iter().map(|info| info.name)).finish()
    }
}

#[cfg(test)]
mod tests;
