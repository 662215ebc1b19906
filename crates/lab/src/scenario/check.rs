//! Checks across the parts of a scenario.

use crate::scenario::document::{Document, PathSegment, at};
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::{Flow, FlowKind};
use crate::scenario::media::MediaFlow;
use crate::scenario::routing::RoutingGraph;
use crate::scenario::schedule::Start;
use crate::scenario::tcp::{TcpFlow, TransferSize};
use crate::scenario::{Bound, Cell, Expect, Link, Outlet, Scenario};
use crate::source::SourceConfig;
use seaway_control::policy;
use seaway_control::{FlowConfig, nearest};
use seaway_sim::tcp::HEADERS;
use seaway_units::{Bitrate, DataSize, TimeDelta};
use std::collections::BTreeSet;

/// Finds the first inconsistency. `tables[i]` is the table that flow `i` was written in.
pub(crate) fn check(
    document: &Document<'_>,
    scenario: &Scenario,
    tables: &[usize],
) -> Result<(), ScenarioError> {
    times(document, scenario)?;
    let mut names = BTreeSet::new();
    let network = RoutingGraph::new(&scenario.links, &scenario.cells);
    let nodes: Vec<&str> = network.nodes().collect();
    for (flow, &table) in scenario.flows.iter().zip(tables) {
        let place = Place { document, base: ["flow".into(), table.into()] };
        place.name("flow", &flow.name, !names.insert(flow.name.as_str()))?;
        if flow.name.contains('#') && !flow.name.ends_with("#1") {
            continue;
        }
        place.node("from", &flow.from, &nodes)?;
        place.node("to", &flow.to, &nodes)?;
        route(&place, flow, &network)?;
        span(&place, flow, scenario.duration)?;
        match &flow.kind {
            FlowKind::Media(media) => media_flow(&place, media)?,
            FlowKind::Tcp(tcp) => tcp_flow(&place, tcp)?,
            FlowKind::Udp(udp) => {
                place.packet(udp.packet)?;
                place.require("rate", udp.rate > Bitrate::ZERO, "expected a rate above zero")?;
                if let Some(every) = udp.every {
                    let short = every > TimeDelta::ZERO && every <= TimeDelta::from_secs(1);
                    let whole = short && udp.rate.size_in(every) >= udp.packet;
                    let expected = "expected a second at most, and a time in which a datagram is sent";
                    place.require("every", whole, expected)?;
                }
            }
            FlowKind::Window(window) => {
                if let Some(spec) = &window.policy {
                    policy::build(spec).map_err(|error| place.error("policy", error.to_string()))?;
                }
                place.require("rate", window.rate > Bitrate::ZERO, "expected a rate above zero")?;
                place.require("fps", (1.0..=240.0).contains(&window.usual_fps()), "expected 1 to 240")?;
                let is_shaped = matches!(window.source, Some(SourceConfig::Shaper { .. }));
                let expected = "expected kind = \"shaper\": a coded stream";
                place.require("source", is_shaped || window.source.is_none(), expected)?;
                let is_one = window.fps.is_none() || window.source.is_none();
                place.require("fps", is_one, "a coded stream has its own")?;
                let spans = TimeDelta::ZERO..=TimeDelta::from_secs(60);
                place.require("buffer", spans.contains(&window.buffer), "expected at most 60 s")?;
                let fifo = TimeDelta::from_millis(100)..=TimeDelta::from_secs(600);
                place.require("fifo", fifo.contains(&window.fifo), "expected 100 ms to 600 s")?;
            }
        }
    }
    attachments(document, scenario, &nodes)?;
    for (index, expect) in scenario.expect.iter().enumerate() {
        expectation(&Place { document, base: ["expect".into(), index.into()] }, expect, scenario)?;
    }
    Ok(())
}

