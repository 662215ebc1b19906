//! What a cell must know of a packet.

use seaway_link::Port;

/// A payload that says by which port it leaves a cell: a cell joins many places, a link only two.
pub trait Addressed {
    /// The port of the cell behind which the packet's next place lies.
    fn leave_by(&self) -> Port;
}
