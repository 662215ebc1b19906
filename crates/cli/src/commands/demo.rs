//! `seaway demo`: sender, link and receiver in one process over real sockets, and the page.

use super::Failure;
use crate::interrupt;
use crate::live::board::Board;
use crate::live::camera::{CameraNews, Outlets};
use crate::live::report::{self, Late, Report};
use crate::live::screen::{Inlets, ScreenNews};
use crate::live::{Secrets, camera, screen};
use crate::scenario::Source;
use crate::web::{ControlName, Hello, Live, Page, Request};
use seaway_control::policy::Direct;
use seaway_control::registry::{self, CONTROLLERS};
use seaway_control::{ControlSpec, Setting};
use seaway_lab::scenario::{Flow, FlowKind, Scenario};
use seaway_lab::video::{Camera, PacketCost};
use seaway_lab::{Path, Summary, library};
use seaway_media::input::{bundled_clip, open};
use seaway_net::{
    Bell, Clock, Lateness, Machine, Reactor, ReceiverMachine, Relay, RelayMail, RelaySnapshot, SenderMachine,
    SenderMail, SenderNews, Socket, make_real_time,
};
use seaway_session::{Format, Limits, Receiver, ReceiverConfig, Sender, SenderConfig};
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta, Timestamp};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, channel};
use std::thread::JoinHandle;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to send: a file, `test:1280x720@25`, anything FFmpeg reads; the bundled clip in a loop if not given
    input: Option<String>,
    /// The controller, such as 'tfrc' or 'multfrc(max=8)'
    #[arg(long, default_value = "tfrc")]
    control: ControlSpec,
    /// The network: a scenario file or a name of `seaway list scenarios`
    #[arg(long, default_value = "clean", value_name = "FILE|NAME")]
    network: String,
    /// End after this long, such as '30s'
    #[arg(long, value_name = "TIME")]
    duration: Option<TimeDelta>,
    /// No page
    #[arg(long)]
    headless: bool,
    /// Print the report as one JSON document on stdout
    #[arg(long)]
    json: bool,
    /// Open the page in a browser
    #[arg(long, conflicts_with = "headless")]
    open: bool,
    /// Where the page is served
    #[arg(long, default_value = "127.0.0.1:8090", value_name = "ADDR", conflicts_with = "headless")]
    web: SocketAddr,
    /// Where the link's randomness comes from; in place of the scenario's own
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    interrupt::install()?;
    let mut demo = Demo::start(arguments)?;
    let end = arguments.duration.map(|duration| demo.clock.now() + duration);
    let outcome = loop {
        if interrupt::asked() || end.is_some_and(|end| end <= demo.clock.now()) {
            break Ok(());
        }
        if let Err(failure) = demo.step() {
            break Err(failure);
        }
        demo.clock.sleep_until(demo.clock.now() + Demo::STEP);
    };
    let report = demo.finish()?;
    outcome?;
    print(&report, arguments.json)?;
    // Numbers of a run that the machine itself held up say nothing.
    Ok(ExitCode::from(if report.void { 3 } else { 0 }))
}

struct Demo {
    clock: Clock,
    scenario: Scenario,
    board: Board,
    page: Option<Page>,
    settings: BTreeMap<&'static str, String>,
    limits: Limits,
    lines: Lines,
    stop: Arc<AtomicBool>,
    media: MediaThread,
    camera: JoinHandle<()>,
    screen: JoinHandle<()>,
    next_sample: Timestamp,
}

/// The media thread; it ends with its machines, each with how late it was woken.
type MediaThread = JoinHandle<std::io::Result<Vec<(Box<dyn Machine>, Lateness)>>>;

/// How the threads are reached.
struct Lines {
    bell: Bell,
    to_sender: mpsc::Sender<SenderMail>,
    to_relay: mpsc::Sender<RelayMail>,
    of_sender: mpsc::Receiver<SenderNews>,
    of_screen: mpsc::Receiver<ScreenNews>,
    of_camera: mpsc::Receiver<CameraNews>,
    of_relay: mpsc::Receiver<RelaySnapshot>,
}

const SENT: usize = 0;
const RECEIVED: usize = 1;

impl Demo {
    /// The board is kept this often.
    const STEP: TimeDelta = TimeDelta::from_millis(20);
    const SAMPLE: TimeDelta = TimeDelta::from_millis(100);

