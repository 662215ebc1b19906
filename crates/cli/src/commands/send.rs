//! `seaway send`: sends a clip or a camera live to another host.

use crate::failure::{Failure, note};
use crate::files::Output;
use crate::interrupt;
use crate::live::keys;
use crate::live::options::LiveOptions;
use crate::live::repair::RepairOptions;
use crate::live::report::{DelayFrom, Report};
use crate::live::session::{self, Session};
use crate::live::settings::Settings;
use crate::web::{ControlName, Hello};
use seaway_control::{ControlSpec, Registry};
use seaway_media::input::open;
use seaway_session::{Format, Limits, SessionUrl, StreamDescription, to_sdp};
use seaway_stream::Sender;
use seaway_units::{Bitrate, RateRange, TimeDelta};
use std::net::SocketAddr;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to send: a file, `-`, `test:1280x720@25`, anything FFmpeg reads where it is installed
    input: String,
    /// Where to: rtp://host:port, with ?key=… as `recv` prints it
    destination: SessionUrl,
    /// The controller, such as 'tfrc' or 'fixed(rate=2 Mbit/s)'
    #[arg(long, default_value = Registry::DEFAULT)]
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
    /// Send a key frame this often without request, for players that cannot ask for one
    #[arg(long, value_name = "TIME")]
    key_every: Option<TimeDelta>,
    /// Send to a player that is no `recv`, and write the session description (SDP) by which FFmpeg, GStreamer or VLC plays the
    /// stream. Key frames leave every 2 s then, if --key-every says nothing else
    #[arg(long, value_name = "FILE")]
    sdp: Option<String>,
    /// The local address, such as 0.0.0.0:5100, for players that must be told where reports go: RTCP has the port above
    #[arg(long, value_name = "ADDR")]
    bind: Option<SocketAddr>,
    #[command(flatten)]
    repair: RepairOptions,
    #[command(flatten)]
    options: LiveOptions,
}

/// For players that cannot ask for a key frame.
const PLAYER_KEY_INTERVAL: TimeDelta = TimeDelta::from_secs(2);
/// After so many seconds without an answer the user is told.
const PATIENCE: f64 = 2.0;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // Before a page is served or a file is written.
    Registry::builtin().check(&arguments.control).map_err(|error| Failure::input(&error))?;
    let repair = arguments.repair.repair()?;
    interrupt::install_live()?;
    let to = keys::resolve(&arguments.destination)?;
    let access = arguments.options.keys.of_sender(&arguments.destination, to)?;
    let is_keyed = access.key.is_some();
    if is_keyed && arguments.sdp.is_some() {
        return Err(Failure::input(&"--sdp describes plain RTP, and this session is keyed"));
    }
    let RateRange { min, max } = arguments.rate;
    let start = arguments.start.unwrap_or(Bitrate::from_kbps(300)).max(min).min(max);
    let limits = Limits { min, start, max };
    let source = open(&arguments.input).map_err(|error| Failure::input(&error))?;
    source.left_out().iter().for_each(|track| note(&format!("left out: {track}")));
    if let Some(file) = &arguments.sdp {
        write_description(file, to)?;
    }
    let options = &arguments.options;
    let mut settings = Settings::new(&arguments.control, limits, None);
    let mut reporter = options.reporter(|| hello(arguments, &settings))?;
    let mut runtime = session::runtime(options.pcap.as_deref())?;
    let key_log = options.keys.exporter()?;
    let mut builder = Sender::builder(to);
    if let Some(local) = arguments.bind {
        builder = builder.bind(local);
    }
    let sender = builder
        .key(access.key)
        .insecure(access.insecure)
        .plain(arguments.sdp.is_some())
        .control(arguments.control.clone())
        .limits(limits)
        .repair(repair)
        .latency(arguments.repair.latency)
        .pictures(source, arguments.repeat)
        .key_interval(arguments.key_every.or(arguments.sdp.as_ref().map(|_| PLAYER_KEY_INTERVAL)))
        .preview(reporter.track(0))
        .start_on(&mut runtime)?;
    let clock = runtime.clock();
    let runtime = session::start(runtime)?;
    let mut session = Session::new(clock.now(), Some(sender), None).with_key_log(key_log);
    let mut is_warned = false;
    let outcome = session::run(clock, options.duration, |now| {
        let flow = session.drain()?;
        if !is_warned && session.time(now) >= PATIENCE {
            is_warned = true;
            if is_keyed && !session.is_connected() {
                note(&format!("{} does not answer yet", arguments.destination));
            } else if !is_keyed && !session.has_feedback() {
                note(&unanswered(arguments));
            }
        }
        reporter.serve_requests(|wanted| session.apply(now, &mut settings, wanted, |_| Ok(())));
        reporter.report(now, &mut session)?;
        Ok(flow)
    });
    if session.source_ended {
        // The send queue may drain first.
        clock.sleep_until(clock.now() + TimeDelta::from_millis(500));
    }
    let closed = session.close();
    let lateness = runtime.close()?;
    closed.and(outcome)?;
    if options.json {
        Report::new(&arguments.input, 0, &session, clock.now(), &lateness, DelayFrom::Capture).print(true)?;
    }
    session.outcome(is_keyed)?;
    Ok(ExitCode::SUCCESS)
}

/// What is wrong where nothing comes back, and what helps.
fn unanswered(arguments: &Arguments) -> String {
    let what = format!("nothing comes back from {}, so the rate stays low", arguments.destination);
    match arguments.sdp {
        Some(_) => format!(
            "{what}: let the player send reports to this host (--bind sets the port, RTCP has the one above), or choose a \
             rate by --control 'fixed(rate=…)'; FFmpeg sends none"
        ),
        None => format!("{what}: is a recv there? Another player needs --sdp"),
    }
}

fn hello(arguments: &Arguments, settings: &Settings) -> Hello {
    let registry = Registry::builtin();
    let names =
        registry.controllers().iter().map(|info| ControlName { name: info.name, source: info.source });
    Hello {
        seaway: env!("CARGO_PKG_VERSION"),
        title: arguments.input.clone(),
        seed: 0,
        pictures: vec!["sent"],
        controls: names.collect(),
        networks: Vec::new(),
        settings: settings.values().clone(),
    }
}

/// Writes the session description by which a player at the destination receives the stream.
fn write_description(file: &str, to: SocketAddr) -> Result<(), Failure> {
    let text = to_sdp(&[StreamDescription::video(Format::H264)], to);
    let mut sink = Output::create(file)?;
    sink.put(text.as_bytes())?;
    sink.finish()
}
