//! `seaway shape` from the network to the network.

mod address;
mod metrics;
mod sink;
mod source;
mod srt;
mod statistics;

pub(super) use address::is_live;

use super::control::Control;
use super::options::{Arguments, ShapeOptions};
use crate::failure::{Failure, MISSED, note};
use crate::interrupt;
use address::Address;
use metrics::Metrics;
use seaway_mpeg::container::Error;
use seaway_mpeg::live::{Config, LiveShaper, Programs, Report};
use seaway_mpeg::shape::{Ceiling, ClosedLoop};
use seaway_net::Clock;
use seaway_srt::Direction;
use seaway_units::{TimeDelta, Timestamp};
use sink::Sink;
use source::{Arrival, SourceReport, Unpacker};
use srt::{Link, SrtAddress};
use statistics::Statistics;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The delay where none is named.
const DELAY: TimeDelta = TimeDelta::from_millis(1500);
/// The longest that makes sense for one window.
const LONGEST_DELAY: TimeDelta = TimeDelta::from_secs(10);
/// Pictures of a window, at most: it ends by the delay.
const WINDOW: NonZeroUsize = NonZeroUsize::new(600).unwrap();
/// A silent input is looked at so often.
const POLL: TimeDelta = TimeDelta::from_millis(50);
/// From one line of `--stats` to the next.
const INTERVAL: TimeDelta = TimeDelta::from_secs(1);
/// An input without programmes is reported after so long.
const WITHOUT_PROGRAM: TimeDelta = TimeDelta::from_secs(5);
/// Datagrams that are read before the clock is looked at.
const AT_ONCE: usize = 64;
/// Octets that may wait, for each programme.
const MEMORY: usize = 64 << 20;

/// Where a stream comes from or goes to.
enum Place {
    Datagrams(Address),
    Srt(SrtAddress),
}

impl Place {
    fn parse(name: &str) -> Result<Place, Failure> {
        let parsed = match SrtAddress::parse(name) {
            Some(address) => address.map(Place::Srt),
            None => Address::parse(name).map(Place::Datagrams),
        };
        parsed.map_err(|error| Failure::input(&format!("{}: {error}", SrtAddress::shown(name))))
    }
}

pub(super) fn run(arguments: &Arguments, plan: &ShapeOptions) -> Result<ExitCode, Failure> {
    let (input, output) = (Place::parse(&arguments.input)?, Place::parse(&arguments.output)?);
    let names = [&arguments.input, &arguments.output].map(|name| SrtAddress::shown(name));
    let config = config(arguments, plan)?;
    let control = arguments.control.as_deref().map(Control::open).transpose()?;
    let metrics = arguments.metrics.map(|listen| Metrics::open(listen, &arguments.tls, config.delay));
    let metrics = metrics.transpose()?;
    let observed = metrics.as_ref().map(|metrics| metrics.histograms.clone());
    interrupt::install_live()?;
    let clock = Clock::start();
    let mut links = Vec::new();
    let mut link = |name: &str, address: &SrtAddress, direction: Direction| {
        let link = Link::open(name, address, direction, clock)?;
        links.push(link.clone());
        Ok::<_, Failure>(link)
    };
    let (arrivals, unpacker) = match &input {
        Place::Datagrams(address) => {
            (source::listen(names[0], address, clock)?, Unpacker::new(address.transport))
        }
        Place::Srt(address) => {
            let link = link(names[0], address, Direction::Receive)?;
            (source::drive(link.clone()), Unpacker::of_link(link))
        }
    };
    let sink = match &output {
        Place::Datagrams(address) => Sink::open(names[1], address, clock, observed)?,
        Place::Srt(address) => Sink::drive(link(names[1], address, Direction::Send)?, clock, observed),
    };
    let statistics = Statistics::new(arguments.stats.is_some(), config.delay);
    let mut shaper = LiveShaper::new(config);
    shaper.set_schedule(plan.schedule.clone());
    let mut session = Session {
        name: names[0],
        clock,
        unpacker,
        statistics,
        metrics,
        control,
        shaper,
        sink,
        links,
        waits_since: None,
        is_waiting_reported: false,
        is_without_video: false,
    };
    session.run(&arrivals)?;
    session.finish()
}

/// Reads the options that are for live streams.
fn config(arguments: &Arguments, plan: &ShapeOptions) -> Result<Config, Failure> {
    let refuse = |text: &str| Err(Failure::input(&text));
    let delay = arguments.delay.unwrap_or(DELAY);
    if delay < Config::LEAST_DELAY || delay > LONGEST_DELAY {
        return refuse(&format!("--delay: expected {} to {LONGEST_DELAY}", Config::LEAST_DELAY));
    }
    if arguments.json {
        return refuse("--json does not apply to a live stream; --stats json prints a line each second");
    }
    let mut shaper = plan.shaper.clone();
    if shaper.closed_loop == ClosedLoop::Always && delay < Config::LEAST_FOR_CLOSED_LOOP {
        return refuse(&format!(
            "--loop closed needs a --delay of {} at least",
            Config::LEAST_FOR_CLOSED_LOOP
        ));
    }
    if shaper.threads > NonZeroUsize::MIN {
        return refuse("--threads does not apply to a live stream: several threads hold back pictures");
    }
    if arguments.window.is_none() {
        shaper.window = WINDOW;
    }
    let programs = match arguments.programs {
        Some(_) if arguments.ratio.is_some() => return refuse("--programs all shares out a --rate"),
        Some(_) => Programs::All,
        None => Programs::One(plan.program),
    };
    if programs == Programs::All {
        // The rates change from second to second.
        let bucket = arguments.bucket.unwrap_or(Ceiling::BUCKET);
        shaper.ceiling = Some(Ceiling { bucket, even_seconds: true });
    }
    let Some(null_packets) = plan.keeps_null_packets() else {
        return refuse("--multiplex with a rate does not apply to a live stream; expected keep or variable");
    };
    Ok(Config { shaper, programs, delay, null_packets, memory: MEMORY })
}

