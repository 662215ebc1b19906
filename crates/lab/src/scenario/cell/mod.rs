//! Cells: media that stations share. The base is joined to each station, both ways; stations reach one another
//! through it.

mod cellular;
mod wimax;
mod wlan;

pub(super) use wimax::service;
pub(super) use wlan::access;

use crate::scenario::document::{Document, PathSegment};
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::Flow;
use seaway_link::{DropTailConfig, QueueConfig};
use seaway_sim::CellError;
use seaway_sim::cellular::CellularConfig;
use seaway_sim::wimax::WimaxConfig;
use seaway_sim::wlan::WlanConfig;
use serde::Deserialize;

/// A cell as a scenario writes it.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its name in the summary.
    pub name: String,
    /// The node of its base.
    pub base: String,
    /// The nodes of its stations.
    pub stations: Vec<String>,
    /// What it is.
    pub kind: CellKind,
}

/// The kinds of cell.
#[derive(Debug, Clone)]
pub enum CellKind {
    /// 802.16 OFDMA TDD. Its connections are those of the flows.
    Wimax(Box<WimaxConfig>),
    /// One cell of a cellular network.
    Cellular(Box<CellularConfig>),
    /// 802.11, one access point.
    Wlan(Box<WlanConfig>),
}

impl CellKind {
    /// The name of the list it is written in.
    pub const fn list(&self) -> &'static str {
        match self {
            Self::Wimax(_) => "wimax",
            Self::Cellular(_) => "cellular",
            Self::Wlan(_) => "wlan",
        }
    }
}

impl Cell {
    /// Its nodes: port 0 is the base's, port *i* + 1 station *i*'s.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.base).chain(&self.stations).map(String::as_str)
    }

    /// The names of its queues in the summary, in the order of [`seaway_sim::Cell`].
    pub(crate) fn queue_names(&self) -> Vec<String> {
        let queues = match &self.kind {
            CellKind::Wimax(config) => config.queue_names(),
            CellKind::Cellular(config) => config.queue_names(),
            CellKind::Wlan(config) => config.queue_names(),
        };
        queues.into_iter().map(|queue| format!("{}/{queue}", self.name)).collect()
    }
}

/// All cells of the document with their place in their list: first all of one kind, then of the next.
pub(crate) fn read(document: &Document<'_>) -> Result<Vec<(usize, Cell)>, ScenarioError> {
    let mut cells = wimax::read(document)?;
    cells.extend(cellular::read(document)?);
    cells.extend(wlan::read(document)?);
    Ok(cells)
}

/// Fills in what a cell must know of the flows that cross it, and sees whether it holds together then.
pub(crate) fn connect(
    document: &Document<'_>,
    cells: &mut [(usize, Cell)],
    links: &[crate::scenario::Link],
    flows: &[(usize, Flow)],
) -> Result<(), ScenarioError> {
    let known: Vec<Cell> = cells.iter().map(|(_, cell)| cell.clone()).collect();
    let network = crate::routing::RoutingGraph::new(links, &known);
    wimax::connect(document, &network, cells, flows)?;
    wlan::connect(document, &network, cells, flows)?;
    for (index, cell) in cells {
        let checked = match &cell.kind {
            CellKind::Wimax(config) => config.check(),
            CellKind::Cellular(config) => config.check(),
            CellKind::Wlan(config) => config.check(),
        };
        let list = cell.kind.list();
        checked.map_err(|error| refusal(document, list, *index, &error))?;
    }
    Ok(())
}

/// The base of a cell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    name: String,
    queue: Option<QueueConfig>,
}

fn packets(count: u64) -> QueueConfig {
    QueueConfig::DropTail(DropTailConfig::packets(count))
}

/// What is wrong with cell `index` of `list`, at the key it names.
fn refusal(document: &Document<'_>, list: &str, index: usize, error: &CellError) -> ScenarioError {
    let keys = error.key.split('.').map(|key| key.parse().map_or(PathSegment::Key(key), PathSegment::Index));
    let path: Vec<PathSegment<'_>> =
        [PathSegment::Key(list), PathSegment::Index(index)].into_iter().chain(keys).collect();
    document.error_at(&path, error.to_string())
}
