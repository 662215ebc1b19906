//! Settings that a viewer of the page can change.

use super::client_buffer;
use super::repair::check_latency;
use seaway_control::{ControlSpec, Registry};
use seaway_session::Limits;
use seaway_stream::{Receiver, Sender};
use seaway_units::TimeDelta;
use std::collections::BTreeMap;

/// The settings in force.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    limits: Limits,
    /// Whether the client has a buffer whose level it reports, where that is known.
    has_buffer: Option<bool>,
    values: BTreeMap<&'static str, String>,
}

impl Settings {
    /// Controller and limits of a sender; `network` where there is one to choose.
    pub(crate) fn new(control: &ControlSpec, limits: Limits, network: Option<&str>) -> Self {
        let mut values = BTreeMap::from([("control", control.to_string())]);
        values.extend([("min", limits.min.to_string()), ("max", limits.max.to_string())]);
        values.extend(network.map(|network| ("network", network.to_owned())));
        Self { limits, has_buffer: None, values }
    }

    /// Says whether the client has a buffer whose level it reports.
    pub(crate) fn with_buffer(self, has_buffer: bool) -> Self {
        Self { has_buffer: Some(has_buffer), ..self }
    }

    /// The latency can be changed too: both ends of the session are here.
    pub(crate) fn with_latency(mut self, latency: TimeDelta) -> Self {
        self.values.insert("latency", latency.to_string());
        self
    }

    /// Name and value of each.
    pub(crate) fn values(&self) -> &BTreeMap<&'static str, String> {
        &self.values
    }

    /// Applies the settings of a viewer to `sender`, and what concerns both ends to `receiver`; `set_network` replaces the network.
    /// Returns what was changed, in words.
    ///
    /// # Errors
    /// Why a setting is refused, in words for the viewer.
    pub(crate) fn apply(
        &mut self,
        wanted: &BTreeMap<String, String>,
        sender: &Sender,
        receiver: Option<&Receiver>,
        set_network: impl FnOnce(&str) -> Result<(), String>,
    ) -> Result<String, String> {
        let mut limits = self.limits;
        let (mut control, mut latency) = (None, None::<TimeDelta>);
        for (name, value) in wanted {
            match name.as_str() {
                "control" => {
                    let spec: ControlSpec = value.parse().map_err(|error| format!("{error}"))?;
                    Registry::builtin().check(&spec).map_err(|error| error.to_string())?;
                    if self.has_buffer == Some(false) && client_buffer::is_needed_by(&spec) {
                        return Err(format!(
                            "{spec} answers the client's buffer: start with --buffer and --consume"
                        ));
                    }
                    control = Some(spec);
                }
                "min" => limits.min = value.parse().map_err(|error| format!("{error}"))?,
                "max" => limits.max = value.parse().map_err(|error| format!("{error}"))?,
                "latency" if self.values.contains_key("latency") => {
                    let wanted = value.parse().map_err(|error| format!("{error}"))?;
                    check_latency(wanted).map_err(|failure| failure.to_string())?;
                    latency = Some(wanted);
                }
                "network" if self.values.contains_key("network") => {}
                _ => return Err(format!("there is no setting {name}")),
            }
        }
        if limits.min > limits.max {
            return Err(format!("{} is above {}", limits.min, limits.max));
        }
        limits.start = limits.start.clamp(limits.min, limits.max);
        wanted.get("network").map_or(Ok(()), |network| set_network(network))?;
        control.into_iter().for_each(|control| sender.set_control(control));
        if let Some(latency) = latency {
            sender.set_latency(latency);
            receiver.into_iter().for_each(|receiver| receiver.set_latency(latency));
        }
        if limits != self.limits {
            self.limits = limits;
            sender.set_limits(limits);
        }
        for (name, value) in &mut self.values {
            wanted.get(*name).into_iter().for_each(|wanted| value.clone_from(wanted));
        }
        // The sender itself reports another controller.
        let changed = wanted.iter().filter(|(name, _)| *name != "control");
        Ok(changed.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", "))
    }
}
