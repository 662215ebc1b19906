//! `[[flow]]`: what every flow has, and which kind it is.

use crate::scenario::document::{Document, PathSegment, Value, at, keys, split};
use crate::scenario::error::ScenarioError;
use crate::scenario::media::MediaFlow;
use crate::scenario::schedule::{OnOffSchedule, Start};
use crate::scenario::tcp::TcpFlow;
use crate::scenario::udp::UdpFlow;
use crate::scenario::window::WindowFlow;
use seaway_control::nearest;
use seaway_link::RandomStream;
use seaway_sim::wimax::Service;
use seaway_sim::wlan::AccessCategory;
use seaway_units::{TimeDelta, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// A flow from one node to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Its name in the summary.
    pub name: String,
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// When it begins.
    pub start: Start,
    /// When it ends; absent: with the run.
    pub stop: Option<TimeDelta>,
    /// Pauses, `[from, to)`, in order.
    pub pause: Vec<(TimeDelta, TimeDelta)>,
    /// By which service it crosses the air of a WiMAX cell; absent: best effort.
    pub service: Option<Service>,
    /// By which access category it crosses the air of an 802.11 cell; absent: best effort.
    pub access: Option<AccessCategory>,
    /// What it carries and how.
    pub kind: FlowKind,
}

impl Flow {
    /// When it is on in a run that lasts so long. A random start is drawn from the flow's own stream of the run's `seed`.
    pub(crate) fn schedule(&self, seed: u64, duration: TimeDelta) -> OnOffSchedule {
        let start = self.start.instant(|| RandomStream::new(seed, &format!("{}/start", self.name)));
        let end = Timestamp::ZERO + self.stop.unwrap_or(duration);
        OnOffSchedule::new(start, end, &self.pause)
    }

    /// The copy with this number, counted from zero, of so many.
    fn copy(&self, name: &str, index: usize, count: usize) -> Self {
        let kind = match &self.kind {
            FlowKind::Media(media) => FlowKind::Media(Box::new(media.copy(index, count))),
            other => other.clone(),
        };
        Self { name: format!("{name}#{}", index + 1), kind, ..self.clone() }
    }
}

/// The kinds of flow.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowKind {
    /// Video under a rate controller.
    Media(Box<MediaFlow>),
    /// A TCP connection.
    Tcp(TcpFlow),
    /// Datagrams without control.
    Udp(UdpFlow),
    /// Video over S002's transport on its own wire.
    Window(WindowFlow),
}

impl FlowKind {
    /// Its name in a scenario.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Media(_) => "media",
            Self::Tcp(_) => "tcp",
            Self::Udp(_) => "udp",
            Self::Window(_) => "window",
        }
    }
}

/// The keys every flow has.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Common {
    name: Option<String>,
    kind: Option<String>,
    from: String,
    to: String,
    #[serde(default = "at_once")]
    start: Start,
    stop: Option<TimeDelta>,
    #[serde(default)]
    pause: Vec<(TimeDelta, TimeDelta)>,
    #[serde(default = "one")]
    count: u32,
    service: Option<Service>,
    access: Option<AccessCategory>,
}

const KINDS: &[&str] = &["media", "tcp", "udp", "window"];
/// More than any paper uses; a run with so many flows still fits into memory.
const MOST: u32 = 100_000;

fn at_once() -> Start {
    Start::At(TimeDelta::ZERO)
}

fn one() -> u32 {
    1
}

/// All flows of the document with the place of their table among the flows, `count` written out as `name#1`, `name#2` and so on.
pub(crate) fn read(document: &Document<'_>) -> Result<Vec<(usize, Flow)>, ScenarioError> {
    let mut flows: Vec<(usize, Flow)> = Vec::new();
    let mut names = Names::default();
    for (index, table) in document.tables("flow")?.into_iter().enumerate() {
        let (flow, count) = read_one(document, index, table)?;
        if flows.len() + count as usize > MOST as usize {
            let message = format!("more than {MOST} flows in all");
            return Err(document.error_at(at!["flow", index], message));
        }
        let name = match &flow.name {
            name if name.is_empty() => names.unused(flow.kind.name()),
            name => names.take(name),
        };
        if count == 1 {
            flows.push((index, Flow { name, ..flow }));
        } else {
            flows.extend((0..count as usize).map(|i| (index, flow.copy(&name, i, count as usize))));
        }
    }
    Ok(flows)
}

fn read_one(document: &Document<'_>, index: usize, table: Value<'_>) -> Result<(Flow, u32), ScenarioError> {
    let (common, rest) = split::<Common>(table);
    let common: Common = document.read(&common, &[])?;
    let refuse_at = |keys: &[&str], message: String| {
        let keys = keys.iter().map(|key| PathSegment::Key(key));
        let path: Vec<PathSegment<'_>> = at!["flow", index].iter().copied().chain(keys).collect();
        document.error_at(&path, message)
    };
    let refuse = |key: &str, message: String| refuse_at(&[key], message);
    let kind = match common.kind.as_deref() {
        Some("media") => {
            let mut media: Box<MediaFlow> = Box::new(document.read(&rest, keys::<Common>())?);
            media.registry = document.registry().clone();
            let file = &|name: &str| document.read_file(name);
            media.source.load(file).map_err(|problem| refuse_at(&["source", "file"], problem))?;
            media.apply_weight().map_err(|problem| refuse_at(&["weight"], problem))?;
            let interval = ["feedback", "interval"];
            media.apply_feedback_interval().map_err(|problem| refuse_at(&interval, problem))?;
            FlowKind::Media(media)
        }
        Some("tcp") => FlowKind::Tcp(document.read(&rest, keys::<Common>())?),
        Some("udp") => FlowKind::Udp(document.read(&rest, keys::<Common>())?),
        Some("window") => FlowKind::Window(document.read(&rest, keys::<Common>())?),
        Some(other) => {
            let advice = nearest(other, KINDS.iter().copied());
            return Err(refuse("kind", format!("unknown kind of flow `{other}`; {advice}")));
        }
        None => {
            return Err(refuse(
                "kind",
                format!("the key `kind` is missing; there are: {}", KINDS.join(", ")),
            ));
        }
    };
    if common.count == 0 || common.count > MOST {
        return Err(refuse("count", format!("`count` is {}: expected 1 to {MOST}", common.count)));
    }
    if common.name.as_deref() == Some("") {
        return Err(refuse("name", "`name` is empty: expected a name, or no such key".to_owned()));
    }
    let flow = Flow {
        name: common.name.unwrap_or_default(),
        from: common.from,
        to: common.to,
        start: common.start,
        stop: common.stop,
        pause: common.pause,
        service: common.service,
        access: common.access,
        kind,
    };
    Ok((flow, common.count))
}

/// The names of the flows so far.
#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
    /// Of each kind, the last number that was given.
    given: BTreeMap<&'static str, u32>,
}

impl Names {
    fn take(&mut self, name: &str) -> String {
        self.taken.insert(name.split('#').next().unwrap_or_default().to_owned());
        name.to_owned()
    }

    /// `tcp`, or `tcp-2` where there is one already.
    fn unused(&mut self, kind: &'static str) -> String {
        let given = self.given.entry(kind).or_default();
        loop {
            *given += 1;
            let name = if *given == 1 { kind.to_owned() } else { format!("{kind}-{given}") };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
