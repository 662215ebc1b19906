//! From a scenario to a world that can run.

use crate::activity::Activity;
use crate::agent::{
    Agent, Audience, MediaReceiver, MediaSender, MediaSenderParts, ModelledViewer, PORT, TcpReceiver,
    TcpSender, UdpSink, UdpSource, Viewer, WindowSink, WindowSource,
};
use crate::cargo::Cargo;
use crate::connection;
use crate::endpoint;
use crate::network;
use crate::record::{Notices, Recorder, Tag};
use crate::run::Options;
use crate::scenario::{self, CellKind, Direction, Flow, FlowKind, MediaFlow, Scenario, Source, TcpFlow};
use crate::source::{self, Feed, LadderSource, LiveSource, Shaped};
use crate::video::{Camera, PacketCost, SharedClip, Tape};
use seaway_control::ControlSpec;
use seaway_link::{Link, LinkStatistics, Node, RandomStream};
use seaway_media::clip::BIG_BUCK_BUNNY_MPEG2;
use seaway_media::shaped::ShapedClip;
use seaway_session::SenderConfig;
use seaway_sim::cellular::Cellular;
use seaway_sim::traffic::TcpSource;
use seaway_sim::wimax::Wimax;
use seaway_sim::wlan::Wlan;
use seaway_sim::{AgentId, Cell, CellError, ElementId, Engine, Envelope, Observer, Place, RouteId};
use seaway_units::{Bitrate, Timestamp};
use std::fmt::Debug;
use std::path::Path;
use std::sync::mpsc;

/// A scenario set up in the simulator, at time zero.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) engine: Engine<Cargo, Agent, Recorder>,
    /// Links and the queues of cells, in the order of [`link_names`].
    pub(crate) links: Vec<(String, Carrier)>,
    /// Sender and receiver of each flow.
    pub(crate) ends: Vec<(AgentId, AgentId)>,
    /// The way of each flow's data.
    pub(crate) ways: Vec<RouteId>,
}

impl World {
    /// Sets `scenario` up.
    ///
    /// # Errors
    /// What the scenario's own checks cannot see.
    pub(crate) fn new(scenario: &Scenario, options: Options) -> Result<Self, BuildError> {
        let seed = scenario.seed;
        let activities: Vec<Activity> =
            scenario.flows.iter().map(|flow| Activity::new(flow, seed, scenario.duration)).collect();
        let warm = Timestamp::ZERO + scenario.warmup;
        let windows: Vec<_> = activities
            .iter()
            .map(|activity| {
                let (first, last) = activity.whole();
                (first.max(warm), last.max(warm))
            })
            .collect();
        let mut world = Self {
            engine: Engine::new(Recorder::new(&windows, scenario.duration, options.series)),
            links: Vec::new(),
            ends: Vec::new(),
            ways: Vec::new(),
        };
        world.links = lay_network(&mut world.engine, scenario)?;
        for (index, (flow, activity)) in scenario.flows.iter().zip(activities).enumerate() {
            if matches!(flow.kind, FlowKind::Udp(_)) {
                world.engine.observer_mut().flows[index].forgo_round_trips();
            }
            let plan = FlowPlan { index, flow, activity, window: windows[index], seed, options };
            world.add_flow(plan)?;
        }
        Ok(world)
    }

    /// What a carrier's books say now.
    pub(crate) fn statistics(&self, carrier: Carrier) -> Option<LinkStatistics> {
        carrier.statistics(&self.engine)
    }

    /// Capacity and packets that wait.
    pub(crate) fn level(&self, carrier: Carrier) -> Option<(Bitrate, u64)> {
        match carrier {
            Carrier::Link(element) => {
                let link = self.engine.link(element)?;
                Some((link.rate(), link.waiting(self.engine.now()).0))
            }
            Carrier::Queue { element, queue } => {
                let cell = self.engine.cell(element)?;
                Some((cell.rate(queue), cell.waiting(queue)))
            }
        }
    }

