//! The options of `seaway shape`.

use crate::failure::Failure;
use crate::web::TlsOptions;
use clap::ArgGroup;
use seaway_mpeg::container::{self, Format, Multiplex};
use seaway_mpeg::pipeline::{Config, Schedule};
use seaway_mpeg::shape::{self, Budget, Ceiling, ClosedLoop, Cluster, Method, Target, Vbv};
use seaway_units::{Bitrate, TimeDelta};
use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroUsize};
use std::path::PathBuf;

/// The end of the help text, with the formats that can be read.
fn after_help() -> String {
    let formats: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
    let formats = formats.join(", ");
    format!(
        "Input formats, recognised by the content: {formats}. The output has the format of the input. A target that is \
         not reached gives exit code 3."
    )
}

#[derive(Debug, clap::Args)]
#[command(after_help = after_help(), group = ArgGroup::new("target").required(true))]
pub(crate) struct Arguments {
    /// The stream to read, `-` for standard input; a live one is udp://HOST:PORT or rtp://HOST:PORT, for a multicast group with
    /// ?interface=ADDR, or srt://HOST:PORT (calls) or srt://:PORT (listens) with ?mode=, latency=MS, passphrase=, pbkeylen= and streamid=
    #[arg(value_name = "IN")]
    pub(super) input: String,
    /// Where to write, `-` for standard output; a live one as for IN, also with ?ttl=N
    #[arg(value_name = "OUT")]
    pub(super) output: String,
    /// Rate of the video, such as '3.2 Mbit/s'; a file is read twice for it
    #[arg(long, group = "target")]
    pub(super) rate: Option<Bitrate>,
    /// Depth of the leaky bucket of a rate, such as '500 ms': no stretch of the video carries more than the rate passes in
    /// its time and in this time. One second by default
    #[arg(long, value_name = "TIME", conflicts_with = "ratio", value_parser = bucket)]
    pub(super) bucket: Option<TimeDelta>,
    /// Read further rates while running, a line 'RATE' or 'TIME, RATE' each, from a pipe, a file, or /dev/fd/N. From the network to the
    /// network TIME counts from the first packet that is shaped
    #[arg(long, value_name = "FILE", conflicts_with = "ratio")]
    pub(super) control: Option<String>,
    /// Rate of the video as a share of its input rate, above 0 and up to 1
    #[arg(long, group = "target", value_parser = ratio)]
    pub(super) ratio: Option<f64>,
    /// A file with a line 'time, rate' for each change, the first at 0 s. Each second of video then keeps its rate
    #[arg(long, group = "target", value_name = "FILE")]
    pub(super) rate_schedule: Option<PathBuf>,
    /// How the codes to drop are chosen
    #[arg(long, value_name = "NAME", default_value = DEFAULT_METHOD, value_parser = method)]
    method: Method,
    /// Macroblocks that share a breakpoint, or `block` for a breakpoint of each block
    #[arg(long, value_name = "N|block", value_parser = cluster)]
    cluster: Option<Cluster>,
    /// How methods of single pictures share out the cuts: `by-kind` cuts I pictures less than P, and P less than B;
    /// `paper` cuts all by the same share (S002)
    #[arg(long, value_name = "HOW", value_parser = budget)]
    budget: Option<Budget>,
    /// Whether pictures correct the errors that earlier ones left: `open` never, `closed` always, `auto` where the method `auto` gains much by
    /// it. A closed loop takes 6 to 40 times the time; live it is for programmes for which there is time
    #[arg(long = "loop", value_name = "auto|open|closed", value_parser = closed_loop)]
    closed_loop: Option<ClosedLoop>,
    /// Pictures that are shaped together, for methods that look ahead
    #[arg(long, value_name = "PICTURES")]
    pub(super) window: Option<NonZeroUsize>,
    /// Threads; with more than one, every method delays several pictures
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroUsize,
    /// The declared decoder buffer: `variable` declares a variable rate, `keep` leaves it unchanged
    #[arg(long, value_name = "HOW", default_value = "variable", value_parser = vbv)]
    vbv: Vbv,
    /// The freed room: `keep` fills it with null packets or padding, `variable` closes it, a rate gives a
    /// transport stream that multiplex rate. Default: `keep` for a transport stream, `variable` for others
    #[arg(long, value_name = "keep|variable|RATE", value_parser = multiplex)]
    multiplex: Option<Multiplex>,
    /// The programme of a transport stream whose video is shaped; the first with MPEG video by default
    #[arg(long, value_name = "NUMBER")]
    program: Option<u16>,
    /// From the network to the network: 99 of 100 packets leave within this of their arrival. 1.5 s by default
    #[arg(long, value_name = "TIME")]
    pub(super) delay: Option<TimeDelta>,
    /// From the network to the network: `all` shapes every programme with MPEG video; they share --rate by how hard they are to code
    #[arg(long, value_name = "all", value_enum, conflicts_with = "program")]
    pub(super) programs: Option<Programs>,
    /// From the network to the network: serve /metrics for Prometheus at this address
    #[arg(long, value_name = "ADDR")]
    pub(super) metrics: Option<SocketAddr>,
    #[command(flatten)]
    pub(super) tls: TlsOptions,
    /// From the network to the network: print JSON lines
    #[arg(long, value_name = "json", value_enum)]
    pub(super) stats: Option<Stats>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

/// The programmes of a live stream that are shaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Programs {
    /// All with MPEG-1 or MPEG-2 video
    All,
}

