//! `[[link]]`: a link between two nodes, one way or both.

use crate::scenario::document::{Document, PathSegment, keys, split};
use crate::scenario::error::ScenarioError;
use seaway_link::{LinkConfig, LinkPlan};
use serde::Deserialize;

/// A link as a scenario writes it.
#[derive(Debug, Clone)]
pub struct Link {
    /// Its name in the summary.
    pub name: String,
    /// The node it begins at.
    pub from: String,
    /// The node it ends at.
    pub to: String,
    /// From `from` to `to`.
    pub forward: Direction,
    /// From `to` to `from`, where it goes both ways.
    pub backward: Option<Direction>,
}

impl Link {
    /// The name of its reverse direction in the summary.
    pub(crate) fn reverse_name(&self) -> String {
        format!("{}/back", self.name)
    }
}

/// One direction of a link.
#[derive(Debug, Clone)]
pub struct Direction {
    /// As it is written.
    pub config: LinkConfig,
    /// Checked, its files read.
    pub plan: LinkPlan,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ends {
    name: String,
    from: String,
    to: String,
    #[serde(default)]
    both: bool,
    reverse: Option<LinkConfig>,
}

/// All links of the document.
pub(crate) fn read(document: &Document<'_>) -> Result<Vec<Link>, ScenarioError> {
    let mut links = Vec::new();
    for (index, table) in document.tables("link")?.into_iter().enumerate() {
        let (ends, rest) = split::<Ends>(table);
        let ends: Ends = document.read(&ends, &[])?;
        let forward: LinkConfig = document.read(&rest, keys::<Ends>())?;
        let backward = match (ends.both, ends.reverse) {
            (true, reverse) => Some(forward.way_back(&reverse.unwrap_or_default())),
            (false, None) => None,
            (false, Some(_)) => {
                let place = ["link".into(), index.into(), "reverse".into()];
                return Err(document.error_at(&place, "`reverse` applies only where `both = true`"));
            }
        };
        let forward = direction(document, &["link".into(), index.into()], forward)?;
        if let Some(backward) = &backward
            && forward.config.trace.is_some()
            && (backward.rate, &backward.trace) == (None, &None)
        {
            let message = "a trace is of one way: expected what the way back has, such as \
                           reverse = { rate = \"2.5 Mbit/s\" }";
            return Err(document.error_at(&["link".into(), index.into(), "trace".into()], message));
        }
        let place = ["link".into(), index.into(), "reverse".into()];
        let backward = backward.map(|backward| direction(document, &place, backward)).transpose()?;
        links.push(Link { name: ends.name, from: ends.from, to: ends.to, forward, backward });
    }
    Ok(links)
}

/// One direction, if it holds together and its files can be read. `base` is where it is written.
fn direction(
    document: &Document<'_>,
    base: &[PathSegment<'_>],
    config: LinkConfig,
) -> Result<Direction, ScenarioError> {
    match config.plan_with(&mut |file| document.read_file(file)) {
        Ok(plan) => Ok(Direction { config, plan }),
        Err(error) => {
            let field = match &error {
                seaway_link::Error::Config { field, .. } => field.as_str(),
                seaway_link::Error::Trace { .. } => "trace",
            };
            let path: Vec<PathSegment<'_>> =
                base.iter().copied().chain(field.split('.').map(PathSegment::Key)).collect();
            let within = match (&error, &config.trace) {
                (seaway_link::Error::Trace { .. }, Some(trace)) => format!("{}: ", trace.file),
                _ => String::new(),
            };
            Err(document.error_at(&path, format!("{within}{error}")))
        }
    }
}