    fn add_flow(&mut self, plan: FlowPlan<'_>) -> Result<(), BuildError> {
        let flow = plan.flow;
        let (sender, receiver) = match &flow.kind {
            FlowKind::Media(media) => {
                let notices = hears_of_losses(&media.control).then(Notices::default);
                if let Some(notices) = &notices {
                    self.engine.observer_mut().notify(plan.index, notices.clone());
                }
                plan.media(media, notices)?
            }
            FlowKind::Udp(udp) => {
                let source = UdpSource::new(plan.there(), *udp, plan.activity);
                (Agent::UdpSource(source), Agent::UdpSink(UdpSink))
            }
            FlowKind::Tcp(tcp) => plan.tcp(tcp),
            FlowKind::Window(window) => {
                let sink = WindowSink::new(plan.back(), window, plan.window);
                let source = WindowSource::new(plan.there(), window, plan.activity, plan.window)
                    .map_err(|error| BuildError(format!("flow {}: {error}", flow.name)))?;
                (Agent::WindowSource(Box::new(source)), Agent::WindowSink(Box::new(sink)))
            }
        };
        let (sender, receiver) = (self.engine.add_agent(sender), self.engine.add_agent(receiver));
        let topology = self.engine.topology();
        let (from, to) = (topology.place(&flow.from), topology.place(&flow.to));
        let (sending, receiving) = ((sender, PORT, from), (receiver, PORT, to));
        let no_way = || BuildError(format!("flow {}: no way there and back", flow.name));
        self.ways.push(self.engine.connect(sending, receiving).ok_or_else(no_way)?);
        self.engine.connect(receiving, sending).ok_or_else(no_way)?;
        self.ends.push((sender, receiver));
        Ok(())
    }
}

/// What has books of its own: a link, or a queue of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    Link(ElementId),
    Queue { element: ElementId, queue: usize },
}

impl Carrier {
    pub(crate) const fn element(self) -> ElementId {
        match self {
            Self::Link(element) | Self::Queue { element, .. } => element,
        }
    }

    /// What its books say now.
    pub(crate) fn statistics<P: Debug + Send, A: Node<P>, O: Observer<P>>(
        self,
        engine: &Engine<P, A, O>,
    ) -> Option<LinkStatistics> {
        match self {
            Self::Link(element) => Some(engine.link(element)?.statistics(engine.now())),
            Self::Queue { element, queue } => Some(engine.cell(element)?.statistics(queue, engine.now())),
        }
    }
}

/// Lays the links and puts up the cells of `scenario`; gives what has books, in the order of [`link_names`].
pub(crate) fn lay_network<P: Debug + Send + 'static, A: Node<P>, O: Observer<P>>(
    engine: &mut Engine<P, A, O>,
    scenario: &Scenario,
) -> Result<Vec<(String, Carrier)>, BuildError> {
    let mut carriers = Vec::new();
    let mut lay = |name: &str, [from, to]: [&str; 2], direction: &Direction| {
        let refused = |error: seaway_link::Error| BuildError(format!("link {name}: {error}"));
        let link = Link::new(&direction.plan, scenario.seed, name).map_err(refused)?;
        let topology = engine.topology();
        let (from, to) = (topology.place(from), topology.place(to));
        carriers.push((name.to_owned(), Carrier::Link(engine.add_link(from, to, link))));
        Ok(())
    };
    for link in &scenario.links {
        lay(&link.name, [&link.from, &link.to], &link.forward)?;
        if let Some(backward) = &link.backward {
            lay(&back_name(&link.name), [&link.to, &link.from], backward)?;
        }
    }
    for cell in &scenario.cells {
        carriers.extend(put_up(engine, cell, scenario.seed)?);
    }
    Ok(carriers)
}

fn put_up<P: Debug + Send + 'static, A: Node<P>, O: Observer<P>>(
    engine: &mut Engine<P, A, O>,
    cell: &scenario::Cell,
    seed: u64,
) -> Result<impl Iterator<Item = (String, Carrier)> + use<P, A, O>, BuildError> {
    let refused = |error: CellError| BuildError(format!("cell {}: {error}", cell.name));
    let (name, topology) = (&cell.name, engine.topology());
    let places: Vec<Place> = cell.nodes().map(|node| topology.place(node)).collect();
    let medium: Box<dyn Cell<Envelope<P>>> = match &cell.kind {
        CellKind::Wimax(config) => Box::new(Wimax::new((**config).clone(), seed, name).map_err(refused)?),
        CellKind::Cellular(config) => Box::new(Cellular::new(config, seed, name).map_err(refused)?),
        CellKind::Wlan(config) => Box::new(Wlan::new((**config).clone(), seed, name).map_err(refused)?),
    };
    let element = engine.add_cell(&places, &network::pairs(cell), medium);
    let queues = cell.queue_names().into_iter().enumerate();
    Ok(queues.map(move |(queue, name)| (name, Carrier::Queue { element, queue })))
}

/// Whether the controller discriminates losses by explicit notification.
fn hears_of_losses(control: &ControlSpec) -> bool {
    control.options.iter().any(|(key, value)| key == "discriminate" && value == "oracle")
}

/// What is known of a flow before its ends are made.
struct FlowPlan<'s> {
    index: usize,
    flow: &'s Flow,
    activity: Activity,
    window: (Timestamp, Timestamp),
    seed: u64,
    options: Options,
}

