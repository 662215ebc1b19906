//! Builds the simulation of a scenario.

use crate::agent::{
    Agent, DecoderSink, DriftingClock, MediaReceiver, MediaSender, MediaSenderParts, ModelSink, PORT, Sinks,
    TcpReceiver, TcpSender, UdpSink, UdpSource, WindowFrames, WindowSink, WindowSource,
};
use crate::loss_notification::LossNotification;
use crate::options::RunOptions;
use crate::payload::Payload;
use crate::record::Recorder;
use crate::scenario::{
    self, CellKind, Direction, Flow, FlowKind, MediaFlow, OnOffSchedule, Scenario, ShaperMethod,
    SourceConfig, TcpFlow, WindowFlow, pairs,
};
use crate::session_config;
use crate::source::{LadderSource, LiveSource, MediaSource, Shaped, SoundSource};
use crate::tag::Tag;
use crate::tcp_config;
use seaway_control::ControlSpec;
use seaway_link::{Link, LinkStatistics, Node, RandomStream};
use seaway_media::clip;
use seaway_media::input::PictureSource;
use seaway_media::shaped::ShapedClip;
use seaway_session::SenderConfig;
use seaway_sim::cellular::Cellular;
use seaway_sim::traffic::TcpSource;
use seaway_sim::wimax::Wimax;
use seaway_sim::wlan::{AssociationStatistics, Wlan};
use seaway_sim::{AgentId, Cell, CellError, ElementId, Engine, Envelope, Observer, Place, RouteId};
use seaway_stream::sink::ScreenRecorder;
use seaway_stream::source::{DecodedClip, EncodedSource, EncoderSettings, PacketOverhead};
use seaway_units::{Bitrate, Timestamp};
use std::fmt::Debug;
use std::path::Path;
use std::sync::mpsc;

/// A scenario set up in the simulator, at time zero.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) engine: Engine<Payload, Agent, Recorder>,
    /// Links and the queues of cells, in the order of [`Scenario::link_names`].
    pub(crate) links: Vec<(String, QueueRef)>,
    /// Sender and receiver of each flow.
    pub(crate) endpoints: Vec<(AgentId, AgentId)>,
    /// The route of each flow's data.
    pub(crate) routes: Vec<RouteId>,
}

impl World {
    /// Builds the network and the flows of `scenario`.
    ///
    /// # Errors
    /// What the scenario's own checks cannot find, such as a codec that fails.
    pub(crate) fn new(scenario: &Scenario, options: RunOptions) -> Result<Self, BuildError> {
        let seed = scenario.seed;
        let schedules: Vec<OnOffSchedule> =
            scenario.flows.iter().map(|flow| flow.schedule(seed, scenario.duration)).collect();
        let warm = Timestamp::ZERO + scenario.warmup;
        let intervals: Vec<_> = schedules
            .iter()
            .map(|schedule| {
                let (first, last) = schedule.extent();
                (first.max(warm), last.max(warm))
            })
            .collect();
        let mut world = Self {
            engine: Engine::new(Recorder::new(&intervals, scenario.duration, options.series)),
            links: Vec::new(),
            endpoints: Vec::new(),
            routes: Vec::new(),
        };
        world.links = build_network(&mut world.engine, scenario)?;
        for (index, (flow, schedule)) in scenario.flows.iter().zip(schedules).enumerate() {
            if matches!(flow.kind, FlowKind::Udp(_)) {
                world.engine.observer_mut().flows[index].skip_round_trips();
            }
            let builder = FlowBuilder { index, flow, schedule, interval: intervals[index], seed, options };
            world.add_flow(builder)?;
        }
        Ok(world)
    }

    /// The counters of a queue.
    pub(crate) fn statistics(&self, queue: QueueRef) -> Option<LinkStatistics> {
        queue.statistics(&self.engine)
    }

