//! `seaway demo`: sender, link and receiver in one process over real sockets, and the page.

use crate::failure::Failure;
use crate::interrupt;
use crate::live::board::Board;
use crate::live::console::{Console, Stats};
use crate::live::media::{MediaSetup, MediaThread, bind};
use crate::live::receiving::{Receiving, ReceivingSetup};
use crate::live::report::{DelayFrom, Report};
use crate::live::sending::{Sending, SendingSetup};
use crate::live::{STEP, Secrets};
use crate::scenario::Source;
use crate::web::{ControlName, Hello, Page, Request};
use seaway_control::ControlSpec;
use seaway_control::registry::{self, CONTROLLERS};
use seaway_lab::scenario::{Flow, FlowKind, Scenario};
use seaway_lab::{Emulation, PathState, library};
use seaway_media::input::{bundled_clip, open};
use seaway_net::{Bell, Clock, Emulator, EmulatorMail, Outlet, SenderMail, Socket};
use seaway_session::{Limits, ReceiverConfig};
use seaway_units::{Bitrate, TimeDelta};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{ExitCode, Stdio};
use std::sync::mpsc::{self, channel};

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
    /// Print JSON lines while it runs
    #[arg(long, conflicts_with = "json")]
    stats: Option<Stats>,
    /// Write every datagram to a capture file
    #[arg(long, value_name = "FILE")]
    pcap: Option<String>,
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
    // Before there is a page.
    registry::check(&arguments.control).map_err(|error| Failure::input(&error))?;
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
        demo.clock.sleep_until(demo.clock.now() + STEP);
    };
    let report = demo.finish()?;
    outcome?;
    report.print(arguments.json)?;
    Ok(report.exit_code())
}

struct Demo {
    clock: Clock,
    scenario: Scenario,
    board: Board,
    console: Console,
    settings: BTreeMap<&'static str, String>,
    limits: Limits,
    media: MediaThread,
    sending: Sending,
    receiving: Receiving,
    to_network: mpsc::Sender<EmulatorMail<Network>>,
    of_network: mpsc::Receiver<PathState>,
    bell: Bell,
}

/// Tracks of the page.
const SENT: usize = 0;
const RECEIVED: usize = 1;

impl Demo {
    fn start(arguments: &Arguments) -> Result<Self, Failure> {
        let scenario = read_network(&arguments.network, arguments.seed)?;
        let limits = limits(media_flow(&scenario)?);
        let source = match &arguments.input {
            Some(input) => open(input),
            None => bundled_clip(),
        };
        let source = source.map_err(|error| Failure::input(&error))?;
        let settings = settings(&arguments.control, &arguments.network, limits);
        let listen = (!arguments.headless).then_some(arguments.web);
        let console = Console::new()
            .with_stats(arguments.stats)
            .with_page(listen, || hello(arguments, &scenario, settings.clone()))?;
        if arguments.open {
            console.page().into_iter().for_each(open_browser);
        }
        let clock = Clock::start();
        let mut media = MediaSetup::new(clock)?;
        let bell = media.bell();
        if let Some(file) = &arguments.pcap {
            media.capture(file)?;
        }
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (near, network_near, network_far, far) =
            (bind(loopback)?, bind(loopback)?, bind(loopback)?, bind(loopback)?);
        let address = |socket: &Socket| socket.local_address().map_err(|error| Failure::running(&error));
        let (score, captured) = channel();
        let broadcast = console.page().map(Page::broadcast);
        let secrets = Secrets::draw().map_err(|error| Failure::running(&error))?;

        let (to_network, mail) = channel();
        let (tell, of_network) = channel();
        let watch = Box::new(move |_, network: &Network| {
            // Nobody listening is no error.
            let _ = tell.send(network.path_state());
        });
        let outlets = [Outlet::Udp { peer: None }, Outlet::Udp { peer: Some(address(&far)?) }];
        let network = Emulator::new(clock.now(), network(&scenario)?, &outlets, mail).watched(watch);
        let setup = ReceivingSetup {
            config: ReceiverConfig::new(secrets.session.wrapping_sub(1)),
            captured: Some(captured),
            page: broadcast.clone().map(|page| (page, RECEIVED)),
            recording: None,
        };
        let (receiver, receiving) = Receiving::start(clock, bell.clone(), setup)?;
        let setup = SendingSetup {
            source,
            repeat: true,
            key_every: None,
            control: arguments.control.clone(),
            limits,
            to: address(&network_near)?,
            page: broadcast.map(|page| (page, SENT)),
            captured: Some(score),
        };
        let (sender, sending) = Sending::start(clock, bell.clone(), secrets, setup)?;
        media.add(sender, vec![near])?;
        media.add(network, vec![network_near, network_far])?;
        media.add(receiver, vec![far])?;
        let media = media.start()?;
        let board = Board::new(clock.now(), arguments.control.to_string());
        Ok(Self {
            clock,
            scenario,
            board,
            console,
            settings,
            limits,
            media,
            sending,
            receiving,
            to_network,
            of_network,
            bell,
        })
    }