/// What `--stats` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Stats {
    /// One JSON object a second on standard output, and one at the end
    Json,
}

/// The default of `--method`.
const DEFAULT_METHOD: &str = "auto";

/// The options, checked.
#[derive(Debug)]
pub(super) struct ShapeOptions {
    pub(super) schedule: Schedule,
    pub(super) shaper: shape::Config,
    multiplex: Option<Multiplex>,
    pub(super) program: Option<u16>,
}

impl Arguments {
    pub(super) fn plan(&self) -> Result<ShapeOptions, Failure> {
        self.check_method()?;
        let schedule = self.schedule()?;
        let mut shaper = shape::Config::new(self.method, schedule.at(seaway_units::TimeDelta::ZERO));
        shaper.cluster = self.cluster.unwrap_or(shaper.cluster);
        shaper.budget = self.budget.unwrap_or_default();
        shaper.closed_loop = self.closed_loop.unwrap_or_default();
        shaper.window = self.window.unwrap_or(shaper.window);
        shaper.threads = self.threads;
        shaper.vbv = self.vbv;
        shaper.ceiling = self.ceiling();
        Ok(ShapeOptions { schedule, shaper, multiplex: self.multiplex, program: self.program })
    }

    /// The ceiling of a target in bit/s. A rate that changes holds in every second.
    fn ceiling(&self) -> Option<Ceiling> {
        let even_seconds = self.rate_schedule.is_some() || self.control.is_some();
        let bucket = self.bucket.unwrap_or(Ceiling::BUCKET);
        self.ratio.is_none().then_some(Ceiling { bucket, even_seconds })
    }

    /// Refuses options that the method does not use.
    fn check_method(&self) -> Result<(), Failure> {
        let unused = match self.method {
            Method::Auto | Method::Requantize if self.cluster.is_some() => "--cluster",
            method if self.budget.is_some() && method.looks_ahead() => "--budget",
            method if self.window.is_some() && !method.looks_ahead() => "--window",
            method if self.closed_loop.is_some() && !method.may_close_the_loop() => "--loop",
            _ => return Ok(()),
        };
        Err(Failure::input(&format!("{unused} does not apply to --method {}", self.method_name())))
    }

