//! Controllers from outside this crate, by name: whoever has one of his own registers it and then names it wherever a
//! built-in one can be named, in scenarios above all.

use crate::controller::RateController;
use crate::feedback_source::FeedbackSource;
use crate::registry::{CONTROLLERS, OptionInfo, Options, Setting};
use crate::spec::{ControlSpec, SpecError};
use std::sync::{PoisonError, RwLock};

/// Both halves of a controller from outside.
pub type Halves = (Box<dyn RateController>, Box<dyn FeedbackSource>);

/// A controller from outside. Where its receiving half computes nothing, that is a
/// [`FixedFeedback`](crate::FixedFeedback).
#[derive(Debug, Clone, Copy)]
pub struct Outside {
    /// Its name; none of the built-in ones.
    pub name: &'static str,
    /// What can be set.
    pub options: &'static [OptionInfo],
    /// Makes both halves for a flow.
    pub build: fn(&Options<'_>, Setting) -> Result<Halves, SpecError>,
}

static REGISTERED: RwLock<Vec<Outside>> = RwLock::new(Vec::new());

/// From now on the controller can be named in this process. Both ends of a flow have to know it.
///
/// # Errors
/// A name that is taken, or is none.
pub fn register(outside: Outside) -> Result<(), SpecError> {
    let is_plain = outside.name.parse::<ControlSpec>().is_ok_and(|spec| spec.name == outside.name);
    if !is_plain {
        return Err(SpecError::new(outside.name, "expected a name such as tfrc, without options"));
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let mut taken = CONTROLLERS.iter().map(|info| info.name).chain(registered.iter().map(|other| other.name));
    if taken.any(|name| name == outside.name) {
        return Err(SpecError::new(outside.name, "there is a controller of that name already"));
    }
    registered.push(outside);
    Ok(())
}

/// The registered controller of that name.
pub(crate) fn find(name: &str) -> Option<Outside> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.iter().find(|outside| outside.name == name).copied()
}

impl Outside {
    pub(crate) fn make(&self, spec: &ControlSpec, setting: Setting) -> Result<Halves, SpecError> {
        (self.build)(&Options::new(spec, self.name, self.options)?, setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fixed, FixedFeedback, registry};
    use seaway_units::{Bitrate, DataSize, Ecn};

    const HALF: Outside = Outside {
        name: "half",
        options: &[OptionInfo { name: "of", default: "2 Mbit/s", range: "a rate", about: "twice its rate" }],
        build: |options, _| {
            let whole = options.take::<Bitrate>("of")?.unwrap_or(Bitrate::from_mbps(2));
            let fixed = Fixed::new(Some(Bitrate::from_bps(whole.as_bps() / 2)));
            Ok((Box::new(fixed), Box::new(FixedFeedback::default())))
        },
    };

    #[test]
    fn a_registered_controller_is_built_by_name_with_its_options() {
        register(HALF).unwrap();
        assert!(register(HALF).unwrap_err().to_string().contains("already"));
        assert!(register(Outside { name: "tfrc", ..HALF }).unwrap_err().to_string().contains("already"));
        assert!(register(Outside { name: "a b", ..HALF }).is_err());
        let setting = Setting { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };
        let build = |text: &str| registry::halves(&text.parse().unwrap(), setting);
        let (mut controller, _) = build("half(of=6 Mbit/s)").unwrap();
        let (min, max) = (Bitrate::from_bps(1), Bitrate::from_mbps(100));
        controller
            .on_signal(seaway_units::Timestamp::ZERO, crate::LocalSignal::Limits { min, start: min, max });
        assert_eq!(controller.target().rate, Bitrate::from_mbps(3));
        let error = build("half(off=6 Mbit/s)").unwrap_err().to_string();
        assert_eq!(error, "\"off\": half has no such option; did you mean of?");
    }
}