    /// Hears everybody's news and tells them.
    fn step(&mut self) -> Result<(), Failure> {
        self.sending.hear(&mut self.board)?;
        if !self.receiving.hear(&mut self.board) {
            return Err(Failure::running(&"the screen's thread ended"));
        }
        if let Some(state) = self.of_network.try_iter().last() {
            self.board.network = Some(state);
        }
        while let Some(Request::Set { settings }) = self.console.poll_request() {
            if let Err(text) = self.set(&settings) {
                self.console.refuse(text);
            }
        }
        self.console.tell(self.clock.now(), &mut self.board)
    }

    /// Carries out what a viewer asks for, or says why not.
    fn set(&mut self, wanted: &BTreeMap<String, String>) -> Result<(), String> {
        let now = self.clock.now();
        let mut limits = self.limits;
        for (name, value) in wanted {
            match name.as_str() {
                "control" => {
                    let control: ControlSpec = value.parse().map_err(|error| format!("{error}"))?;
                    registry::check(&control).map_err(|error| error.to_string())?;
                    self.sending.post(SenderMail::Control(control));
                }
                "network" => {
                    let scenario = read_network(value, None).map_err(|failure| failure.to_string())?;
                    let network = network(&scenario).map_err(|failure| failure.to_string())?;
                    let _ = self.to_network.send(EmulatorMail::Replace(Box::new(network)));
                    self.bell.ring();
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
            self.sending.post(SenderMail::Limits(limits));
            self.board.on_setting(now, format!("limits {} to {}", limits.min, limits.max));
        }
        for (name, value) in &mut self.settings {
            if let Some(wanted) = wanted.get(*name) {
                value.clone_from(wanted);
            }
        }
        self.console.set_settings(&self.settings);
        Ok(())
    }

    /// Ends everything and gives the report.
    fn finish(mut self) -> Result<Report, Failure> {
        let now = self.clock.now();
        let heard = self.step();
        let lateness = self.media.finish()?;
        self.sending.finish()?;
        self.receiving.finish()?;
        heard?;
        Ok(Report::new(
            &self.scenario.name,
            self.scenario.seed,
            &self.board,
            now,
            &lateness,
            DelayFrom::Capture,
        ))
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

/// What lies between sender and receiver.
type Network = Emulation<Vec<u8>>;

fn network(scenario: &Scenario) -> Result<Network, Failure> {
    Emulation::of_flow(scenario, media_flow(scenario)?).map_err(|error| Failure::input(&error))
}

fn settings(control: &ControlSpec, network: &str, limits: Limits) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("control", control.to_string()),
        ("network", network.to_owned()),
        ("min", limits.min.to_string()),
        ("max", limits.max.to_string()),
    ])
}

fn hello(arguments: &Arguments, scenario: &Scenario, settings: BTreeMap<&'static str, String>) -> Hello {
    let names = CONTROLLERS.iter().map(|info| ControlName { name: info.name, source: info.source });
    Hello {
        seaway: env!("CARGO_PKG_VERSION"),
        title: arguments.input.clone().unwrap_or_else(|| seaway_media::clip::ATTRIBUTION.to_owned()),
        seed: scenario.seed,
        pictures: vec!["sent", "received"],
        controls: names.collect(),
        networks: library::networks().iter().map(|entry| entry.name.to_owned()).collect(),
        settings,
    }
}

fn open_browser(page: &Page) {
    // Where there is no browser, the address that was printed is enough.
    let _ = std::process::Command::new("xdg-open")
        .arg(format!("http://{}/", page.address()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