struct Session<'a> {
    name: &'a str,
    clock: Clock,
    unpacker: Unpacker,
    control: Option<Control>,
    shaper: LiveShaper,
    sink: Sink,
    statistics: Statistics,
    metrics: Option<Metrics>,
    links: Vec<Arc<Link>>,
    /// Since when packets come and no programme is known, and whether that was reported.
    waits_since: Option<Timestamp>,
    is_waiting_reported: bool,
    /// The stream carries other video now.
    is_without_video: bool,
}

impl Session<'_> {
    /// Shapes until a signal comes.
    fn run(&mut self, arrivals: &Receiver<Arrival>) -> Result<(), Failure> {
        let mut next = self.clock.now() + INTERVAL;
        while !interrupt::requested() {
            let now = self.clock.now();
            self.change_rate(now);
            let due = self.shaper.poll_timeout().map_or(POLL, |due| due.since(now).min(POLL));
            let arrival = arrivals.recv_timeout(Duration::from_nanos(due.as_nanos().max(0) as u64));
            let begin = self.clock.now();
            match arrival {
                Ok(arrival) => {
                    self.take(&arrival)?;
                    for arrival in arrivals.try_iter().take(AT_ONCE) {
                        self.take(&arrival)?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.check()?;
                    return Err(Failure::running(&format!("{}: nothing can be received", self.name)));
                }
            }
            self.check()?;
            let now = self.clock.now();
            self.shaper.handle_timeout(now).map_err(|error| self.refused(&error))?;
            self.drain()?;
            let now = self.clock.now();
            self.shaper.report_computing(now.since(begin));
            next = self.report(now, next)?;
        }
        Ok(())
    }

    /// Follows the control channel.
    fn change_rate(&mut self, now: Timestamp) {
        if let Some(control) = &mut self.control {
            control.apply(|at, target| self.shaper.change_target(now, at, target));
        }
    }

    /// Fails where a link is over.
    fn check(&self) -> Result<(), Failure> {
        self.links.iter().try_for_each(|link| link.check())
    }

    fn take(&mut self, arrival: &Arrival) -> Result<(), Failure> {
        let shaper = &mut self.shaper;
        match self.unpacker.push(arrival, |at, packet| shaper.push(at, packet)) {
            // The next caller may have what this one has not.
            Err(error @ Error::NoVideo { .. }) if self.unpacker.drop_caller() => {
                note(&format!("{}: {error}; this caller was refused", self.name));
            }
            taken => taken.map_err(|error| self.refused(&error))?,
        }
        self.drain()
    }

    fn drain(&mut self) -> Result<(), Failure> {
        while let Some(packet) = self.shaper.pull() {
            self.sink.push(packet)?;
        }
        Ok(())
    }

    fn refused(&self, error: &Error) -> Failure {
        Failure::input(&format!("{}: {error}", self.name))
    }

    fn report(&mut self, now: Timestamp, next: Timestamp) -> Result<Timestamp, Failure> {
        if now < next {
            return Ok(next);
        }
        let (source, shaped) = (self.unpacker.report(), self.shaper.report());
        self.report_waiting(now, &source, &shaped);
        self.report_other_video();
        let sent = self.sink.report();
        if let Some(metrics) = &mut self.metrics {
            metrics.set(now, &source, &shaped, &sent);
        }
        self.statistics.line(now, &source, &shaped, &sent)?;
        Ok((next + INTERVAL).max(now))
    }

    /// Says once that what comes has no programme to shape.
    fn report_waiting(&mut self, now: Timestamp, source: &SourceReport, shaped: &Report) {
        let waits = source.datagrams > 0 && shaped.programs.is_empty();
        let since = *self.waits_since.get_or_insert(now);
        if !waits {
            self.waits_since = None;
        } else if !self.is_waiting_reported && now.since(since) >= WITHOUT_PROGRAM {
            self.is_waiting_reported = true;
            note(&format!("{}: {}; waiting", self.name, without_program(source)));
        }
    }

    /// Says that the stream turned to other video, and that it came back.
    fn report_other_video(&mut self) {
        let refusal = self.shaper.refusal();
        let was_without = std::mem::replace(&mut self.is_without_video, refusal.is_some());
        match refusal {
            Some(error) if !was_without => note(&format!("{}: {error}; it passes unchanged", self.name)),
            None if was_without => note(&format!("{}: video to shape comes again", self.name)),
            _ => {}
        }
    }

    /// Prints what was done. What waits for its departure is dropped.
    fn finish(mut self) -> Result<ExitCode, Failure> {
        let (source, shaped, sent) = (self.unpacker.report(), self.shaper.report(), self.sink.report());
        self.links.iter().for_each(|link| link.close());
        if source.datagrams == 0 {
            return Err(Failure::running(&format!("{}: nothing came", self.name)));
        }
        let held = self.statistics.end(self.clock.now(), &source, &shaped, &sent)?;
        if statistics::pictures(&shaped) == 0 {
            let why = match shaped.programs.first() {
                None => without_program(&source),
                Some(program) => format!("no picture of programme {} came", program.program),
            };
            return Err(Failure::running(&format!("{}: {why}", self.name)));
        }
        Ok(if held { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
    }
}

/// What to say of a stream that has no programme to shape.
fn without_program(source: &SourceReport) -> String {
    let SourceReport { datagrams, malformed, .. } = source;
    format!(
        "no programme with MPEG-1 or MPEG-2 video came in {datagrams} datagrams ({malformed} of them without transport packets)"
    )
}
