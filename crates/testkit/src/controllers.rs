//! Controllers by name.

use seaway_control::{ControllerPair, FlowConfig, Registry};
use seaway_units::{DataSize, Ecn};

/// Both halves of the built-in controller that `spec` names, for packets of this size and codepoint.
///
/// # Panics
/// Where there is none.
pub fn build(spec: &str, packet: DataSize, ecn: Ecn) -> ControllerPair {
    let spec = spec.parse().unwrap_or_else(|error| panic!("{error}"));
    Registry::builtin().build(&spec, FlowConfig { packet, ecn }).unwrap_or_else(|error| panic!("{error}"))
}
