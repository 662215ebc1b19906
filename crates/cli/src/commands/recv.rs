//! `seaway recv`: receives live video from another host.

use crate::failure::Failure;
use crate::files::Output;
use crate::interrupt;
use crate::live::keys;
use crate::live::options::LiveOptions;
use crate::live::report::{DelayFrom, Report};
use crate::live::session::{self, Session};
use crate::web::{Hello, Page};
use seaway_media::output::RecordingFormat;
use seaway_session::SessionUrl;
use seaway_stream::Receiver;
use seaway_stream::sink::Recorder;
use seaway_units::TimeDelta;
use std::collections::BTreeMap;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where to listen: rtp://host:port, such as rtp://0.0.0.0:5004 for every address of this host
    source: SessionUrl,
    /// Write what is received: a file that ends in .mp4, .h264 or .y4m, or `-` for an H.264 stream on stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// The largest playout delay, which is also the deadline of retransmissions
    #[arg(long, default_value = "500 ms", value_name = "TIME")]
    latency: TimeDelta,
    #[command(flatten)]
    options: LiveOptions,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    interrupt::install()?;
    let options = &arguments.options;
    if arguments.output.as_deref() == Some("-") && options.uses_stdout() {
        return Err(Failure::input(&"-o - takes standard output, which --json and --stats need"));
    }
    if arguments.latency <= TimeDelta::ZERO || arguments.latency > TimeDelta::from_secs(10) {
        return Err(Failure::input(&format!(
            "--latency {}: expected above 0 s, up to 10 s",
            arguments.latency
        )));
    }
    let recorder = arguments.output.as_deref().map(recorder).transpose()?;
    let mut reporter = options.reporter(|| hello(arguments))?;
    let mut runtime = session::runtime(options.pcap.as_deref())?;
    let bind = keys::resolve(&arguments.source)?;
    let access = options.keys.of_receiver(&arguments.source, bind)?;
    let is_keyed = access.key.is_some();
    let key_log = options.keys.exporter()?;
    let receiver = Receiver::builder(bind).key(access.key).insecure(access.insecure);
    let mut receiver = receiver.latency(arguments.latency);
    if let Some(recorder) = recorder {
        receiver = receiver.sink(recorder);
    }
    let receiver = receiver.browser(reporter.track(0)).start_on(&mut runtime)?;
    let clock = runtime.clock();
    let runtime = session::start(runtime)?;
    let mut session = Session::new(clock.now(), None, Some(receiver)).with_key_log(key_log);
    let outcome = session::run(clock, options.duration, |now| {
        let flow = session.drain()?;
        reporter.report(now, &mut session)?;
        if reporter.page().is_some_and(Page::take_key_frame_request) {
            session.receiver.iter().for_each(Receiver::request_key_frame);
        }
        Ok(flow)
    });
    let closed = session.close();
    let lateness = runtime.close()?;
    closed.and(outcome)?;
    if options.json {
        Report::new("recv", 0, &session, clock.now(), &lateness, DelayFrom::LeastPlusHalfRoundTrip)
            .print(true)?;
    }
    session.outcome(is_keyed)?;
    Ok(ExitCode::SUCCESS)
}

/// A recording in the format of the name's ending; `-` is an H.264 byte stream on standard output.
fn recorder(name: &str) -> Result<Recorder, Failure> {
    let format = if name == "-" { Ok(RecordingFormat::AnnexB) } else { RecordingFormat::of_name(name) };
    let format = format.map_err(|error| Failure::input(&error))?;
    Ok(Recorder::new(format, Box::new(Output::create(name)?)))
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