fn attachments(document: &Document<'_>, scenario: &Scenario, nodes: &[&str]) -> Result<(), ScenarioError> {
    let mut taken = Vec::new();
    for (index, attach) in scenario.attach.iter().enumerate() {
        let place = Place { document, base: ["attach".into(), index.into()] };
        place.node("node", &attach.node, nodes)?;
        let is_first = scenario.attach[..index].iter().all(|other| other.node != attach.node);
        place.require("node", is_first, "another [[attach]] stands there already")?;
        let outlet = attach.outlet();
        place.require("tun", outlet.is_some(), "expected either `tun` or `udp`")?;
        place.require("peer", attach.peer.is_none() || attach.udp.is_some(), "applies only beside `udp`")?;
        let is_one_of_ours = |peer| scenario.attach.iter().any(|other| other.udp == Some(peer));
        let expected = "expected the socket of a program, not one of an [[attach]]: packets would go round";
        place.require("peer", !attach.peer.is_some_and(is_one_of_ours), expected)?;
        if let Some(name) = &attach.tun {
            // The kernel would replace `%d` by a number of its choice.
            let is_plain = name.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"-_".contains(&octet));
            let is_device = is_plain && (1..=DEVICE_NAME).contains(&name.len());
            place.require("tun", is_device, "expected the name of a device: 1 to 15 letters and digits")?;
        }
        let key = if attach.tun.is_some() { "tun" } else { "udp" };
        let place_of = |outlet: Option<Outlet<'_>>| match outlet {
            Some(Outlet::Udp(address, _)) if address.port() > 0 => Some(address.to_string()),
            Some(Outlet::Tun(name)) => Some(name.to_owned()),
            _ => None,
        };
        if let Some(name) = place_of(outlet) {
            place.require(key, !taken.contains(&name), "another [[attach]] has it already")?;
            taken.push(name);
        }
        let first = scenario.attach[0].outlet();
        let is_alike = matches!(first, Some(Outlet::Tun(_))) == attach.tun.is_some();
        place.require(key, is_alike, "a network is attached by `tun` alone or by `udp` alone")?;
        place.require(
            key,
            attach.udp.is_none() || index < 2,
            "by `udp` there are two [[attach]], no more",
        )?;
    }
    Ok(())
}

fn times(document: &Document<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    /// A simulation of a year is a slip of the pen.
    const LONGEST: TimeDelta = TimeDelta::from_secs(30 * 24 * 3600);
    let Scenario { duration, warmup, .. } = *scenario;
    if duration <= TimeDelta::ZERO || duration > LONGEST {
        let message = format!("`duration` is {duration}: expected above 0 s and at most {LONGEST}");
        return Err(document.error_at(at!["duration"], message));
    }
    if warmup.is_negative() || warmup >= duration {
        let message = format!("`warmup` is {warmup}: expected at least 0 s and less than `duration`");
        return Err(document.error_at(at!["warmup"], message));
    }
    Ok(())
}

/// The longest name of a network interface (`IFNAMSIZ` less the end).
const DEVICE_NAME: usize = 15;

/// Whether the names of links, cells and their nodes are unique.
pub(crate) fn names(
    document: &Document<'_>,
    links: &[Link],
    cells: &[(usize, Cell)],
) -> Result<(), ScenarioError> {
    const NAME: &str = "expected a name without blanks, dots, slashes and #";
    let mut names = BTreeSet::new();
    for (index, link) in links.iter().enumerate() {
        let place = Place { document, base: ["link".into(), index.into()] };
        place.name("link", &link.name, !names.insert(link.name.as_str()))?;
        for (key, node) in [("from", &link.from), ("to", &link.to)] {
            place.require(key, is_name(node), NAME)?;
        }
        place.require("to", link.from != link.to, "a link ends at another node than it begins at")?;
    }
    for (index, cell) in cells {
        let place = Place { document, base: [cell.kind.list().into(), (*index).into()] };
        place.name("link or cell", &cell.name, !names.insert(cell.name.as_str()))?;
        let mut nodes = BTreeSet::new();
        for node in cell.nodes() {
            place.require("name", is_name(node), &format!("`{node}` among its nodes: {NAME}"))?;
            place.require(
                "name",
                nodes.insert(node),
                &format!("there are two nodes named `{node}` in it"),
            )?;
        }
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || ".#/=".contains(c))
}

/// A table of the document that is being checked.
struct Place<'d> {
    document: &'d Document<'d>,
    base: [PathSegment<'d>; 2],
}