    fn schedule(&self) -> Result<Schedule, Failure> {
        if let Some(path) = &self.rate_schedule {
            let failed =
                |error: &dyn std::fmt::Display| Failure::input(&format!("{}: {error}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
            return text.parse().map_err(|error: seaway_mpeg::pipeline::ScheduleError| failed(&error));
        }
        let target = match (self.rate, self.ratio) {
            (Some(rate), _) => Target::Rate(rate),
            (None, ratio) => Target::Ratio(ratio.unwrap_or(1.0)),
        };
        Ok(Schedule::constant(target))
    }

    /// An option that only live streams have.
    pub(super) fn live_option(&self) -> Option<&'static str> {
        let given = [
            (self.delay.is_some(), "--delay"),
            (self.programs.is_some(), "--programs"),
            (self.stats.is_some(), "--stats"),
            (self.metrics.is_some(), "--metrics"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// The name of the method.
    pub(super) fn method_name(&self) -> &'static str {
        name_in(&Method::ALL, &self.method)
    }
}

/// The name of `value` among `all`.
pub(super) fn name_in<T: PartialEq>(all: &[(&'static str, T)], value: &T) -> &'static str {
    all.iter().find(|(_, other)| other == value).map_or("", |(name, _)| name)
}

impl ShapeOptions {
    /// True where the target is in bit/s, so that the ratio depends on the display time.
    pub(super) fn asks_for_a_rate(&self) -> bool {
        self.shaper.ceiling.is_some()
    }

    /// True where a first pass over a file shares out the bits of the whole stream: one target, and no second is bound to it.
    pub(super) fn plans_ahead(&self) -> bool {
        match self.shaper.ceiling {
            Some(ceiling) => !ceiling.even_seconds,
            // A constant multiplex rate has no room for groups that keep more than the mean.
            None => self.shaper.gains_from_plan() && !matches!(self.multiplex, Some(Multiplex::Constant(_))),
        }
    }

    /// Whether the null packets of a live transport stream are sent; `None` where another rate was asked for.
    pub(super) fn keeps_null_packets(&self) -> Option<bool> {
        match self.multiplex {
            None | Some(Multiplex::Keep) => Some(true),
            Some(Multiplex::Variable) => Some(false),
            Some(Multiplex::Constant(_)) => None,
        }
    }

    /// The whole configuration for a stream of this format.
    pub(super) fn config(&self, format: Format) -> Result<Config, String> {
        self.check_format(format)?;
        let multiplex = self.multiplex.unwrap_or(format.default_multiplex());
        let container =
            container::Config { multiplex, program: self.program, ..container::Config::default() };
        Ok(Config { shaper: self.shaper.clone(), container })
    }

    fn check_format(&self, format: Format) -> Result<(), String> {
        let unused = match self.multiplex {
            _ if self.program.is_some() && !format.has_programs() => "--program",
            Some(multiplex) if format.supports(multiplex) => return Ok(()),
            Some(Multiplex::Constant(_)) => "--multiplex with a rate",
            Some(_) => "--multiplex",
            None => return Ok(()),
        };
        Err(format!("{unused} does not apply to this {}", format.name()))
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if ratio > 0.0 && ratio <= 1.0 { Ok(ratio) } else { Err("expected more than 0 and at most 1".to_owned()) }
}

fn bucket(text: &str) -> Result<TimeDelta, String> {
    let bucket: TimeDelta = text.parse().map_err(|error| format!("{error}"))?;
    if bucket > TimeDelta::ZERO { Ok(bucket) } else { Err("expected more than 0 s".to_owned()) }
}

fn method(text: &str) -> Result<Method, String> {
    let found = Method::ALL.iter().find(|(name, _)| *name == text);
    found.map(|(_, method)| *method).ok_or_else(|| {
        let names: Vec<_> = Method::ALL.iter().map(|(name, _)| *name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn closed_loop(text: &str) -> Result<ClosedLoop, String> {
    let found = ClosedLoop::ALL.iter().find(|(name, _)| *name == text);
    found.map(|(_, closed_loop)| *closed_loop).ok_or_else(|| "expected `auto`, `open` or `closed`".to_owned())
}

fn cluster(text: &str) -> Result<Cluster, String> {
    if text == "block" {
        return Ok(Cluster::Block);
    }
    text.parse::<NonZeroU16>()
        .map(Cluster::Macroblocks)
        .map_err(|_| "expected `block` or a number of macroblocks".to_owned())
}

fn budget(text: &str) -> Result<Budget, String> {
    match text {
        "by-kind" => Ok(Budget::ByKind),
        "paper" => Ok(Budget::Proportional),
        _ => Err("expected `by-kind` or `paper`".to_owned()),
    }
}

fn vbv(text: &str) -> Result<Vbv, String> {
    match text {
        "keep" => Ok(Vbv::Keep),
        "variable" => Ok(Vbv::Variable),
        _ => Err("expected `keep` or `variable`".to_owned()),
    }
}

fn multiplex(text: &str) -> Result<Multiplex, String> {
    match text {
        "keep" => Ok(Multiplex::Keep),
        "variable" => Ok(Multiplex::Variable),
        rate => rate
            .parse()
            .map(Multiplex::Constant)
            .map_err(|error| format!("expected `keep`, `variable` or a rate: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked() {
        assert_eq!(ratio("0.8"), Ok(0.8));
        assert!(ratio("0").is_err() && ratio("1.01").is_err() && ratio("nan").is_err());
        assert_eq!(cluster("44"), Ok(Cluster::Macroblocks(NonZeroU16::new(44).unwrap())));
        assert!(cluster("0").is_err());
        assert_eq!(bucket("250 ms"), Ok(TimeDelta::from_millis(250)));
        assert!(bucket("0 s").is_err() && bucket("1").is_err());
        assert_eq!(multiplex("3 Mbit/s"), Ok(Multiplex::Constant(Bitrate::from_mbps(3))));
        assert!(multiplex("3").unwrap_err().contains("unit"));
        assert_eq!(method(DEFAULT_METHOD), Ok(Method::Auto));
    }
}