    fn start(arguments: &Arguments) -> Result<Self, Failure> {
        let scenario = read_network(&arguments.network, arguments.seed)?;
        let flow = media_flow(&scenario)?;
        let limits = limits(flow);
        let settings = settings(&arguments.control, &arguments.network, limits);
        let page =
            (!arguments.headless).then(|| open_page(arguments, &scenario, settings.clone())).transpose()?;
        let clock = Clock::start();
        let now = clock.now();

        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let bind =
            || Socket::bind(loopback).map_err(|error| Failure::running(&format!("{loopback}: {error}")));
        let (near, relay_near, relay_far, far) = (bind()?, bind()?, bind()?, bind()?);
        let address = |socket: &Socket| socket.local_address().map_err(|error| Failure::running(&error));

        let secrets = Secrets::draw().map_err(|error| Failure::running(&error))?;
        let mut config = SenderConfig::new(secrets.session, arguments.control.clone(), limits, Format::H264);
        config.initial_sequence = secrets.sequence;
        config.timestamp_offset = secrets.timestamp;
        let cost = PacketCost::new(config.packet, config.overhead);
        let sender =
            Sender::new(now, config, Box::new(Direct::new())).map_err(|error| Failure::input(&error))?;
        let source = match &arguments.input {
            Some(input) => open(input),
            None => bundled_clip(),
        };
        let source = source.map_err(|error| Failure::input(&error))?;
        let eyes = Camera::new(source, limits.start, TimeDelta::ZERO, cost, true)
            .map_err(|error| Failure::running(&error))?;
        let receiver_config = ReceiverConfig::new(secrets.session.wrapping_sub(1));
        let lock = receiver_config.lock;
        let receiver = Receiver::new(now, receiver_config);

        let mut reactor = Reactor::new(clock).map_err(|error| Failure::running(&error))?;
        let bell = reactor.bell();
        let (to_sender, sender_mail) = channel();
        let (to_receiver, receiver_mail) = channel();
        let (to_relay, relay_mail) = channel();
        let (sender_news, of_sender) = channel();
        let (receiver_news, frames) = channel();
        let (relay_news, of_relay) = channel();
        let (camera_news, of_camera) = channel();
        let (screen_news, of_screen) = channel();
        let (score, captured) = channel();

        let media_clock = sender.media_clock();
        let sender = SenderMachine::new(now, sender, address(&relay_near)?, sender_mail, sender_news);
        let dial = sender.dial();
        let receiver = ReceiverMachine::new(now, receiver, lock, receiver_mail, receiver_news);
        let (forth, back) = links(&scenario)?;
        let relay = Relay::new(address(&far)?, forth, back, relay_mail, relay_news);
        reactor.add(Box::new(sender), vec![near]);
        reactor.add(Box::new(relay), vec![relay_near, relay_far]);
        reactor.add(Box::new(receiver), vec![far]);

        let stop = Arc::new(AtomicBool::new(false));
        let thread = |error: std::io::Error| Failure::running(&error);
        let broadcast = page.as_ref().map(Page::broadcast);
        let outlets = Outlets {
            dial,
            mail: to_sender.clone(),
            bell: bell.clone(),
            captured: Some(score),
            page: broadcast.clone().map(|page| (page, SENT)),
            media_clock,
        };
        let inlets = Inlets {
            frames,
            captured: Some(captured),
            mail: to_receiver,
            bell: bell.clone(),
            page: broadcast.map(|page| (page, RECEIVED)),
            sink: None,
        };
        let media = std::thread::Builder::new().name("media".into()).spawn(move || {
            if let Err(problem) = make_real_time() {
                warn(&problem);
            }
            reactor.run(None)
        });
        let media = media.map_err(thread)?;
        let screen = screen::start(clock, inlets, screen_news).map_err(thread)?;
        let camera = camera::start(clock, eyes, outlets, camera_news, stop.clone()).map_err(thread)?;
        let lines = Lines { bell, to_sender, to_relay, of_sender, of_screen, of_camera, of_relay };
        let board = Board::new(now, arguments.control.to_string());
        Ok(Self {
            clock,
            scenario,
            board,
            page,
            settings,
            limits,
            lines,
            stop,
            media,
            camera,
            screen,
            next_sample: now,
        })
    }

