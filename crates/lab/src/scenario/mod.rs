//! A scenario: a network and its flows, as text.
//!
//! [`Scenario::parse`] reads the TOML of `docs/scenarios.md`. Nothing is guessed and nothing is
//! ignored: an unknown key, a key that does not apply, a bare number where a unit is needed, an unknown node, a
//! flow without a way there or back are errors that name the line and what would be valid.

mod attach;
mod cell;
mod check;
mod crossing;
mod diagnosis;
mod document;
mod error;
mod expect;
mod flow;
mod link;
mod media;
mod overrides;
mod routing;
mod schedule;
mod tcp;
mod text;
mod udp;
mod window;

pub use attach::{Attach, Outlet};
pub use cell::{Cell, CellKind};
pub use error::{Place, ScenarioError};
pub(crate) use expect::resolve;
pub use expect::{Bound, Expect};
pub use flow::{Flow, FlowKind};
pub use link::{Direction, Link};
pub use media::{
    EcnName, Feedback, FeedbackFormat, MediaFlow, PlayoutMode, Rates, Receiver, Repair, StreamKind,
    StreamSource, Stripe,
};
pub use overrides::Override;
pub(crate) use routing::{RoutingGraph, pairs};
pub(crate) use schedule::OnOffSchedule;
pub use schedule::Start;
pub use tcp::{TcpAlgorithm, TcpFlow, TransferSize};
pub use text::Text;
pub use udp::UdpFlow;
pub use window::WindowFlow;

pub use crate::source::{Encoder, EncoderKind, FrameModel, ShaperMethod, Sizes, SourceConfig};

use document::{Document, at};
use seaway_control::{ControlSpec, Registry, SpecError, policy};
use seaway_units::TimeDelta;
use serde::Deserialize;

/// A network and its flows.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name in the summary.
    pub name: String,
    /// What it shows, in a sentence.
    pub about: Option<String>,
    /// How long it runs.
    pub duration: TimeDelta,
    /// The beginning that is left out of the summary.
    pub warmup: TimeDelta,
    /// Where all randomness comes from.
    pub seed: u64,
    /// The network's links.
    pub links: Vec<Link>,
    /// The network's cells: first all of one kind, then of the next.
    pub cells: Vec<Cell>,
    /// What uses it; `count` is written out.
    pub flows: Vec<Flow>,
    /// Where an emulator's nodes meet the outside.
    pub attach: Vec<Attach>,
    /// What the summary should show.
    pub expect: Vec<Expect>,
}

/// The keys outside any table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    schema: u32,
    name: String,
    about: Option<String>,
    duration: TimeDelta,
    #[serde(default)]
    warmup: Warmup,
    #[serde(default = "first_seed")]
    seed: u64,
}

#[derive(Debug, Deserialize)]
struct Warmup(TimeDelta);

impl Default for Warmup {
    fn default() -> Self {
        Self(TimeDelta::ZERO)
    }
}

fn first_seed() -> u64 {
    1
}

/// The lists a scenario may have.
const TABLES: &[&str] = &["link", "wimax", "cellular", "wlan", "flow", "attach", "expect"];
impl Scenario {
    /// The version of the format.
    pub const SCHEMA: u32 = 1;

    /// Reads a scenario and the files it names. `overrides` are applied in order before anything is checked.
    ///
    /// # Errors
    /// The first mistake: where it is, what was found and what would be valid.
    pub fn parse(text: Text<'_>, overrides: &[Override]) -> Result<Self, ScenarioError> {
        Self::parse_with(&Registry::builtin(), text, overrides)
    }

    /// Like [`parse`](Self::parse), with the controllers of `registry`.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_with(
        registry: &Registry,
        text: Text<'_>,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        let document = Document::parse(text, overrides, registry)?;
        let header: Header = document.header(TABLES)?;
        if header.schema != Self::SCHEMA {
            let message = format!("`schema` is {}: expected {}", header.schema, Self::SCHEMA);
            return Err(document.error_at(at!["schema"], message));
        }
        let flows = flow::read(&document)?;
        let links = link::read(&document)?;
        let mut cells = cell::read(&document)?;
        check::names(&document, &links, &cells)?;
        crossing::connect(&document, &mut cells, &links, &flows)?;
        let scenario = Self {
            name: header.name,
            about: header.about,
            duration: header.duration,
            warmup: header.warmup.0,
            seed: header.seed,
            links,
            cells: cells.into_iter().map(|(_, cell)| cell).collect(),
            flows: flows.iter().map(|(_, flow)| flow.clone()).collect(),
            attach: document.read_all("attach")?,
            expect: document.read_all("expect")?,
        };
        let tables: Vec<usize> = flows.iter().map(|&(table, _)| table).collect();
        check::check(&document, &scenario, &tables)?;
        Ok(scenario)
    }

    /// Gives every media flow this controller.
    ///
    /// # Errors
    /// A flow has a weight or an interval of feedback that the controller does not take.
    pub fn control_all(&mut self, control: &ControlSpec) -> Result<(), String> {
        for flow in &mut self.flows {
            if let FlowKind::Media(media) = &mut flow.kind {
                media.control = control.clone();
                media.apply_weight()?;
                media.apply_feedback_interval()?;
            }
        }
        Ok(())
    }

    /// Divides the target of every media flow by this policy.
    ///
    /// # Errors
    /// There is no such policy, or it lacks an option.
    pub fn policy_all(&mut self, policy: &ControlSpec) -> Result<(), SpecError> {
        policy::build(policy)?;
        for flow in &mut self.flows {
            if let FlowKind::Media(media) = &mut flow.kind {
                media.policy = policy.clone();
            }
        }
        Ok(())
    }

    /// The names of the links in the summary: a link that goes both ways is two, the reverse one `name/back`; a cell has
    /// one for each of its queues.
    pub(crate) fn link_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for link in &self.links {
            names.push(link.name.clone());
            names.extend(link.backward.is_some().then(|| link.reverse_name()));
        }
        names.extend(self.cells.iter().flat_map(Cell::queue_names));
        names
    }

    /// The names of all nodes, each once, in the order they are written: those of links, then those of cells.
    pub fn nodes(&self) -> Vec<String> {
        RoutingGraph::new(&self.links, &self.cells).nodes().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests;