    /// Asserts packet conservation: what entered a queue left it, was dropped there or is still in it, and all packets
    /// in flight are in a queue.
    pub(crate) fn assert_conservation(&self) {
        let mut inside = 0;
        for (name, queue) in &self.links {
            let Some(counts) = self.statistics(*queue) else { continue };
            let entered = counts.carried_in + counts.arrivals.packets;
            assert_eq!(entered, counts.delivered.packets + counts.drops.total() + counts.inside, "{name}");
            inside += counts.inside;
        }
        assert_eq!(self.engine.observer().in_flight, inside, "packets in flight and packets in queues");
    }

    /// Capacity and waiting packets.
    pub(crate) fn level(&self, queue: QueueRef) -> Option<(Bitrate, u64)> {
        match queue {
            QueueRef::Link(element) => {
                let link = self.engine.link(element)?;
                Some((link.rate(), link.waiting(self.engine.now()).0))
            }
            QueueRef::Queue { element, queue } => {
                let cell = self.engine.cell(element)?;
                Some((cell.rate(queue), cell.waiting(queue)))
            }
        }
    }

    fn add_flow(&mut self, builder: FlowBuilder<'_>) -> Result<(), BuildError> {
        let flow = builder.flow;
        let (sender, receiver) = match &flow.kind {
            FlowKind::Media(media) => {
                let notification = needs_loss_notification(&media.control).then(LossNotification::default);
                if let Some(notification) = &notification {
                    self.engine.observer_mut().notify(builder.index, notification.clone());
                }
                builder.media(media, notification)?
            }
            FlowKind::Udp(udp) => {
                let source = UdpSource::new(builder.forward(), *udp, builder.schedule);
                (Agent::UdpSource(source), Agent::UdpSink(UdpSink))
            }
            FlowKind::Tcp(tcp) => builder.tcp(tcp),
            FlowKind::Window(window) => {
                let sink = WindowSink::new(builder.reverse(), window, builder.interval);
                (Agent::WindowSource(Box::new(builder.window(window)?)), Agent::WindowSink(Box::new(sink)))
            }
        };
        let (sender, receiver) = (self.engine.add_agent(sender), self.engine.add_agent(receiver));
        let topology = self.engine.topology();
        let (from, to) = (topology.place(&flow.from), topology.place(&flow.to));
        let (sending, receiving) = ((sender, PORT, from), (receiver, PORT, to));
        let no_route = || BuildError(format!("flow {}: no route each way", flow.name));
        self.routes.push(self.engine.connect(sending, receiving).ok_or_else(no_route)?);
        self.engine.connect(receiving, sending).ok_or_else(no_route)?;
        self.endpoints.push((sender, receiver));
        Ok(())
    }
}

/// A link, or a queue of a cell: what has counters of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueRef {
    Link(ElementId),
    Queue { element: ElementId, queue: usize },
}

impl QueueRef {
    pub(crate) const fn element(self) -> ElementId {
        match self {
            Self::Link(element) | Self::Queue { element, .. } => element,
        }
    }

    /// Its counters.
    pub(crate) fn statistics<P: Debug + Send, A: Node<P>, O: Observer<P>>(
        self,
        engine: &Engine<P, A, O>,
    ) -> Option<LinkStatistics> {
        match self {
            Self::Link(element) => Some(engine.link(element)?.statistics(engine.now())),
            Self::Queue { element, queue } => Some(engine.cell(element)?.statistics(queue, engine.now())),
        }
    }

    /// The association of the station behind it.
    pub(crate) fn association<P: Debug + Send, A: Node<P>, O: Observer<P>>(
        self,
        engine: &Engine<P, A, O>,
    ) -> Option<AssociationStatistics> {
        match self {
            Self::Link(_) => None,
            Self::Queue { element, queue } => engine.cell(element)?.association(queue, engine.now()),
        }
    }
}

