//! `seaway emulate`: the network of a scenario in real time.

use crate::failure::{Failure, MISSED, note};
use crate::interrupt;
use crate::live::session;
use crate::privileges;
use crate::scenario::Source;
use schemars::JsonSchema;
use seaway_lab::Emulation;
use seaway_lab::scenario::{Attach, Override, Scenario};
use seaway_net::{Counts, Emulator, EmulatorCommand, Finished, Interface, Lateness, Outlet, Tun, Waker};
use seaway_report::summary::LinkSummary;
use seaway_units::{TimeDelta, Timestamp};
use serde::Serialize;
use std::any::Any;
use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::mpsc::{self, channel};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A scenario with at least two `attach`: a file, `-` for standard input, or a name of `seaway list scenarios` with
    /// --set 'attach=[…]'
    scenario: String,
    /// End after this long, such as '30s'; default: the duration of the scenario
    #[arg(long, value_name = "TIME")]
    duration: Option<TimeDelta>,
    /// Exit with code 3 if more than 1 % of the wake-ups were later than this, or 1 % of the packets were read later
    #[arg(long, value_name = "TIME", default_value_t = Lateness::BOUND)]
    bound: TimeDelta,
    /// Print the report as one JSON document on stdout
    #[arg(long)]
    json: bool,
    /// Seed of the links' random numbers; default: that of the scenario
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Change the scenario, such as link.bottleneck.rate='2 Mbit/s' or attach.client.tun=seaway1
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
}

/// At the end, packets inside the network have this long to leave.
const DRAIN: Duration = Duration::from_secs(2);