impl FlowPlan<'_> {
    fn there(&self) -> Tag {
        Tag { flow: self.index, is_back: false }
    }

    fn back(&self) -> Tag {
        Tag { flow: self.index, is_back: true }
    }

    fn tcp(self, tcp: &TcpFlow) -> (Agent, Agent) {
        let (sender, transfers, receiver) = connection::parts(tcp);
        let stream = RandomStream::new(self.seed, &format!("{}/source", self.flow.name));
        let source = TcpSource::new(sender, transfers, stream);
        let receiver = TcpReceiver::new(self.back(), receiver, self.window);
        let sender = TcpSender::new(self.there(), source, self.activity, self.window);
        (Agent::TcpSender(Box::new(sender)), Agent::TcpReceiver(Box::new(receiver)))
    }

    fn media(self, media: &MediaFlow, notices: Option<Notices>) -> Result<(Agent, Agent), BuildError> {
        let config = endpoint::sender(self.index, media);
        let announcement = MediaSender::announcement(&config, &media.policy)
            .map_err(|error| BuildError(format!("flow {}: {error}", self.flow.name)))?;
        let carriage = self.options.carriage;
        let (feed, audience) = self.feed(media, &config)?;
        let receiver = endpoint::receiver(media, announcement);
        let (size, series) = (media.feedback.size, self.options.series);
        let receiver =
            MediaReceiver::new(self.back(), carriage, size, receiver, self.window, audience, notices)
                .keeping_shown(series);
        let sender = MediaSender::new(MediaSenderParts {
            tag: self.there(),
            carriage,
            config,
            policy: media.policy.clone(),
            feed,
            activity: self.activity,
            window: self.window,
            keep_decisions: self.options.series,
        });
        Ok((Agent::MediaSender(Box::new(sender)), Agent::MediaReceiver(Box::new(receiver))))
    }

    /// What is sent, and who watches it where there are pictures.
    fn feed(&self, media: &MediaFlow, config: &SenderConfig) -> Result<(Feed, Audience), BuildError> {
        if let Source::Ladder { ladder: Some(ladder), .. } = &media.source {
            let (tell, taken) = mpsc::channel();
            let viewer = ModelledViewer::new(ladder.clone(), taken, self.window);
            let audience = Audience { modelled: Some(Box::new(viewer)), ..Audience::default() };
            return Ok((Feed::Model(Box::new(LadderSource::new(ladder.clone(), tell))), audience));
        }
        let failed = |error| BuildError(format!("flow {}: {error}", self.flow.name));
        if let Source::Shaper { file, method } = &media.source {
            let clip = match file {
                Some(file) => ShapedClip::open(Path::new(file), (*method).into()),
                None => ShapedClip::new(BIG_BUCK_BUNNY_MPEG2, (*method).into()),
            };
            let source = Shaped::new(clip.map_err(failed)?);
            return Ok((Feed::Model(Box::new(source)), Audience::default()));
        }
        if let Source::Clip { encoder, file } = &media.source {
            let cost = PacketCost::new(config.packet, config.overhead);
            let clip = Box::new(SharedClip::open(file.as_deref()).map_err(failed)?);
            let camera = Camera::with_sizes(
                clip,
                config.limits.start,
                encoder.latency,
                cost,
                true,
                encoder.sizes.rule(),
            )
            .map_err(failed)?;
            let (captured, captures) = mpsc::channel();
            let mut viewer = Viewer::new(captures, self.window).map_err(failed)?;
            if let Some(film) = self.options.film.filter(|film| film.flow == self.index) {
                viewer = viewer.filmed(Tape::new(film.tape).map_err(failed)?);
            }
            let live = LiveSource::new(camera, captured, self.window.0);
            let audience = Audience { viewer: Some(Box::new(viewer)), ..Audience::default() };
            return Ok((Feed::Live(Box::new(live)), audience));
        }
        let stream = RandomStream::new(self.seed, &format!("{}/source", self.flow.name));
        let feed = source::model(&media.source, stream).map_or(Feed::Saturated, Feed::Model);
        Ok((feed, Audience::default()))
    }
}

/// The names of the links in the summary: a link that goes both ways is two, the way back `name/back`; a cell is as
/// many as it has queues.
pub(crate) fn link_names(scenario: &Scenario) -> Vec<String> {
    let mut names = Vec::new();
    for link in &scenario.links {
        names.push(link.name.clone());
        if link.backward.is_some() {
            names.push(back_name(&link.name));
        }
    }
    names.extend(scenario.cells.iter().flat_map(scenario::Cell::queue_names));
    names
}

pub(crate) fn back_name(link: &str) -> String {
    format!("{link}/back")
}

/// A scenario that cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError(String);

impl BuildError {
    pub(crate) fn new(problem: String) -> Self {
        Self(problem)
    }
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}