impl Place<'_> {
    fn error(&self, key: &str, message: impl Into<String>) -> ScenarioError {
        let steps = key.split('.').map(PathSegment::Key);
        let path: Vec<PathSegment<'_>> = self.base.iter().copied().chain(steps).collect();
        self.document.error_at(&path, message)
    }

    /// `expected` is what `key` would have to be.
    fn require(&self, key: &str, holds: bool, expected: &str) -> Result<(), ScenarioError> {
        if holds { Ok(()) } else { Err(self.error(key, format!("`{key}`: {expected}"))) }
    }

    fn above_zero(&self, key: &str, span: TimeDelta) -> Result<(), ScenarioError> {
        self.require(key, span > TimeDelta::ZERO, "expected a time above zero")
    }

    fn packet(&self, size: DataSize) -> Result<(), ScenarioError> {
        let fits = (DataSize::from_bytes(40)..=DataSize::from_bytes(65_535)).contains(&size);
        self.require("packet", fits, "expected 40 B to 65535 B")
    }

    fn name(&self, what: &str, name: &str, is_taken: bool) -> Result<(), ScenarioError> {
        let stem = name.split('#').next().unwrap_or_default();
        self.require("name", is_name(stem), "expected a name without blanks, dots, slashes and #")?;
        if is_taken {
            return Err(self.error("name", format!("there are two {what}s named `{name}`")));
        }
        Ok(())
    }

    fn node(&self, key: &str, name: &str, nodes: &[&str]) -> Result<(), ScenarioError> {
        if nodes.contains(&name) {
            return Ok(());
        }
        let advice = if nodes.is_empty() {
            "there is no [[link]] and no cell".to_owned()
        } else {
            nearest(name, nodes.iter().copied())
        };
        Err(self.error(key, format!("no link or cell has a node `{name}`; {advice}")))
    }
}

fn route(place: &Place<'_>, flow: &Flow, network: &RoutingGraph) -> Result<(), ScenarioError> {
    place.require("to", flow.from != flow.to, "a flow ends at another node than it begins at")?;
    for (from, to, why) in [(&flow.from, &flow.to, "data"), (&flow.to, &flow.from, "feedback")] {
        if network.route(from, to).is_none() {
            let hint = "a link goes both ways with `both = true`";
            let message = format!("no way for {why} from `{from}` to `{to}`; {hint}");
            return Err(place.error("to", message));
        }
    }
    Ok(())
}

fn span(place: &Place<'_>, flow: &Flow, duration: TimeDelta) -> Result<(), ScenarioError> {
    let end = flow.stop.unwrap_or(duration);
    let begins = !flow.start.earliest().is_negative() && flow.start.latest() < duration;
    place.require("start", begins, "expected at least 0 s and less than the run's `duration`")?;
    if let Start::Uniform(from, to) = flow.start {
        place.require("start", from <= to, "expected the earlier instant first")?;
    }
    place.require("stop", end > flow.start.latest(), "expected an instant later than `start`")?;
    place.require("stop", end <= duration, "expected at most the run's `duration`")?;
    let mut last = TimeDelta::from_nanos(-1);
    for &(from, to) in &flow.pause {
        place.require("pause", from > last && to > from, "expected spans [from, to], one after the other")?;
        last = to;
    }
    Ok(())
}

/// More packets than this at once are a slip of the pen.
const MOST_PACKETS: u32 = 65_535;

fn tcp_flow(place: &Place<'_>, tcp: &TcpFlow) -> Result<(), ScenarioError> {
    place.packet(tcp.packet)?;
    place.require("packet", tcp.packet > HEADERS, "expected more than 40 B, which are the headers")?;
    place.above_zero("min_rto", tcp.min_rto)?;
    let window = tcp.initial_window.is_none_or(|window| (1..=MOST_PACKETS).contains(&window));
    place.require("initial_window", window, "expected 1 to 65535")?;
    let (holds, expected) = match tcp.size {
        None => (true, ""),
        Some(TransferSize::Fixed(size)) => (size > DataSize::ZERO, "expected a size above zero"),
        Some(TransferSize::Uniform(from, to)) => {
            (DataSize::ZERO < from && from <= to, "expected a size above zero and one at or above it")
        }
        Some(TransferSize::Pareto { mean, shape }) => {
            (mean > DataSize::ZERO && shape > 1.0, "expected a mean above zero and a shape above 1")
        }
    };
    place.require("size", holds, expected)?;
    if let Some(idle) = tcp.idle {
        place.above_zero("idle", idle)?;
        place.require("idle", tcp.size.is_some(), "only transfers with a `size` come to an end")?;
    }
    place.require("starts_idle", tcp.idle.is_some() || !tcp.starts_idle, "needs the key `idle`")
}

/// Headers of IP, UDP and RTP with every extension, and a little payload.
const LEAST_MEDIA: DataSize = DataSize::from_bytes(100);

