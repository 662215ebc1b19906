//! `seaway recv`: receives live video from another host.

use crate::decoder;
use crate::failure::{Failure, note};
use crate::files::Output;
use crate::interrupt;
use crate::live::calls;
use crate::live::client_buffer::BufferOptions;
use crate::live::keys::{self, Access, Side};
use crate::live::options::{self, LiveOptions};
use crate::live::repair::{PlayoutOption, check_latency};
use crate::live::report::{DelayFrom, Report};
use crate::live::server::{ServerOptions, Source};
use crate::live::session::{self, Session};
use crate::live::summary;
use crate::live::{STEP, UNWATCHED_STEP};
use crate::web::{Hello, Page};
use seaway_media::output::RecordingFormat;
use seaway_report::qlog::End;
use seaway_session::{Format, PlainRtp, SessionUrl, Transport};
use seaway_stream::Receiver;
use seaway_stream::sink::{Recorder, Sink, StreamRecorder};
use seaway_units::TimeDelta;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The address to listen on: rtp://host:port, such as rtp://0.0.0.0:5004 for every address of this host; with ?mode=caller that of a
    /// `send` that listens. Or seaway+window://host:port for S002's window transport, or udp://host:port for an MPEG transport stream, which may be a multicast
    /// group. Or the stream of a media server by WHEP: whep+https://host/path
    source: Source,
    /// Record to a file that ends in .mp4, .h264 or .y4m, in .m2v for MPEG video, or to `-` for an H.264 stream on stdout. The window
    /// transport records the MPEG stream as it arrives: .ts, .mpg, .vob or .m2v. A file that exists is kept, and the new one gets a
    /// number
    #[arg(help_heading = "Recording", short, long, value_name = "FILE")]
    output: Option<String>,
    /// Begin a new file at this interval, such as '10 min', under the next number
    #[arg(help_heading = "Recording", long, value_name = "TIME", requires = "output")]
    segment: Option<TimeDelta>,
    /// The latency: the longest time from capture to display, without the least delay of the path. It is also the deadline of
    /// repair; give the sender the same value. The default is 500 ms, and over the window transport 8 s from the first packet
    #[arg(help_heading = "Playing", long, value_name = "TIME")]
    latency: Option<TimeDelta>,
    /// The session description (SDP) of a sender of plain RTP, as FFmpeg's -sdp_file writes it. Without it H.264, H.265
    /// and MPEG-TS are recognised by their packets. The address is that of SOURCE
    #[arg(help_heading = "Other senders", long, value_name = "FILE")]
    sdp: Option<String>,
    /// Read the stamp in the pictures of `send --stamp` and report the time from glass to glass. The clocks of both hosts agree: they
    /// are one, or follow NTP
    #[arg(help_heading = "Watching", long)]
    stamp: bool,
    /// Report when the picture on the screen was captured longer ago than this, such as '300 ms', and when it is younger again
    #[arg(help_heading = "Watching", long, value_name = "TIME", value_parser = options::bound)]
    stale_after: Option<TimeDelta>,
    #[command(flatten)]
    playout: PlayoutOption,
    #[command(flatten)]
    buffer: BufferOptions,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    options: LiveOptions,
}

const EXAMPLES: &str = "\
Examples:
  seaway recv rtp://0.0.0.0:5004 -o received.mp4               prints the URL for `send`, with a fresh key
  seaway recv rtp://0.0.0.0:5004 --web 127.0.0.1:8090          watched in a browser
  seaway recv 'rtp://203.0.113.5:5004?mode=caller&key=…'       calls a `send` that listens there
  seaway recv rtp://127.0.0.1:5004 --sdp camera.sdp -o -       H.264 of another sender, to standard output
  seaway recv whep+https://media.example.org/live/whep -o received.mp4    from a media server; SEAWAY_TOKEN has its token

