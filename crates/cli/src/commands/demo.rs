//! `seaway demo`: sender, link and receiver in one process over real sockets, and the page.

use crate::decoder;
use crate::failure::{Failure, note};
use crate::interrupt;
use crate::live::beside::{Beside, Ends};
use crate::live::client_buffer::{self, BufferOptions};
use crate::live::emulated::{NetworkHandle, media_flow, read_for_viewer, read_network};
use crate::live::options;
use crate::live::qlog::{self, SessionLog};
use crate::live::repair::{PlayoutOption, RepairOptions};
use crate::live::report::{DelayFrom, Report};
use crate::live::reporter::{Reporter, Stats};
use crate::live::session::{self, Session};
use crate::live::settings::Settings;
use crate::live::sizes::SizesOption;
use crate::live::watch::Missed;
use crate::web::{ControlName, Hello, Page, WebOptions};
use seaway_control::{ControlSpec, Registry, policy};
use seaway_lab::library;
use seaway_lab::scenario::{Flow, FlowKind, Scenario};
use seaway_media::input::{PictureSource, bundled_clip, open};
use seaway_net::Clock;
use seaway_report::qlog::End;
use seaway_session::{ByteBufferConfig, Limits};
use seaway_stream::{Receiver, RunningRuntime, Sender};
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::process::{ExitCode, Stdio};
use std::sync::mpsc::channel;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The input: a file, `test:1280x720@25`, or anything that FFmpeg reads; by default the bundled clip in a loop
    input: Option<String>,
    /// The controller, such as 'tfrc' or 'multfrc(max=8)'
    #[arg(long, default_value = Registry::DEFAULT)]
    control: ControlSpec,
    /// How the encoder's rate is set: 'direct' uses the rate of the controller, 'pd' keeps the send queue at a level
    #[arg(long, value_name = "POLICY")]
    policy: Option<ControlSpec>,
    /// The network: a scenario file, a name of `seaway list scenarios`, or
    /// 'link(rate=2 Mbit/s, loss=5 %, delay=40 ms, jitter=10 ms)'
    #[arg(long, default_value = "clean", value_name = "FILE|NAME")]
    network: String,
    /// Send the same pictures by another controller over a network of the same kind, such as 'fixed(rate=4 Mbit/s)', and show what
    /// is received beside
    #[arg(long, value_name = "CONTROL", conflicts_with = "headless")]
    beside: Option<ControlSpec>,
    /// End after this long, such as '30s'
    #[arg(long, value_name = "TIME")]
    duration: Option<TimeDelta>,
    /// Serve no page
    #[arg(long)]
    headless: bool,
    /// Print the report as one JSON document on stdout
    #[arg(long)]
    json: bool,
    /// Print JSON lines while it runs
    #[arg(long, conflicts_with = "json")]
    stats: Option<Stats>,
    /// Write every datagram to a capture file
    #[arg(long, value_name = "FILE")]
    pcap: Option<String>,
    /// Write values, events and changes of the rate to a log in qlog's form (docs/qlog.md)
    #[arg(long, value_name = "FILE", value_parser = qlog::file)]
    qlog: Option<String>,
    /// Write a stamp with a counter and the time of day into each picture (docs/stamp.md), and read it where it is received
    #[arg(long)]
    stamp: bool,
    /// Report when the picture on the screen was captured longer ago than this, such as '300 ms', and when it is younger again
    #[arg(long, value_name = "TIME", value_parser = options::bound)]
    stale_after: Option<TimeDelta>,
    /// Open the page in a browser
    #[arg(long, conflicts_with = "headless")]
    open: bool,
    /// The address of the page
    #[arg(long, default_value = "127.0.0.1:8090", value_name = "ADDR", conflicts_with = "headless")]
    web: SocketAddr,
    #[command(flatten)]
    web_options: WebOptions,
    /// Seed of the link's random numbers; default: that of the scenario
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    repair: RepairOptions,
    #[command(flatten)]
    playout: PlayoutOption,
    #[command(flatten)]
    buffer: BufferOptions,
    #[command(flatten)]
    sizes: SizesOption,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // Before a page is served.
    for control in [&arguments.control].into_iter().chain(&arguments.beside) {
        Registry::builtin().check(control).map_err(|error| Failure::input(&error))?;
    }
    arguments.policy.as_ref().map(policy::build).transpose().map_err(|error| Failure::input(&error))?;
    interrupt::install_live()?;
    let mut demo = Demo::start(arguments)?;
    let outcome =
        session::run(demo.clock, arguments.duration, |now| demo.step(now).map(ControlFlow::Continue));
    let (report, missed) = demo.finish()?;
    outcome?;
    report.print(arguments.json)?;
    Ok(missed.map_or(report.exit_code(), |missed| missed.report()))
}

