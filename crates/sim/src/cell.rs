//! The interface of cells: media that many places share.

use crate::wlan::AssociationStatistics;
use seaway_link::{LinkStatistics, Node, Port, QueueConfig};
use seaway_units::{Bitrate, Timestamp};
use serde::Deserialize;
use std::fmt;

/// A payload that names the port by which it leaves a cell.
pub trait Addressed {
    /// The port of the cell behind which the packet's next place lies.
    fn leave_by(&self) -> Port;
}

/// A medium that stations share, as a node: port 0 is the base station's or access point's, port *i* station *i*'s.
///
/// Its queues are numbered from zero; their number does not change during a run.
pub trait Cell<P>: Node<P> {
    /// The queues' names, as reports show them behind the name of the cell: `ss1/up`.
    fn queue_names(&self) -> Vec<String>;

    /// The counters of a queue over the window that began with the cell or with
    /// [`restart_statistics`](Self::restart_statistics), up to `now`, to which the host has run the cell.
    fn statistics(&self, queue: usize, now: Timestamp) -> LinkStatistics;

    /// Begins a new window at `now`, as at the end of a warm-up.
    fn restart_statistics(&mut self, now: Timestamp);

    /// The association of the station that a queue leads to, in a cell whose stations associate by frames.
    fn association(&self, _queue: usize, _now: Timestamp) -> Option<AssociationStatistics> {
        None
    }

    /// Packets that wait in a queue.
    fn waiting(&self, queue: usize) -> u64;

    /// What the medium could carry for a queue now, were it alone.
    fn rate(&self, queue: usize) -> Bitrate;
}

/// The base of a cell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// Its node.
    pub name: String,
    /// What it holds for each station.
    pub queue: Option<QueueConfig>,
}

/// An invalid cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellError {
    /// The key, as the scenario writes it, with dots.
    pub key: String,
    /// What was found and what would be valid.
    pub problem: String,
}

impl CellError {
    /// `key` as the scenario writes it, `problem` what was found and what would be valid.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into() }
    }
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.problem)
    }
}

impl std::error::Error for CellError {}