type Network = Emulation<Vec<u8>>;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scenario = read(arguments)?;
    let network = Network::new(&scenario)
        .map_err(|error| Failure::input(&format!("{}: {error}", arguments.scenario)))?;
    let (outlets, interfaces) = open_all(&scenario.attach)?;
    // Before any thread is started.
    privileges::seal();
    interrupt::install()?;
    let (commands, command_queue) = channel();
    let (closed, closed_outlets) = channel();
    let mut runtime = session::runtime(None)?;
    let clock = runtime.clock();
    let emulator = Emulator::new(clock.now(), network, &outlets, command_queue).with_closed(closed);
    runtime.add(emulator, interfaces)?;
    let waker = runtime.waker();
    // The media thread has its priority by then.
    let runtime = session::start(runtime)?;
    privileges::give_up();
    note_addresses(&scenario);
    let mut open = outlets.len();
    session::run(clock, Some(scenario.duration), |_| {
        for index in closed_outlets.try_iter() {
            open -= 1;
            note_closed(&scenario.attach[index], open);
        }
        Ok(if open < 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    drain(&commands, &waker);
    let report = Report::of(&scenario, arguments.bound, runtime.into_machines()?)?;
    report.print(arguments.json).map_err(|error| Failure::output(&error))?;
    Ok(if report.lateness.held { ExitCode::SUCCESS } else { ExitCode::from(MISSED) })
}

fn read(arguments: &Arguments) -> Result<Scenario, Failure> {
    let mut scenario = Source::read(&arguments.scenario)?.parse(&arguments.overrides)?;
    scenario.seed = arguments.seed.unwrap_or(scenario.seed);
    scenario.duration = arguments.duration.unwrap_or(scenario.duration);
    for (option, value) in [("--duration", scenario.duration), ("--bound", arguments.bound)] {
        if value <= TimeDelta::ZERO {
            return Err(Failure::input(&format!("{option} is {value}: expected a time above zero")));
        }
    }
    if !scenario.flows.is_empty() {
        note("the scenario's flows are left to real programs");
    }
    Ok(scenario)
}

fn open_all(attach: &[Attach]) -> Result<(Vec<Outlet>, Vec<Interface>), Failure> {
    let opened: Result<Vec<_>, Failure> = attach.iter().map(open).collect();
    Ok(opened?.into_iter().unzip())
}

fn open(attach: &Attach) -> Result<(Outlet, Interface), Failure> {
    use seaway_lab::scenario::Outlet::{Tun as Device, Udp};
    match attach.outlet() {
        Some(Device(name)) => match Tun::open(name) {
            Ok(tun) => Ok((Outlet::Tun, tun.into())),
            Err(error) => Err(Failure::input(&format!("tun {name}: {}", explained(&error)))),
        },
        Some(Udp(address, peer)) => Ok((Outlet::Udp { peer }, session::bind(address)?.into())),
        None => Err(Failure::input(&format!("attach: {} has neither `tun` nor `udp`", attach.node))),
    }
}

/// Why the device cannot be opened, and what helps.
fn explained(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => format!("{error}; a TUN device takes root, `udp` takes no right"),
        ErrorKind::ResourceBusy => format!("{error}: the name is in use"),
        ErrorKind::NotFound => format!("/dev/net/tun: {error}; `udp` needs no device"),
        ErrorKind::InvalidInput => format!("{error}: another kind of device has the name"),
        _ => error.to_string(),
    }
}

fn note_addresses(scenario: &Scenario) {
    for Attach { node, tun, udp, .. } in &scenario.attach {
        match (tun, udp) {
            (Some(tun), _) => note(&format!("{node} is at tun {tun}")),
            (_, Some(udp)) => note(&format!("{node} is at udp {udp}")),
            _ => {}
        }
    }
}

/// A device closed, usually together with its network namespace.
fn note_closed(attach: &Attach, open: usize) {
    let Attach { node, tun, .. } = attach;
    let end = if open < 2 { ": the run ends, because fewer than two outlets are left" } else { "" };
    note(&format!("{node}: tun {} is gone{end}", tun.as_deref().unwrap_or_default()));
}

/// Waits up to [`DRAIN`] for the packets inside to leave.
fn drain(commands: &mpsc::Sender<EmulatorCommand<Network>>, waker: &Waker) {
    let (drained, waiting) = channel();
    if commands.send(EmulatorCommand::Drain(drained)).is_ok() {
        waker.wake();
        let _ = waiting.recv_timeout(DRAIN);
    }
}

/// The report of a run.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Report {
    /// The version of this form.
    schema: u32,
    /// The version of Seaway.
    seaway: &'static str,
    /// The scenario's name.
    scenario: String,
    /// The seed of all random numbers.
    seed: u64,
    /// Length of the run in real time, seconds.
    emulated_s: f64,
    /// How late it was.
    lateness: LatenessReport,
    /// Where packets came in and went out.
    attach: Vec<AttachReport>,
    /// The links, each direction apart.
    links: Vec<LinkSummary>,
    /// Packets still inside at the end.
    inside: u64,
}

/// How late the emulator was woken.
#[derive(Debug, JsonSchema, Serialize)]
struct LatenessReport {
    /// How often it was woken.
    wakes: u64,
    /// Half of the wake-ups were no later.
    p50_ms: f64,
    /// 99 in 100 were no later.
    p99_ms: f64,
    /// The latest.
    max_ms: f64,
    /// How long packets waited to be read: 99 in 100 no longer.
    read_p99_ms: f64,
    /// The longest wait.
    read_max_ms: f64,
    /// What both may be at 99 in 100.
    bound_ms: f64,
    /// False where a p99 is above the bound: the run says more of this machine than of the network.
    held: bool,
}

/// What passed through an attachment.
#[derive(Debug, JsonSchema, Serialize)]
struct AttachReport {
    /// The node of the scenario.
    node: String,
    /// The device.
    #[serde(skip_serializing_if = "Option::is_none")]
    tun: Option<String>,
    /// The address of the socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    udp: Option<String>,
    /// From outside.
    entered: Traffic,
    /// To the outside.
    left: Traffic,
    /// Packets from an unknown source, multicast, or addressed to their own outlet.
    refused: u64,
    /// Packets for a peer that has not sent anything yet.
    unclaimed: u64,
    /// Packets that the kernel refused to send.
    unsent: u64,
}

/// Packets one way.
#[derive(Debug, JsonSchema, Serialize)]
struct Traffic {
    /// IP packets.
    packets: u64,
    /// Their bytes.
    bytes: u64,
}