struct Demo {
    clock: Clock,
    scenario: Scenario,
    session: Session,
    reporter: Reporter,
    settings: Settings,
    runtime: RunningRuntime,
    network: NetworkHandle,
    /// As the command line has it.
    named: String,
    beside: Option<Beside>,
}

/// Tracks of the page.
const SENT: usize = 0;
const RECEIVED: usize = 1;
const BESIDE: usize = 2;

impl Demo {
    fn start(arguments: &Arguments) -> Result<Self, Failure> {
        let scenario = read_network(&arguments.network, arguments.seed)?;
        let limits = limits(media_flow(&scenario)?);
        let repair = arguments.repair.repair()?;
        let buffer = client_buffer(arguments, media_flow(&scenario)?)?;
        let source = source_of(arguments)?;
        let settings = Settings::new(&arguments.control, limits, Some(&arguments.network))
            .with_buffer(buffer.is_some())
            .with_latency(arguments.repair.latency);
        let reporter = reporter(arguments, &scenario, &settings)?;
        let mut runtime = session::runtime(arguments.pcap.as_deref())?;
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (send_references, references) = channel();
        let receiver = decoder::confined(Receiver::builder(loopback))
            .references(references)
            .buffer(buffer)
            .latency(arguments.repair.latency)
            .playout(arguments.playout.mode())
            .stamps(arguments.stamp)
            .stale_after(arguments.stale_after)
            .browser(reporter.track(RECEIVED))
            .start_on(&mut runtime)?;
        let (network, to) = NetworkHandle::start(&mut runtime, &scenario, receiver.local_address())?;
        let sender = Sender::builder(to)
            .bind(loopback)
            .control(arguments.control.clone())
            .policy(arguments.policy.clone())
            .limits(limits)
            .repair(repair)
            .latency(arguments.repair.latency)
            .circuit_breaker(false)
            .pictures(source, true)
            .sizes(arguments.sizes.rule())
            .stamp(arguments.stamp)
            .preview(reporter.track(SENT))
            .references(send_references)
            .start_on(&mut runtime)?;
        let beside = arguments.beside.clone().map(|control| {
            let ends = Ends { control, limits, repair, latency: arguments.repair.latency };
            Beside::start(&mut runtime, &scenario, source_of(arguments)?, ends, reporter.track(BESIDE))
        });
        let beside = beside.transpose()?;
        let clock = runtime.clock();
        let runtime = session::start(runtime)?;
        let session = Session::new(clock.now(), Some(sender), Some(receiver));
        let named = arguments.network.clone();
        Ok(Self { clock, scenario, session, reporter, settings, runtime, network, named, beside })
    }

    /// Takes what is new, carries out requests of viewers and reports.
    fn step(&mut self, now: Timestamp) -> Result<(), Failure> {
        let Self { scenario, session, reporter, settings, network, beside, named, .. } = self;
        if let Some(beside) = beside {
            beside.drain()?;
        }
        if session.drain()?.is_break() {
            return Err(Failure::running(&"the stream ended"));
        }
        session.network = network.states.try_iter().last().or(session.network.take());
        reporter.serve_requests(|wanted| {
            session.apply(now, settings, wanted, |name| {
                let read = read_for_viewer(name, named, scenario.seed);
                *scenario = read.map_err(|failure| failure.to_string())?;
                network.replace(scenario).map_err(|failure| failure.to_string())?;
                beside
                    .iter()
                    .try_for_each(|beside| beside.replace(scenario))
                    .map_err(|failure| failure.to_string())
            })
        });
        reporter.report(now, session)
    }