Every option may also be a variable of the environment, --latency as SEAWAY_LATENCY, or stand in the file of --config.
docs/field-guide.md has more. Exit codes: 0 done, 1 failed while running or nothing was received, 2 wrong usage or bad input.";

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    interrupt::install_live()?;
    let options = &arguments.options;
    arguments.check()?;
    let recorder = arguments.output.as_deref().map(|name| arguments.recorder(name)).transpose()?;
    let mut reporter = options.reporter(&arguments.source.to_string(), End::Receiver, || hello(arguments))?;
    let mut runtime = session::runtime(options.pcap.as_deref())?;
    let (receiver, is_keyed, key_log) = match &arguments.source {
        Source::Sender(url) if calls::is_caller(url) => {
            (calls::receiver(url, options)?, true, options.keys.exporter()?)
        }
        Source::Sender(url) | Source::Stream(url) => {
            let bind = options.network.local(keys::resolve(url)?)?;
            let access = arguments.access(url, bind)?;
            let is_keyed = access.key.is_some();
            let key_log = options.keys.exporter()?;
            let receiver = Receiver::builder(bind).plain(arguments.plain(is_keyed)?);
            (receiver.key(access.key).insecure(access.insecure), is_keyed, key_log)
        }
        Source::Server(url) => {
            options.keys.of_server()?;
            let server = arguments.server.server(url, options)?;
            (Receiver::of_server(server)?.insecure(options.keys.insecure), false, None)
        }
    };
    let mut receiver = receiver
        .network(options.network.sockets())
        .mtu(options.network.mtu())
        .latency(arguments.latency())
        .stamps(arguments.stamp)
        .stale_after(arguments.stale_after)
        .playout(arguments.playout.mode())
        .buffer(arguments.buffer.config()?)
        .takes_aac(true);
    if arguments.is_window() {
        // Its decoder is our own, in Rust.
        receiver = receiver.window(true);
    } else if arguments.stamp || recorder.as_ref().is_some_and(|recorder| recorder.needs_pictures()) {
        receiver = decoder::confined(receiver);
    }
    if let Some(recorder) = recorder {
        receiver = receiver.boxed_sink(recorder);
    }
    let receiver = receiver.browser(reporter.track(0)).start_on(&mut runtime).map_err(calls::explained)?;
    let clock = runtime.clock();
    let runtime = session::start(runtime)?;
    let mut session = Session::new(clock.now(), None, Some(receiver))
        .with_key_log(key_log)
        .with_recording(arguments.output.is_some());
    let (mut is_incomplete, mut is_noted) = (false, false);
    let is_watched = options.is_watched() || options.qlog.is_some() || reporter.has_status_line();
    let interval = if is_watched { STEP } else { UNWATCHED_STEP };
    let outcome = session::run_every(interval, clock, options.duration, |now| {
        let flow = session.drain()?;
        if let Some(failure) = session.recording_failed.take() {
            if !arguments.goes_on_without_recording() {
                return Err(failure);
            }
            note(&format!("the recording has ended, the session goes on: {failure}"));
            is_incomplete = true;
        }
        if session.has_sound && !std::mem::replace(&mut is_noted, true) && arguments.loses_sound() {
            note("the recording has no sound: .mp4 keeps it");
        }
        reporter.report(now, &mut session)?;
        if !arguments.is_window() && reporter.page().is_some_and(Page::take_key_frame_request) {
            session.receiver.iter().for_each(Receiver::request_key_frame);
        }
        Ok(flow)
    });
    let end = clock.now();
    let closed = session.close();
    let lateness = runtime.close()?;
    let logged = reporter.finish();
    outcome?;
    logged?;
    if options.json {
        Report::new("recv", 0, &session, end, &lateness, DelayFrom::LeastPlusHalfRoundTrip).print(true)?;
    }
    session.outcome(is_keyed)?;
    closed?;
    session.recording_failed.take().map_or(Ok(()), Err)?;
    note(&summary::of_receiver(&session, end));
    Ok(if is_incomplete { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Arguments {
    fn is_window(&self) -> bool {
        matches!(&self.source, Source::Sender(url) if url.transport() == Transport::Window)
    }

    /// Whether senders of other hosts come to a port of this one, by the URL that is printed.
    fn listens(&self) -> bool {
        let is_open = |url| !calls::is_caller(url) && calls::is_open(url);
        matches!(&self.source, Source::Sender(url) if is_open(url)) && !self.is_window()
    }

    fn latency(&self) -> TimeDelta {
        // Of the window transport the send queue's eight seconds (S002 section 3.4).
        let usual = if self.is_window() { TimeDelta::from_secs(8) } else { TimeDelta::from_millis(500) };
        self.latency.unwrap_or(usual)
    }

    fn access(&self, url: &SessionUrl, bind: SocketAddr) -> Result<Access, Failure> {
        let keys = &self.options.keys;
        if matches!(self.source, Source::Stream(_)) {
            keys.of_stream(&self.source, bind)
        } else if self.is_window() {
            keys.of_window(url, bind)
        } else {
            keys.of_listener(url, bind, self.options.network.reachable(bind)?, Side::Receiver)
        }
    }

    /// A recording in the format of the name's ending; `-` is a byte stream on standard output.
    fn recorder(&self, name: &str) -> Result<Box<dyn Sink>, Failure> {
        let refused = |error| Failure::input(&error);
        let path = Path::new(name);
        let (recorder, path): (Box<dyn Sink>, _) = match (self.is_window(), name) {
            (true, "-") => return Ok(Box::new(StreamRecorder::new(Box::new(Output::create(name)?)))),
            (false, "-") => {
                let out = Box::new(Output::create(name)?);
                return Ok(Box::new(Recorder::new(RecordingFormat::AnnexB, out)));
            }
            _ if self.is_window() || is_mpeg_video(path) => {
                StreamRecorder::create(path).map(|(it, path)| (Box::new(it) as _, path))
            }
            _ => Recorder::create(path, self.segment).map(|(it, path)| (Box::new(it) as _, path)),
        }
        .map_err(refused)?;
        if path != Path::new(name) {
            note(&format!("{name} exists: recording to {}", path.display()));
        }
        Ok(recorder)
    }

    fn check(&self) -> Result<(), Failure> {
        let is_stdout = self.output.as_deref() == Some("-");
        if is_stdout && self.options.uses_stdout() {
            return Err(Failure::input(&"-o - takes standard output, which --json and --stats need"));
        }
        check_latency(self.latency())?;
        self.check_server()?;
        if self.is_window() {
            self.options.network.check_window()?;
        }
        if self.stamp && self.is_window() {
            return Err(Failure::input(
                &"--stamp does not apply to seaway+window://, whose pictures are coded beforehand",
            ));
        }
        if self.buffer.config()?.is_some() && self.is_window() {
            return Err(Failure::input(
                &"--buffer does not apply to seaway+window://, whose buffer is --latency",
            ));
        }
        match self.segment {
            Some(_) if self.is_window() => {
                Err(Failure::input(&"--segment does not apply to seaway+window://"))
            }
            Some(_) if is_stdout => Err(Failure::input(&"--segment: standard output is one stream")),
            Some(length) if length < TimeDelta::from_secs(1) => {
                Err(Failure::input(&format!("--segment {length}: expected at least 1 s")))
            }
            _ => Ok(()),
        }
    }

    /// Options that a media server has no use for, and those that it alone has.
    fn check_server(&self) -> Result<(), Failure> {
        let is_server = matches!(self.source, Source::Server(_));
        let uses_stun = is_server || self.options.web.is_some() || self.listens();
        self.options.network.check_stun(uses_stun)?;
        if let Source::Sender(url) = &self.source
            && calls::is_caller(url)
        {
            calls::refuse(url, &[(self.sdp.is_some(), "--sdp")])?;
        }
        if !is_server {
            return self.server.check_unused();
        }
        let given = [(self.sdp.is_some(), "--sdp"), (self.buffer.config()?.is_some(), "--buffer")];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(Failure::input(&format!("{option} does not apply to a media server"))),
            None => Ok(()),
        }
    }

    /// What is known of senders of plain RTP.
    fn plain(&self, is_keyed: bool) -> Result<Option<PlainRtp>, Failure> {
        if self.is_window() && self.sdp.is_some() {
            return Err(Failure::input(&"--sdp describes RTP, and this is seaway+window://"));
        }
        let Some(file) = &self.sdp else { return Ok((!is_keyed).then(PlainRtp::default)) };
        if is_keyed {
            return Err(Failure::input(
                &"--sdp describes plain RTP, which --insecure allows from other hosts",
            ));
        }
        let failure = |why: &dyn std::fmt::Display| Failure::input(&format!("{file}: {why}"));
        let text = std::fs::read_to_string(file).map_err(|error| failure(&error))?;
        let plain: PlainRtp = text.parse().map_err(|error: String| failure(&error))?;
        if !plain.left_out.is_empty() {
            note(&format!("{file}: not received: {}", plain.left_out.join(", ")));
        }
        let is_aac = plain.sound.as_ref().is_some_and(|sound| sound.format != Format::Opus);
        if is_aac && self.options.web.is_some() {
            note("the page has no sound: browsers do not play AAC");
        }
        Ok(Some(plain))
    }

    /// There is a recording, in a format without sound.
    fn loses_sound(&self) -> bool {
        let format = self.output.as_deref().map(RecordingFormat::of_name);
        format.is_some_and(|format| !matches!(format, Ok(RecordingFormat::Mp4)))
    }

    /// The session is watched, and its purpose was not standard output.
    fn goes_on_without_recording(&self) -> bool {
        self.options.is_watched() && self.output.as_deref() != Some("-")
    }
}

/// Whether a name is that of MPEG video without a container, as RTP carries it.
fn is_mpeg_video(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    ending.is_some_and(|ending| ["m1v", "m2v", "mpv"].contains(&ending.as_str()))
}

fn hello(arguments: &Arguments) -> Hello {
    Hello {
        seaway: seaway_report::VERSION,
        title: match &arguments.source {
            Source::Sender(url) if calls::is_caller(url) => format!("received from {url}"),
            Source::Sender(_) | Source::Stream(_) => format!("received at {}", arguments.source),
            Source::Server(url) => format!("received from {url}"),
        },
        seed: 0,
        pictures: vec!["received"],
        beside: None,
        controls: Vec::new(),
        networks: Vec::new(),
        settings: BTreeMap::new(),
    }
}
