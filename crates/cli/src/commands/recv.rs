//! `seaway recv`: what another host sends, live.

use crate::failure::Failure;
use crate::interrupt;
use crate::live::board::Board;
use crate::live::media::{MediaSetup, bind};
use crate::live::options::LiveOptions;
use crate::live::receiving::{Receiving, ReceivingSetup};
use crate::live::recording::Recording;
use crate::live::report::{DelayFrom, Report};
use crate::live::url::RtpUrl;
use crate::live::{STEP, Secrets};
use crate::web::{Hello, Page};
use seaway_net::{Clock, ReceiverMail};
use seaway_session::{OVERHEAD_IPV4, OVERHEAD_IPV6, Playout, ReceiverConfig};
use seaway_units::TimeDelta;
use std::collections::BTreeMap;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where to listen: rtp://host:port, such as rtp://0.0.0.0:5004 for every address of this host
    source: RtpUrl,
    /// Write what is received: a file that ends in .mp4, .h264 or .y4m, or `-` for an H.264 stream on stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// The longest that a frame may wait for those before it
    #[arg(long, default_value = "500 ms", value_name = "TIME")]
    latency: TimeDelta,
    #[command(flatten)]
    watching: LiveOptions,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    interrupt::install()?;
    let watching = &arguments.watching;
    if arguments.output.as_deref() == Some("-") && watching.uses_stdout() {
        return Err(Failure::input(&"-o - takes standard output, which --json and --stats need"));
    }
    if arguments.latency <= TimeDelta::ZERO || arguments.latency > TimeDelta::from_secs(10) {
        return Err(Failure::input(&format!(
            "--latency {}: expected above 0 s, up to 10 s",
            arguments.latency
        )));
    }
    let at = arguments.source.resolve()?;
    let socket = bind(at)?;
    let recording = arguments.output.as_deref().map(Recording::create).transpose()?;
    let mut console = watching.console(|| hello(arguments))?;
    let clock = Clock::start();
    let mut media = MediaSetup::new(clock)?;
    if let Some(file) = &watching.pcap {
        media.capture(file)?;
    }
    let secrets = Secrets::draw().map_err(|error| Failure::running(&error))?;
    let mut config = ReceiverConfig::new(secrets.session);
    config.overhead = if at.is_ipv4() { OVERHEAD_IPV4 } else { OVERHEAD_IPV6 };
    config.playout = Playout::Adaptive { min: TimeDelta::ZERO, max: arguments.latency };
    config.repair = config.repair.map(|mut repair| {
        repair.deadline = arguments.latency;
        repair
    });
    let page = console.page().map(|page| (Page::broadcast(page), 0));
    let setup = ReceivingSetup { config, captured: None, page, recording };
    let (receiver, receiving) = Receiving::start(clock, media.bell(), setup)?;
    media.add(receiver, vec![socket])?;
    let media = media.start()?;
    let mut board = Board::new(clock.now(), String::new());
    let end = watching.duration.map(|duration| clock.now() + duration);
    let outcome = loop {
        let now = clock.now();
        if interrupt::asked() || end.is_some_and(|end| end <= now) || !receiving.hear(&mut board) {
            break Ok(());
        }
        if let Err(failure) = console.tell(now, &mut board) {
            break Err(failure);
        }
        if console.page().is_some_and(Page::take_key_frame_wish) {
            receiving.post(ReceiverMail::PictureLost);
        }
        clock.sleep_until(now + STEP);
    };
    receiving.post(ReceiverMail::Close);
    clock.sleep_until(clock.now() + TimeDelta::from_millis(100));
    receiving.hear(&mut board);
    let lateness = media.finish()?;
    receiving.finish()?;
    outcome?;
    if watching.json {
        Report::new("recv", 0, &board, clock.now(), &lateness, DelayFrom::LeastPlusHalfRoundTrip)
            .print(true)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn hello(arguments: &Arguments) -> Hello {
    Hello {
        seaway: env!("CARGO_PKG_VERSION"),
        title: format!("received at {}", arguments.source),
        seed: 0,
        pictures: vec!["received"],
        controls: Vec::new(),
        networks: Vec::new(),
        settings: BTreeMap::new(),
    }
}
