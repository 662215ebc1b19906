//! `seaway send`: a clip or a camera, live to another host.

use crate::failure::{Failure, note};
use crate::interrupt;
use crate::live::board::Board;
use crate::live::media::{MediaSetup, bind};
use crate::live::options::LiveOptions;
use crate::live::report::{DelayFrom, Report};
use crate::live::sending::{Sending, SendingSetup};
use crate::live::url::RtpUrl;
use crate::live::{STEP, Secrets};
use crate::web::{ControlName, Hello, Page, Request};
use seaway_control::registry::CONTROLLERS;
use seaway_control::{ControlSpec, registry};
use seaway_media::input::open;
use seaway_net::{Clock, SenderMail};
use seaway_session::{Limits, payload_type};
use seaway_units::{Bitrate, RateRange, TimeDelta};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to send: a file, `-`, `test:1280x720@25`, anything FFmpeg reads where it is installed
    input: String,
    /// Where to: rtp://host:port
    destination: RtpUrl,
    /// The controller, such as 'tfrc' or 'fixed(rate=2 Mbit/s)'
    #[arg(long, default_value = "tfrc")]
    control: ControlSpec,
    /// The range of the rate
    #[arg(long, default_value = "0.15..4Mbit/s", value_name = "MIN..MAX")]
    rate: RateRange,
    /// The first rate, for controllers without a slow start
    #[arg(long, value_name = "RATE")]
    start: Option<Bitrate>,
    /// Begin again at the end of the input
    #[arg(long)]
    repeat: bool,
    /// A key frame this often though nobody asks, for players that cannot ask
    #[arg(long, value_name = "TIME")]
    key_every: Option<TimeDelta>,
    /// Write a session description by which FFmpeg and VLC play the stream
    #[arg(long, value_name = "FILE")]
    sdp: Option<String>,
    #[command(flatten)]
    watching: LiveOptions,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // Before there is a page or a file.
    registry::check(&arguments.control).map_err(|error| Failure::input(&error))?;
    interrupt::install()?;
    let to = arguments.destination.resolve()?;
    let RateRange { min, max } = arguments.rate;
    let start = arguments.start.unwrap_or(Bitrate::from_kbps(300)).max(min).min(max);
    let mut limits = Limits { min, start, max };
    let source = open(&arguments.input).map_err(|error| Failure::input(&error))?;
    source.left_out().iter().for_each(|track| note(&format!("left out: {track}")));
    if let Some(file) = &arguments.sdp {
        write_description(file, to)?;
    }
    let watching = &arguments.watching;
    let mut settings = BTreeMap::from([("control", arguments.control.to_string())]);
    settings.extend([("min", min.to_string()), ("max", max.to_string())]);
    let mut console = watching.console(|| hello(arguments, settings.clone()))?;
    let clock = Clock::start();
    let mut media = MediaSetup::new(clock)?;
    if let Some(file) = &watching.pcap {
        media.capture(file)?;
    }
    let any: SocketAddr =
        if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = bind(any)?;
    let setup = SendingSetup {
        source,
        repeat: arguments.repeat,
        key_every: arguments.key_every,
        control: arguments.control.clone(),
        limits,
        to,
        page: console.page().map(|page| (Page::broadcast(page), 0)),
        captured: None,
    };
    let secrets = Secrets::draw().map_err(|error| Failure::running(&error))?;
    let (sender, sending) = Sending::start(media.clock(), media.bell(), secrets, setup)?;
    media.add(sender, vec![socket])?;
    let media = media.start()?;
    let mut board = Board::new(clock.now(), arguments.control.to_string());
    let end = watching.duration.map(|duration| clock.now() + duration);
    let mut input_ended = false;
    let outcome = loop {
        let now = clock.now();
        if interrupt::asked() || end.is_some_and(|end| end <= now) || input_ended {
            break Ok(());
        }
        let step = sending.hear(&mut board).and_then(|ended| {
            input_ended = ended;
            while let Some(Request::Set { settings: wanted }) = console.poll_request() {
                match set(&sending, &mut limits, &wanted) {
                    Ok(()) => {
                        board.on_setting(now, describe(&wanted));
                        for (name, value) in &mut settings {
                            wanted.get(*name).into_iter().for_each(|wanted| value.clone_from(wanted));
                        }
                        console.set_settings(&settings);
                    }
                    Err(text) => console.refuse(text),
                }
            }
            console.tell(now, &mut board)
        });
        if let Err(failure) = step {
            break Err(failure);
        }
        clock.sleep_until(now + STEP);
    };
    // What is still in the send queue may leave, then the goodbye.
    clock.sleep_until(clock.now() + TimeDelta::from_millis(if input_ended { 500 } else { 0 }));
    sending.post(SenderMail::Close);
    clock.sleep_until(clock.now() + TimeDelta::from_millis(100));
    let heard = sending.hear(&mut board);
    let lateness = media.finish()?;
    sending.finish()?;
    heard?;
    outcome?;
    let report = Report::new(&arguments.input, 0, &board, clock.now(), &lateness, DelayFrom::Capture);
    if watching.json {
        report.print(true)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn hello(arguments: &Arguments, settings: BTreeMap<&'static str, String>) -> Hello {
    let names = CONTROLLERS.iter().map(|info| ControlName { name: info.name, source: info.source });
    Hello {
        seaway: env!("CARGO_PKG_VERSION"),
        title: arguments.input.clone(),
        seed: 0,
        pictures: vec!["sent"],
        controls: names.collect(),
        networks: Vec::new(),
        settings,
    }
}

fn describe(wanted: &BTreeMap<String, String>) -> String {
    wanted.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// Carries out what a viewer asks for, or says why not.
fn set(sending: &Sending, limits: &mut Limits, wanted: &BTreeMap<String, String>) -> Result<(), String> {
    let mut changed = *limits;
    for (name, value) in wanted {
        match name.as_str() {
            "control" => {
                let control: ControlSpec = value.parse().map_err(|error| format!("{error}"))?;
                registry::check(&control).map_err(|error| error.to_string())?;
                sending.post(SenderMail::Control(control));
            }
            "min" => changed.min = value.parse().map_err(|error| format!("{error}"))?,
            "max" => changed.max = value.parse().map_err(|error| format!("{error}"))?,
            _ => return Err(format!("there is no setting {name}")),
        }
    }
    if changed.min > changed.max {
        return Err(format!("{} is above {}", changed.min, changed.max));
    }
    changed.start = changed.start.clamp(changed.min, changed.max);
    if changed != *limits {
        *limits = changed;
        sending.post(SenderMail::Limits(changed));
    }
    Ok(())
}

/// A session description (RFC 8866) of the stream as a player at the destination hears it; parameter sets come with
/// each key frame.
fn write_description(file: &str, to: SocketAddr) -> Result<(), Failure> {
    let family = if to.is_ipv4() { "IP4" } else { "IP6" };
    let (host, port, kind) = (to.ip(), to.port(), payload_type::H264);
    let text = format!(
        "v=0\r\no=- 0 0 IN {family} {host}\r\ns=Seaway\r\nc=IN {family} {host}\r\nt=0 0\r\n\
         m=video {port} RTP/AVP {kind}\r\na=rtpmap:{kind} H264/90000\r\na=fmtp:{kind} packetization-mode=1\r\n\
         a=rtcp-mux\r\n"
    );
    let mut sink = crate::files::Output::create(file)?;
    sink.put(text.as_bytes())?;
    sink.finish()
}
