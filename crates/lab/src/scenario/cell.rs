//! Cells: media that stations share. The base is joined to each station, both ways; stations reach one another
//! through it. Crate `sim` has their keys.

use crate::scenario::document::{Document, PathSegment, Value, with_queue_kinds};
use crate::scenario::error::ScenarioError;
use seaway_sim::CellError;
use seaway_sim::cellular::{CellularConfig, CellularPlan};
use seaway_sim::wimax::{WimaxConfig, WimaxPlan};
use seaway_sim::wlan::WlanConfig;

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
    Wimax(Box<WimaxPlan>),
    /// One cell of a cellular network.
    Cellular(Box<CellularPlan>),
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
            CellKind::Wimax(plan) => plan.queue_names(),
            CellKind::Cellular(plan) => plan.queue_names(),
            CellKind::Wlan(config) => config.queue_names(),
        };
        queues.into_iter().map(|queue| format!("{}/{queue}", self.name)).collect()
    }
}

/// All cells of the document with their place in their list: first all of one kind, then of the next.
pub(crate) fn read(document: &Document<'_>) -> Result<Vec<(usize, Cell)>, ScenarioError> {
    let mut cells = Vec::new();
    read_list(document, "wimax", &mut cells, |table| {
        let config: WimaxConfig = document.read(&with_queue_kinds(table), &[])?;
        Ok(config.plan().map(|plan| Cell {
            name: config.name,
            base: config.base.name,
            stations: config.station.into_iter().map(|station| station.name).collect(),
            kind: CellKind::Wimax(Box::new(plan)),
        }))
    })?;
    read_list(document, "cellular", &mut cells, |table| {
        let config: CellularConfig = document.read(&with_queue_kinds(table), &[])?;
        Ok(config.plan_with(&mut |file| document.read_file(file)).map(|plan| Cell {
            name: config.name,
            base: config.base.name,
            stations: config.user.into_iter().map(|user| user.name).collect(),
            kind: CellKind::Cellular(Box::new(plan)),
        }))
    })?;
    read_list(document, "wlan", &mut cells, |table| {
        let config: WlanConfig = document.read(&table, &[])?;
        Ok(config.check().map(|()| Cell {
            name: config.name.clone(),
            base: config.ap.name.clone(),
            stations: config.stations().into_iter().map(|station| station.name).collect(),
            kind: CellKind::Wlan(Box::new(config)),
        }))
    })?;
    Ok(cells)
}

fn read_list<'d>(
    document: &Document<'d>,
    list: &str,
    cells: &mut Vec<(usize, Cell)>,
    read: impl Fn(Value<'d>) -> Result<Result<Cell, CellError>, ScenarioError>,
) -> Result<(), ScenarioError> {
    for (index, table) in document.tables(list)?.into_iter().enumerate() {
        let cell = read(table)?.map_err(|error| refusal(document, list, index, &error))?;
        cells.push((index, cell));
    }
    Ok(())
}

/// What is wrong with cell `index` of `list`, at the key it names.
pub(super) fn refusal(document: &Document<'_>, list: &str, index: usize, error: &CellError) -> ScenarioError {
    let keys = error.key.split('.').map(|key| key.parse().map_or(PathSegment::Key(key), PathSegment::Index));
    let path: Vec<PathSegment<'_>> =
        [PathSegment::Key(list), PathSegment::Index(index)].into_iter().chain(keys).collect();
    document.error_at(&path, error.to_string())
}
