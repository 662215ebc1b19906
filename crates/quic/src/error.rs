//! What cannot run behind a QUIC transport.

use seaway_control::SpecError;

/// Why a [`ControllerConfig`](crate::ControllerConfig) was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An unknown name or option, or a value out of its range.
    #[error("{0}")]
    Spec(#[from] SpecError),
    /// It needs what acknowledgements do not say.
    #[error("`{name}` cannot run over QUIC: {why}")]
    Unfit {
        /// The controller.
        name: String,
        /// What it needs.
        why: &'static str,
    },
}