/// Adds the links and the cells of `scenario`; returns their queues in the order of [`Scenario::link_names`].
pub(crate) fn build_network<P: Debug + Send + 'static, A: Node<P>, O: Observer<P>>(
    engine: &mut Engine<P, A, O>,
    scenario: &Scenario,
) -> Result<Vec<(String, QueueRef)>, BuildError> {
    let mut queues = Vec::new();
    let mut add_link = |name: &str, [from, to]: [&str; 2], direction: &Direction| {
        let refused = |error: seaway_link::Error| BuildError(format!("link {name}: {error}"));
        let link = Link::new(&direction.plan, scenario.seed, name).map_err(refused)?;
        let topology = engine.topology();
        let (from, to) = (topology.place(from), topology.place(to));
        queues.push((name.to_owned(), QueueRef::Link(engine.add_link(from, to, link))));
        Ok(())
    };
    for link in &scenario.links {
        add_link(&link.name, [&link.from, &link.to], &link.forward)?;
        if let Some(backward) = &link.backward {
            add_link(&link.reverse_name(), [&link.to, &link.from], backward)?;
        }
    }
    for cell in &scenario.cells {
        queues.extend(add_cell(engine, cell, scenario.seed)?);
    }
    Ok(queues)
}

fn add_cell<P: Debug + Send + 'static, A: Node<P>, O: Observer<P>>(
    engine: &mut Engine<P, A, O>,
    cell: &scenario::Cell,
    seed: u64,
) -> Result<impl Iterator<Item = (String, QueueRef)> + use<P, A, O>, BuildError> {
    let refused = |error: CellError| BuildError(format!("cell {}: {error}", cell.name));
    let (name, topology) = (&cell.name, engine.topology());
    let places: Vec<Place> = cell.nodes().map(|node| topology.place(node)).collect();
    let medium: Box<dyn Cell<Envelope<P>>> = match &cell.kind {
        CellKind::Wimax(config) => Box::new(Wimax::new((**config).clone(), seed, name).map_err(refused)?),
        CellKind::Cellular(config) => Box::new(Cellular::new(config, seed, name).map_err(refused)?),
        CellKind::Wlan(config) => Box::new(Wlan::new((**config).clone(), seed, name).map_err(refused)?),
    };
    let element = engine.add_cell(&places, &pairs(cell), medium);
    let queues = cell.queue_names().into_iter().enumerate();
    Ok(queues.map(move |(queue, name)| (name, QueueRef::Queue { element, queue })))
}

/// Whether the controller discriminates losses by explicit notification.
fn needs_loss_notification(control: &ControlSpec) -> bool {
    control.options.iter().any(|(key, value)| key == "discriminate" && value == "oracle")
}

/// A coded stream that is shaped in a loop.
fn shaped_clip(file: Option<&str>, method: ShaperMethod) -> Result<ShapedClip, seaway_media::Error> {
    match file {
        Some(file) => ShapedClip::open(Path::new(file), method.into()),
        None => ShapedClip::new(clip::mpeg2()?, method.into()),
    }
}

/// What the endpoints of a flow are built from.
struct FlowBuilder<'s> {
    index: usize,
    flow: &'s Flow,
    schedule: OnOffSchedule,
    interval: (Timestamp, Timestamp),
    seed: u64,
    options: RunOptions,
}