impl Report {
    fn of(scenario: &Scenario, bound: TimeDelta, finished: Vec<Finished>) -> Result<Self, Failure> {
        let lost = || Failure::running(&"the media thread lost its network");
        let Finished { machine, lateness, reading, unsent } = finished.into_iter().next().ok_or_else(lost)?;
        let machine: Box<dyn Any> = machine;
        let network = machine.downcast::<Emulator<Network>>().map_err(|_| lost())?;
        let attach = scenario.attach.iter().zip(network.counts()).zip(unsent);
        Ok(Self {
            schema: 1,
            seaway: seaway_report::VERSION,
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            emulated_s: network.now().since(Timestamp::ZERO).as_secs_f64(),
            lateness: LatenessReport::of(&lateness, &reading, bound),
            attach: attach
                .map(|((attach, counts), unsent)| AttachReport::of(attach, counts, unsent))
                .collect(),
            links: network.network().links(),
            inside: network.inside(),
        })
    }

    fn print(&self, json: bool) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        if json {
            serde_json::to_writer_pretty(&mut out, self)?;
            return writeln!(out);
        }
        let Self { scenario, seed, emulated_s, lateness, .. } = self;
        writeln!(out, "{scenario}, seed {seed}: {emulated_s:.1} s in real time")?;
        writeln!(out, "late by {lateness}")?;
        for AttachReport { node, entered, left, refused, unclaimed, unsent, .. } in &self.attach {
            write!(out, "{node}: {} packets in, {} out", entered.packets, left.packets)?;
            let rest = [
                (refused, "refused"),
                (unclaimed, "without a known destination"),
                (unsent, "refused by the kernel"),
            ];
            for (count, what) in rest.into_iter().filter(|(count, _)| **count > 0) {
                write!(out, ", {count} {what}")?;
            }
            writeln!(out)?;
        }
        for LinkSummary { name, utilisation, drops, marks, queue, .. } in &self.links {
            let lost = format!("{} / {} / {}", drops.queue, drops.aqm, drops.channel);
            let used = utilisation * 100.0;
            writeln!(
                out,
                "{name}: {used:.1} % used, dropped {lost} (full / managed / channel), {marks} marked, \
                 queue {:.1} packets, at most {}",
                queue.mean, queue.max
            )?;
        }
        Ok(())
    }
}

impl LatenessReport {
    fn of(lateness: &Lateness, reading: &Lateness, bound: TimeDelta) -> Self {
        let (p99, read_p99) = (lateness.percentile(0.99), reading.percentile(0.99));
        Self {
            wakes: lateness.count(),
            p50_ms: lateness.percentile(0.5).as_millis_f64(),
            p99_ms: p99.as_millis_f64(),
            max_ms: lateness.max().as_millis_f64(),
            read_p99_ms: read_p99.as_millis_f64(),
            read_max_ms: reading.max().as_millis_f64(),
            bound_ms: bound.as_millis_f64(),
            held: p99.max(read_p99) <= bound,
        }
    }
}

impl std::fmt::Display for LatenessReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { wakes, p50_ms, p99_ms, max_ms, read_p99_ms, read_max_ms, bound_ms, held } = self;
        write!(f, "p50 {p50_ms:.3} ms, p99 {p99_ms:.3} ms, at most {max_ms:.3} ms in {wakes} wake-ups; ")?;
        write!(f, "packets read late by p99 {read_p99_ms:.3} ms, at most {read_max_ms:.3} ms; ")?;
        write!(
            f,
            "the bound of {bound_ms} ms at p99 was {}",
            if *held { "held" } else { "missed: the run is void" }
        )
    }
}

impl AttachReport {
    fn of(attach: &Attach, counts: Counts, unsent: u64) -> Self {
        let Counts { entered, entered_size, left, left_size, refused, unclaimed } = counts;
        Self {
            node: attach.node.clone(),
            tun: attach.tun.clone(),
            udp: attach.udp.map(|address| address.to_string()),
            entered: Traffic { packets: entered, bytes: entered_size.as_bytes() },
            left: Traffic { packets: left, bytes: left_size.as_bytes() },
            refused,
            unclaimed,
            unsent,
        }
    }
}
