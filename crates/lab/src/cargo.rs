//! What packets carry inside the lab's simulator.

/// The content of a packet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cargo {
    /// A datagram without meaning.
    Filling,
}