    /// Hears everybody's news and tells them.
    fn step(&mut self) -> Result<(), Failure> {
        self.lines.of_sender.try_iter().for_each(|news| self.board.on_sender(news));
        for news in self.lines.of_screen.try_iter() {
            if let ScreenNews::Failed(problem) = &news {
                return Err(Failure::running(problem));
            }
            self.board.on_screen(news);
        }
        for news in self.lines.of_camera.try_iter() {
            match news {
                CameraNews::Snapshot(snapshot) => self.board.camera = Some(snapshot),
                CameraNews::Ended => {}
                CameraNews::Failed(problem) => return Err(Failure::running(&problem)),
            }
        }
        if let Some(snapshot) = self.lines.of_relay.try_iter().last() {
            self.board.relay = Some(snapshot);
        }
        while let Some(Request::Set { settings }) = self.page.as_ref().and_then(Page::poll_request) {
            if let Err(text) = self.set(&settings)
                && let Some(page) = &self.page
            {
                page.tell(&Live::Error { text });
            }
        }
        self.tell();
        Ok(())
    }

    fn tell(&mut self) {
        let now = self.clock.now();
        let events = self.board.take_events();
        let sample = (self.next_sample <= now).then(|| {
            self.next_sample = now + Self::SAMPLE;
            Live::Sample { time: self.board.time(now), values: self.board.sample() }
        });
        if let Some(page) = &self.page {
            events.iter().chain(&sample).for_each(|message| page.tell(message));
        }
    }

    /// Carries out what a viewer asks for, or says why not.
    fn set(&mut self, wanted: &BTreeMap<String, String>) -> Result<(), String> {
        let now = self.clock.now();
        let mut limits = self.limits;
        for (name, value) in wanted {
            match name.as_str() {
                "control" => {
                    let control: ControlSpec = value.parse().map_err(|error| format!("{error}"))?;
                    let setting = Setting { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };
                    registry::build(&control, setting).map_err(|error| error.to_string())?;
                    let _ = self.lines.to_sender.send(SenderMail::Control(control));
                }
                "network" => {
                    let scenario = read_network(value, None).map_err(|failure| failure.to_string())?;
                    let (forth, back) = links(&scenario).map_err(|failure| failure.to_string())?;
                    let _ = self.lines.to_relay.send(RelayMail::Replace { forth, back });
                    self.board.on_setting(now, format!("network {value}"));
                    self.scenario = scenario;
                }
                "min" => limits.min = value.parse().map_err(|error| format!("{error}"))?,
                "max" => limits.max = value.parse().map_err(|error| format!("{error}"))?,
                _ => return Err(format!("there is no setting {name}")),
            }
        }
        if limits != self.limits {
            if limits.min > limits.max {
                return Err(format!("{} is above {}", limits.min, limits.max));
            }
            limits.start = limits.start.clamp(limits.min, limits.max);
            self.limits = limits;
            let _ = self.lines.to_sender.send(SenderMail::Limits(limits));
            self.board.on_setting(now, format!("limits {} to {}", limits.min, limits.max));
        }
        self.lines.bell.ring();
        for (name, value) in &mut self.settings {
            if let Some(wanted) = wanted.get(*name) {
                value.clone_from(wanted);
            }
        }
        if let Some(page) = &self.page {
            page.set_settings(self.settings.clone());
        }
        Ok(())
    }

    /// Ends everything and gives the report.
    fn finish(mut self) -> Result<Report, Failure> {
        let now = self.clock.now();
        // The last news of all.
        let heard = self.step();
        self.stop.store(true, Ordering::Relaxed);
        self.lines.bell.stop();
        let machines = self.media.join().map_err(|_| Failure::running(&"the media thread broke off"))?;
        let machines = machines.map_err(|error| Failure::running(&error))?;
        let mut lateness = Lateness::new();
        machines.iter().for_each(|(_, late)| lateness.add(late));
        drop(machines);
        drop(self.lines);
        self.camera.join().map_err(|_| Failure::running(&"the camera's thread broke off"))?;
        self.screen.join().map_err(|_| Failure::running(&"the screen's thread broke off"))?;
        heard?;
        Ok(Report {
            schema: Summary::SCHEMA,
            seaway: env!("CARGO_PKG_VERSION"),
            scenario: self.scenario.name.clone(),
            seed: self.scenario.seed,
            void: lateness.is_void(),
            lateness_ms: Late::of(&lateness),
            flows: vec![report::flow(&self.board, now)],
            encoder: self.board.camera.map(|camera| camera.obedience.into()),
            refused: report::refused(&self.board),
        })
    }
}