impl FlowBuilder<'_> {
    fn forward(&self) -> Tag {
        Tag { flow: self.index, is_reverse: false }
    }

    fn reverse(&self) -> Tag {
        Tag { flow: self.index, is_reverse: true }
    }

    fn tcp(self, tcp: &TcpFlow) -> (Agent, Agent) {
        let (sender, transfers, receiver) = tcp_config::parts(tcp);
        let stream = RandomStream::new(self.seed, &format!("{}/source", self.flow.name));
        let source = TcpSource::new(sender, transfers, stream);
        let receiver = TcpReceiver::new(self.reverse(), receiver, self.interval);
        let sender = TcpSender::new(self.forward(), source, self.schedule, self.interval);
        (Agent::TcpSender(Box::new(sender)), Agent::TcpReceiver(Box::new(receiver)))
    }

    fn window(self, window: &WindowFlow) -> Result<WindowSource, BuildError> {
        let failed = |error: &dyn std::fmt::Display| BuildError(format!("flow {}: {error}", self.flow.name));
        let frames = match &window.source {
            Some(SourceConfig::Shaper { file, method }) => {
                WindowFrames::Shaped(Box::new(shaped_clip(file.as_deref(), *method).map_err(|e| failed(&e))?))
            }
            _ => WindowFrames::even(window.rate, window.usual_fps()),
        };
        WindowSource::new(self.forward(), window, frames, self.schedule, self.interval)
            .map_err(|error| failed(&error))
    }

    fn media(
        self,
        media: &MediaFlow,
        notification: Option<LossNotification>,
    ) -> Result<(Agent, Agent), BuildError> {
        let config = session_config::sender(self.index, media);
        let description = MediaSender::description(&config, &media.policy)
            .map_err(|error| BuildError(format!("flow {}: {error}", self.flow.name)))?;
        let encoding = self.options.encoding;
        let (source, sinks) = self.source(media, &config)?;
        let receiver = session_config::receiver(media, description);
        let (size, series) = (media.feedback.size, self.options.series);
        let receiver =
            MediaReceiver::new(self.reverse(), encoding, size, receiver, self.interval, sinks, notification)
                .with_clock(DriftingClock::new(media.drift_ppm))
                .keeping_shown(series);
        let sender = MediaSender::new(MediaSenderParts {
            tag: self.forward(),
            encoding,
            config,
            policy: media.policy.clone(),
            source,
            schedule: self.schedule,
            interval: self.interval,
            keep_decisions: self.options.series,
        })
        .with_sound(media.stream.first().map(|stream| SoundSource::new(stream.rate, stream.frame)));
        Ok((Agent::MediaSender(Box::new(sender)), Agent::MediaReceiver(Box::new(receiver))))
    }

    /// The source of a flow's frames, and its sinks where there are pictures.
    fn source(&self, media: &MediaFlow, config: &SenderConfig) -> Result<(MediaSource, Sinks), BuildError> {
        if let SourceConfig::Ladder { ladder: Some(ladder), .. } = &media.source {
            let (captured, taken) = mpsc::channel();
            let sink = ModelSink::new(ladder.clone(), taken, self.interval);
            let sinks = Sinks { model: Some(Box::new(sink)), ..Sinks::default() };
            return Ok((MediaSource::Model(Box::new(LadderSource::new(ladder.clone(), captured))), sinks));
        }
        let failed = |error| BuildError(format!("flow {}: {error}", self.flow.name));
        if let SourceConfig::Shaper { file, method } = &media.source {
            let source = Shaped::new(shaped_clip(file.as_deref(), *method).map_err(failed)?);
            return Ok((MediaSource::Model(Box::new(source)), Sinks::default()));
        }
        if let SourceConfig::Clip { encoder, file } = &media.source {
            let overhead = PacketOverhead::new(config.packet, config.overhead);
            let clip = DecodedClip::open(file.as_deref()).map_err(failed)?;
            let settings = EncoderSettings {
                start: overhead.payload_rate(config.limits.start, clip.format().frame_rate),
                latency: encoder.latency,
                repeat: true,
                sizes: encoder.sizes.rule(),
                // What is coded does not depend on the machine.
                threads: 1,
            };
            let source = EncodedSource::new(Box::new(clip), settings).map_err(failed)?;
            let (references, received) = mpsc::channel();
            let mut sink = DecoderSink::new(received, self.interval).map_err(failed)?;
            if let Some(recording) = self.options.record.filter(|recording| recording.flow == self.index) {
                sink = sink.recorded(ScreenRecorder::new(recording.recorder).map_err(failed)?);
            }
            let live = LiveSource::new(source, overhead, references, self.interval.0)
                .with_key_frame_every(encoder.key_every);
            let sinks = Sinks { decoder: Some(Box::new(sink)), ..Sinks::default() };
            return Ok((MediaSource::Live(Box::new(live)), sinks));
        }
        let stream = RandomStream::new(self.seed, &format!("{}/source", self.flow.name));
        let source = media.source.model(stream).map_or(MediaSource::Saturated, MediaSource::Model);
        Ok((source, Sinks::default()))
    }
}

/// A scenario that cannot be built.
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