fn media_flow(place: &Place<'_>, media: &MediaFlow) -> Result<(), ScenarioError> {
    place.packet(media.packet)?;
    let has_room = media.packet >= LEAST_MEDIA;
    place.require("packet", has_room, "expected 100 B or more: IP, UDP and RTP headers take up to 80 B")?;
    let flow = FlowConfig { packet: media.packet, ecn: media.ecn.into() };
    let built = media.registry.build(&media.control, flow);
    built.map_err(|error| place.error("control", error.to_string()))?;
    policy::build(&media.policy).map_err(|error| place.error("policy", error.to_string()))?;
    if let Some(rate) = media.rate {
        let start = rate.start.unwrap_or(rate.min);
        place.require("rate.min", rate.min > Bitrate::ZERO, "expected a rate above zero")?;
        place.require("rate.max", rate.min <= rate.max, "expected at least `min`")?;
        place.require("rate.start", (rate.min..=rate.max).contains(&start), "expected `min` to `max`")?;
    }
    if let Some(size) = media.feedback.size {
        let fits = (DataSize::from_bytes(40)..=DataSize::from_bytes(1500)).contains(&size);
        place.require("feedback.size", fits, "expected 40 B to 1500 B")?;
    }
    let source = media.source.check();
    source.map_err(|(key, expected)| place.error(key, format!("`{key}`: {expected}")))?;
    streams(place, media)?;
    if let Some(deadline) = media.repair.and_then(|repair| repair.deadline) {
        place.above_zero("repair.deadline", deadline)?;
    }
    place.require("drift_ppm", media.drift_ppm.abs() <= 1000.0, "expected -1000 to 1000")?;
    if let Some(receiver) = media.receiver {
        let bounded = receiver.buffer.is_some() && receiver.consume.is_some();
        let partly = receiver.socket
            || receiver.buffer.is_some()
            || receiver.consume.is_some()
            || receiver.consume_then.is_some()
            || receiver.start_level.is_some();
        let is_timed = receiver.playout.is_some() || receiver.mode.is_some();
        let valid = if is_timed { !partly } else { bounded };
        place.require("receiver", valid, "expected `buffer` and `consume`, or `playout` and `mode` alone")?;
        let level = receiver.start_level.unwrap_or(0.0);
        place.require("receiver.start_level", (0.0..=1.0).contains(&level), "expected 0 to 1")?;
        if let Some(playout) = receiver.playout {
            place.above_zero("receiver.playout", playout)?;
        }
    }
    Ok(())
}

/// Streams beside the pictures.
fn streams(place: &Place<'_>, media: &MediaFlow) -> Result<(), ScenarioError> {
    let expected = "expected one at most, beside a source that has frames";
    let has_frames = media.source != SourceConfig::Saturated;
    place.require("stream", media.stream.is_empty() || media.stream.len() == 1 && has_frames, expected)?;
    for stream in &media.stream {
        let lengths = TimeDelta::from_micros(2500)..=TimeDelta::from_millis(120);
        let is_frame = lengths.contains(&stream.frame);
        place.require("stream", is_frame, "expected a `frame` of 2.5 ms to 120 ms, as Opus has them")?;
        let rates = Bitrate::from_kbps(6)..=Bitrate::from_kbps(510);
        place.require("stream", rates.contains(&stream.rate), "expected a `rate` of 6 to 510 kbit/s")?;
        let size = stream.rate.size_in(stream.frame) + LEAST_MEDIA;
        place.require("stream", size <= media.packet, "a frame is a packet, and has to fit into `packet`")?;
    }
    Ok(())
}

fn expectation(place: &Place<'_>, expect: &Expect, scenario: &Scenario) -> Result<(), ScenarioError> {
    let metric = super::resolve(&expect.of, scenario).map_err(|message| place.error("of", message))?;
    place.require("of", expect.min.is_some() || expect.max.is_some(), "expected `min`, `max` or both")?;
    let bound = |key: &str, bound: &Option<Bound>| {
        let number = bound.as_ref().map(|bound| bound.in_unit_of(&metric)).transpose();
        number.map_err(|message| place.error(key, message))
    };
    let (min, max) = (bound("min", &expect.min)?, bound("max", &expect.max)?);
    let rises = min.zip(max).is_none_or(|(min, max)| min <= max);
    place.require("max", rises, "expected at least `min`")
}