    /// Ends everything and makes the report.
    fn finish(mut self) -> Result<(Report, Option<Missed>), Failure> {
        let now = self.clock.now();
        let last = self.step(now);
        let lateness = self.runtime.close()?;
        self.session.close()?;
        self.beside.iter_mut().try_for_each(Beside::close)?;
        let logged = self.reporter.finish();
        last?;
        logged?;
        let Scenario { name, seed, .. } = &self.scenario;
        let report = Report::new(name, *seed, &self.session, now, &lateness, DelayFrom::Capture);
        Ok((report, self.session.missed()))
    }
}

fn source_of(arguments: &Arguments) -> Result<Box<dyn PictureSource>, Failure> {
    let source = match &arguments.input {
        Some(input) => open(input),
        None => bundled_clip(),
    };
    source.map_err(|error| Failure::input(&error))
}

fn reporter(arguments: &Arguments, scenario: &Scenario, settings: &Settings) -> Result<Reporter, Failure> {
    let listen = (!arguments.headless).then_some(arguments.web);
    let log = |name: &String| SessionLog::create(name, &scenario.name, End::Both);
    let reporter = Reporter::new()
        .with_stats(arguments.stats)
        .with_log(arguments.qlog.as_ref().map(log).transpose()?)
        .with_page(listen, &arguments.web_options, None, || hello(arguments, scenario, settings))?;
    if arguments.open {
        reporter.page().into_iter().for_each(open_browser);
    }
    Ok(reporter)
}

/// The client's buffer: that of the options, else that of the network's flow, else a usual one where the controller
/// answers its level.
fn client_buffer(arguments: &Arguments, flow: &Flow) -> Result<Option<ByteBufferConfig>, Failure> {
    let of_flow = match &flow.kind {
        FlowKind::Media(media) => media.receiver.and_then(|receiver| receiver.byte_buffer()),
        _ => None,
    };
    let is_needed = client_buffer::is_needed_by(&arguments.control);
    let buffer = arguments.buffer.config()?.or(of_flow).or(is_needed.then_some(client_buffer::USUAL));
    if let Some(ByteBufferConfig { capacity, consume, .. }) = buffer {
        note(&format!("the client has a buffer of {capacity} from which it takes {consume}"));
    }
    Ok(buffer)
}

fn limits(flow: &Flow) -> Limits {
    let rates = match &flow.kind {
        FlowKind::Media(media) => media.rate,
        _ => None,
    };
    let (min, max) =
        rates.map_or((Bitrate::from_kbps(150), Bitrate::from_mbps(4)), |rates| (rates.min, rates.max));
    let start = rates.and_then(|rates| rates.start).unwrap_or(Bitrate::from_kbps(300));
    Limits { min, start: start.clamp(min, max), max }
}

fn hello(arguments: &Arguments, scenario: &Scenario, settings: &Settings) -> Hello {
    let registry = Registry::builtin();
    let names =
        registry.controllers().iter().map(|info| ControlName { name: info.name, source: info.source });
    Hello {
        seaway: seaway_report::VERSION,
        title: arguments.input.clone().unwrap_or_else(|| seaway_media::clip::ATTRIBUTION.to_owned()),
        seed: scenario.seed,
        pictures: ["sent", "received"]
            .into_iter()
            .chain(arguments.beside.is_some().then_some("beside"))
            .collect(),
        beside: arguments.beside.as_ref().map(ToString::to_string),
        controls: names.collect(),
        networks: library::networks().iter().map(|entry| entry.name.to_owned()).collect(),
        settings: settings.values().clone(),
    }
}

fn open_browser(page: &Page) {
    // Without a browser the printed address has to do.
    let _ = std::process::Command::new("xdg-open")
        .arg(&page.served().url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