fn read_network(name: &str, seed: Option<u64>) -> Result<Scenario, Failure> {
    let mut scenario = Source::read(name)?.parse(&[])?;
    scenario.seed = seed.unwrap_or(scenario.seed);
    Ok(scenario)
}

/// The flow that we stand for: the scenario's first of media.
fn media_flow(scenario: &Scenario) -> Result<&Flow, Failure> {
    let is_media = |flow: &&Flow| matches!(flow.kind, FlowKind::Media(_));
    let none = || Failure::input(&format!("{}: no flow of kind \"media\" to stand for", scenario.name));
    scenario.flows.iter().find(is_media).ok_or_else(none)
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

/// The links there and back.
type Links = (Vec<seaway_link::Link<Vec<u8>>>, Vec<seaway_link::Link<Vec<u8>>>);

fn links(scenario: &Scenario) -> Result<Links, Failure> {
    let path = Path::of(scenario, media_flow(scenario)?).map_err(|error| Failure::input(&error))?;
    let only_links = |named: Vec<(String, _)>| named.into_iter().map(|(_, link)| link).collect();
    Ok((only_links(path.forth), only_links(path.back)))
}

fn settings(control: &ControlSpec, network: &str, limits: Limits) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("control", control.to_string()),
        ("network", network.to_owned()),
        ("min", limits.min.to_string()),
        ("max", limits.max.to_string()),
    ])
}

fn open_page(
    arguments: &Arguments,
    scenario: &Scenario,
    settings: BTreeMap<&'static str, String>,
) -> Result<Page, Failure> {
    let names = CONTROLLERS.iter().map(|info| ControlName { name: info.name, source: info.source });
    let hello = Hello {
        seaway: env!("CARGO_PKG_VERSION"),
        title: arguments.input.clone().unwrap_or_else(|| seaway_media::clip::ATTRIBUTION.to_owned()),
        seed: scenario.seed,
        pictures: vec!["sent", "received"],
        controls: names.collect(),
        networks: library::networks().iter().map(|entry| entry.name.to_owned()).collect(),
        settings,
    };
    let page = Page::open(arguments.web, hello).map_err(|error| {
        Failure::input(&format!("no page at {}: {error}; --web takes another", arguments.web))
    })?;
    let address = format!("http://{}/", page.address());
    warn(&format!("the page is at {address}"));
    if arguments.open && std::io::stderr().is_terminal() {
        // Where there is no browser, the address above is enough.
        let _ = std::process::Command::new("xdg-open").arg(address).spawn();
    }
    Ok(page)
}

#[expect(clippy::print_stderr, reason = "the place where a person is told")]
fn warn(text: &str) {
    eprintln!("seaway: {text}");
}

fn print(report: &Report, json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = if json {
        serde_json::to_writer_pretty(&mut out, report)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        write_text(&mut out, report)
    };
    written.map_err(|error| Failure::output(&error))
}

fn write_text(out: &mut impl Write, report: &Report) -> std::io::Result<()> {
    if report.void {
        return writeln!(
            out,
            "machine too busy: the media thread was {:.1} ms late at p99, above the bound of {:.1} ms",
            report.lateness_ms.p99, report.lateness_ms.bound
        );
    }
    for flow in &report.flows {
        if let Some(frames) = &flow.frames {
            writeln!(
                out,
                "frames: {} captured, {} displayed, {} skipped, {} lost, {} late",
                frames.captured, frames.displayed, frames.skipped, frames.lost, frames.late
            )?;
        }
        if let Some(delay) = &flow.delay_ms {
            writeln!(
                out,
                "capture to display: p50 {:.0} ms, p95 {:.0} ms, p99 {:.0} ms",
                delay.p50, delay.p95, delay.p99
            )?;
        }
        if let Some(psnr) = &flow.psnr_db {
            writeln!(out, "PSNR ({}): {:.1} dB", psnr.kind, psnr.value)?;
        }
        if let Some(freezes) = &flow.freezes {
            writeln!(out, "freezes: {}, {:.2} s in all", freezes.count, freezes.total_s)?;
        }
    }
    Ok(())
}
