//! `seaway send`: sends a clip, a camera or a coded stream live to another host.

use crate::failure::{Failure, note};
use crate::files::Output;
use crate::interrupt;
use crate::live::calls;
use crate::live::client_buffer::{self, LevelWatch};
use crate::live::input::Input;
use crate::live::keys::{self, Side};
use crate::live::lanes;
use crate::live::options::LiveOptions;
use crate::live::repair::RepairOptions;
use crate::live::report::{DelayFrom, Report};
use crate::live::server::{Destination, ServerOptions};
use crate::live::session::{self, Reports, Session};
use crate::live::settings::Settings;
use crate::live::sizes::SizesOption;
use crate::live::sound::{self, OtherEnd, Sound};
use crate::live::summary;
use crate::live::transport_output::{self, TransportOptions};
use crate::web::{ControlName, Hello};
use seaway_control::window::Window;
use seaway_control::{ControlSpec, Registry, SpecError, policy};
use seaway_media::shaped::Encapsulation;
use seaway_net::Via;
use seaway_report::qlog::End;
use seaway_session::window::WindowSenderConfig;
use seaway_session::{Format, Limits, OVERHEAD_IPV4, StreamDescription, Stripe, Transport, to_sdp};
use seaway_stream::source::ShapedSource;
use seaway_stream::{Repair, Sender, SenderBuilder};
use seaway_units::{Bitrate, DataSize, RateRange, TimeDelta};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The input: a file, a named pipe, `-`, udp://host:port, tcp://host:port, `test:1280x720@25`, or anything that FFmpeg reads if it
    /// is installed. Over the window transport a coded MPEG stream: .m2v, .mpg, .vob, .ts, or `-`
    input: String,
    /// The destination: rtp://host:port, with ?key=… as `recv` prints it, or with ?mode=listener the own address where `recv` calls, seaway+window://host:port for S002's window transport,
    /// whip+https://host/path for a media server (WHIP, RFC 9725), or udp://host:port or srt://host:port for an MPEG transport stream
    destination: Destination,
    /// The controller, such as 'tfrc' or 'fixed(rate=2 Mbit/s)'. The default is 'seaway', over the window transport 'window'
    #[arg(help_heading = "Rate and repair", long)]
    control: Option<ControlSpec>,
    /// The unit that is sent on one connection, for controllers with several, such as 'tfrc(count=4)'. A group of pictures begins with a
    /// key frame; --key-every sets how often
    #[arg(help_heading = "Rate and repair", long, value_enum, default_value_t)]
    stripe: StripeName,
    /// Use a socket for each connection of the controller, up to eight, so that the network sees separate flows
    #[arg(help_heading = "Rate and repair", long, conflicts_with = "sdp")]
    sockets: bool,
    /// The range of the rate; the default is 0.15..4Mbit/s, or up to the rate of the coded stream
    #[arg(help_heading = "Rate and repair", long, value_name = "MIN..MAX")]
    rate: Option<RateRange>,
    /// Send a coded MPEG stream and reduce its rate in the coded domain. Over RTP only the video is sent (RFC 2250). The window
    /// transport always shapes, and sends the whole stream
    #[arg(help_heading = "Rate and repair", long)]
    shape: bool,
    /// How the encoder's rate is set: 'direct' uses the rate of the controller, 'pd' keeps the send queue at a level and is the
    /// default of the window transport
    #[arg(help_heading = "Rate and repair", long, value_name = "POLICY")]
    policy: Option<ControlSpec>,
    /// The first rate, for controllers without a slow start
    #[arg(help_heading = "Rate and repair", long, value_name = "RATE")]
    start: Option<Bitrate>,
    /// Send the coded H.264 of the input (MPEG-TS, MP4, Matroska or a byte stream) unchanged. If the controller allows less,
    /// whole pictures are dropped, first those to which no other refers
    #[arg(help_heading = "Source", long)]
    copy: bool,
    /// Encode with another program: a shell command that reads Y4M on its standard input and writes H.264 to its standard output.
    /// With the input `none` it uses its own camera. $SEAWAY_TARGET is the path of a pipe with the target rate
    #[arg(help_heading = "Source", long, value_name = "COMMAND", conflicts_with = "copy")]
    encoder: Option<String>,
    /// Send no sound. The first sound track of a file or a transport stream is sent where FFmpeg is installed, Opus and AAC as they are and
    /// others coded as Opus; that of `test:…+tone` always
    #[arg(help_heading = "Source", long)]
    no_audio: bool,
    /// Send this sound with a camera, --encoder or any other input: a shell command that writes 16-bit PCM of two channels at 48 kHz to its
    /// standard output, such as 'arecord -f S16_LE -r 48000 -c 2 -t raw'
    #[arg(help_heading = "Source", long, value_name = "COMMAND", conflicts_with_all = ["no_audio", "shape"])]
    sound: Option<String>,
    /// Play the sound of --sound so much later than it comes, such as '80 ms': cameras and encoders take longer than microphones
    #[arg(help_heading = "Source", long, value_name = "TIME", requires = "sound")]
    sound_delay: Option<TimeDelta>,
    #[command(flatten)]
    sizes: SizesOption,
    /// Write a stamp with a counter and the time of day into the upper right corner of each picture (docs/stamp.md)
    #[arg(help_heading = "Source", long, conflicts_with_all = ["copy", "encoder", "shape"])]
    stamp: bool,
    /// Play the input in a loop
    #[arg(help_heading = "Source", long)]
    repeat: bool,
    /// Send a key frame at this interval, for players that cannot request one
    #[arg(help_heading = "Other players", long, value_name = "TIME")]
    key_every: Option<TimeDelta>,
    /// Send plain RTP to a player other than `recv`, and write the session description (SDP) that FFmpeg, GStreamer or VLC opens. A
    /// key frame is sent every 2 s unless --key-every is given
    #[arg(help_heading = "Other players", long, value_name = "FILE")]
    sdp: Option<String>,
    /// Send one MPEG transport stream over RTP (RFC 2250), with the pictures and the sound, to the player of --sdp
    #[arg(help_heading = "Other players", long, requires = "sdp", conflicts_with = "shape")]
    mpegts: bool,
    /// The local address, such as 0.0.0.0:5100, for players that need an address for their reports: RTCP uses the port above
    #[arg(help_heading = "Network", long, value_name = "ADDR")]
    bind: Option<SocketAddr>,
    /// The interface, such as wlan0, or local address by which packets leave. Given several times, up to eight: each is a lane with a
    /// controller of its own, a packet leaves by the lane on which it is expected to arrive first, and what a lane loses in an
    /// outage is sent again by the others
    #[arg(help_heading = "Network", long, value_name = "INTERFACE", conflicts_with_all = ["bind", "interface", "sdp", "sockets"])]
    via: Vec<Via>,
    #[command(flatten)]
    transport: TransportOptions,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    repair: RepairOptions,
    #[command(flatten)]
    options: LiveOptions,
}

const EXAMPLES: &str = "\
Examples:
  seaway send clip.mp4 'rtp://192.168.1.20:5004?key=…'        the URL that `recv` printed
  seaway send /dev/video0 rtp://192.168.1.20:5004 --key-file key
  ffmpeg -re -i clip.mp4 -c copy -f mpegts - | seaway send - rtp://127.0.0.1:5004 --copy
  seaway send clip.mp4 'rtp://0.0.0.0:5004?mode=listener'     prints the URL for a `recv` that calls, with a fresh key
  seaway send clip.mp4 'rtp://203.0.113.5:5004?key=…' --via wlan0 --via wwan0    both at once
  seaway send clip.mp4 whip+https://media.example.org/live/whip    a media server; SEAWAY_TOKEN has its token
  seaway send clip.mp4 udp://239.1.2.3:1234 --interface eth1 --insecure --rate 1..3Mbit/s    MPEG-TS for VLC, FFmpeg and others
  seaway send clip.mp4 rtp://127.0.0.1:5004 --sdp stream.sdp --control 'fixed(rate=1 Mbit/s)'

Every option may also be a variable of the environment, --latency as SEAWAY_LATENCY, or stand in the file of --config.
docs/field-guide.md has more. Exit codes: 0 done, 1 failed while running or no receiver answered, 2 wrong usage or bad input,
3 more than one in twenty of the pictures that were due did not come.";

/// The unit that is sent on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum StripeName {
    /// Packets
    #[default]
    Packet,
    /// Frames
    Frame,
    /// Groups of pictures, on the connections in turn
    Gop,
}

impl From<StripeName> for Stripe {
    fn from(name: StripeName) -> Self {
        match name {
            StripeName::Packet => Self::Packet,
            StripeName::Frame => Self::Frame,
            StripeName::Gop => Self::Gop,
        }
    }
}

/// For players that cannot request a key frame.
const PLAYER_KEY_INTERVAL: TimeDelta = TimeDelta::from_secs(2);
/// After so many seconds without an answer a message is printed.
const ANSWER_TIME: f64 = 2.0;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // Before a page is served or a file is written.
    let plan = Plan::new(arguments)?;
    interrupt::install_live()?;
    let Addressed { builder, is_keyed, to, mtu } = plan.address(arguments)?;
    let mut input = plan.open(arguments)?;
    let sound = arguments.sound(&mut input).copied(match arguments.destination {
        Destination::Transport(_) => OtherEnd::Transport,
        Destination::Receiver(_) if arguments.mpegts => OtherEnd::Transport,
        Destination::Receiver(_) => OtherEnd::Receiver,
        Destination::Server(_) => OtherEnd::Server,
    });
    sound::print_tracks(&sound, input.left_out());
    if let (Some(file), Some(to)) = (&arguments.sdp, to) {
        write_description(file, to, if arguments.mpegts { Format::Mp2t } else { input.format() })?;
    }
    let options = &arguments.options;
    // Whether the receiver has a buffer shows under a controller that answers it.
    let has_buffer = client_buffer::is_needed_by(&plan.control);
    let mut settings = Settings::new(&plan.control, plan.limits, None).with_buffer(has_buffer);
    let mut reporter =
        options.reporter(&arguments.input, End::Sender, || hello(arguments, &settings, &input))?;
    let mut runtime = session::runtime(options.pcap.as_deref())?;
    let key_log = options.keys.exporter()?;
    let builder = match arguments.bind {
        Some(local) => builder.bind(local),
        None => builder,
    };
    let (sound, copied_sound) = sound.into_source();
    let builder = builder
        .plain(arguments.sdp.is_some())
        .transport_stream(arguments.mpegts)
        .control(plan.control.clone())
        .limits(plan.limits)
        .repair(plan.repair)
        .latency(arguments.repair.latency)
        .key_interval(arguments.key_every.or(arguments.has_players().then_some(PLAYER_KEY_INTERVAL)))
        .policy(plan.policy.clone())
        .stripe(arguments.stripe.into())
        .sound(sound)
        .copied_sound(copied_sound)
        .sound_delay(arguments.sound_delay.unwrap_or(TimeDelta::ZERO))
        .sockets(arguments.sockets)
        .via(arguments.via.clone())
        .network(options.network.sockets())
        .mtu(mtu)
        .sizes(arguments.sizes.rule())
        .window(plan.is_window);
    let preview = reporter.track(0);
    let sender = match input {
        Input::Pictures(pictures) => {
            builder.pictures(pictures, arguments.repeat).stamp(arguments.stamp).preview(preview)
        }
        Input::Coded(coded) => builder.coded(coded, arguments.repeat).preview(preview),
        Input::External(command, pictures) => {
            let pictures = pictures.map(|pictures| (pictures, arguments.repeat));
            builder.external_encoder(command, pictures).preview(preview)
        }
        Input::Shaped(stream) => builder.format(Format::Mpv).source(ShapedSource::new(*stream)),
    };
    let sender = sender.start_on(&mut runtime)?;
    let clock = runtime.clock();
    let runtime = session::start(runtime)?;
    let session = Session::new(clock.now(), Some(sender), None).with_key_log(key_log);
    let mut session =
        session.with_lanes(&arguments.via).to(arguments.destination.to_string(), reports(arguments));
    let (mut is_warned, mut level) = (false, LevelWatch::new());
    let outcome = session::run(clock, options.duration, |now| {
        let flow = session.drain()?;
        if !is_warned && session.time(now) >= ANSWER_TIME {
            is_warned = true;
            if matches!(arguments.destination, Destination::Transport(_)) {
                // It is known.
            } else if is_keyed && !session.is_connected() {
                note(&unanswered_yet(&arguments.destination));
            } else if !is_keyed && !session.has_feedback() {
                note(&plan.unanswered(arguments));
            }
        }
        level.check(now, &session)?;
        reporter.serve_requests(|wanted| session.apply(now, &mut settings, wanted, |_| Ok(())));
        reporter.report(now, &mut session)?;
        Ok(flow)
    });
    if session.source_ended {
        session::run(clock, Some(plan.drain_time()), |now| {
            // Breaks as the source has ended.
            let _ = session.drain()?;
            reporter.report(now, &mut session)?;
            Ok(if session.is_drained(now) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
    }
    let end = clock.now();
    let closed = session.close();
    let lateness = runtime.close()?;
    let logged = reporter.finish();
    closed.and(outcome)?;
    logged?;
    if options.json {
        Report::new(&arguments.input, 0, &session, end, &lateness, DelayFrom::Capture).print(true)?;
    }
    session.outcome(is_keyed)?;
    note(&summary::of_sender(&session, end));
    Ok(session.missed().map_or(ExitCode::SUCCESS, |missed| missed.report()))
}

/// A sender that has its destination.
struct Addressed {
    builder: SenderBuilder,
    /// The other end must show that it is the right one before anything leaves.
    is_keyed: bool,
    /// The receiver, where it is none of a media server's.
    to: Option<SocketAddr>,
    /// The largest datagram, where it is not the usual one.
    mtu: Option<DataSize>,
}

/// What the other end reports.
const fn reports(arguments: &Arguments) -> Reports {
    match &arguments.destination {
        Destination::Transport(_) => Reports::Never,
        Destination::Receiver(_) if arguments.sdp.is_none() => Reports::Often,
        Destination::Receiver(_) | Destination::Server(_) => Reports::Seldom,
    }
}

/// That the other end is not there yet.
fn unanswered_yet(destination: &Destination) -> String {
    match destination {
        Destination::Receiver(url) if calls::is_listener(url) => "no receiver has called yet".into(),
        _ => format!("{destination} does not answer yet"),
    }
}

/// The input of an external encoder with a camera of its own.
const OWN_CAMERA: &str = "none";

/// How it is sent.
struct Plan {
    control: ControlSpec,
    limits: Limits,
    repair: Repair,
    policy: Option<ControlSpec>,
    is_window: bool,
}

impl Plan {
    /// Checks the options, of which some belong to one transport.
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let refused = |error: SpecError| Failure::input(&error);
        let is_window = matches!(&arguments.destination, Destination::Receiver(url) if url.transport() == Transport::Window);
        let named = |name: &str| ControlSpec { name: name.into(), options: Vec::new() };
        let default = if is_window { "window" } else { Registry::DEFAULT };
        let control = arguments.control.clone().unwrap_or_else(|| named(default));
        let is_foreign = reports(arguments) != Reports::Often;
        Registry::builtin().check(&control).map_err(refused)?;
        if is_foreign && client_buffer::is_needed_by(&control) {
            return Err(Failure::input(&format!(
                "{control} answers the level of the client's buffer, and a player or a media server reports none"
            )));
        }
        lanes::check(&arguments.via, &control)?;
        arguments.check_sizes()?;
        arguments.check_server()?;
        arguments.check_transport()?;
        arguments.check_listener()?;
        let uses_stun = match &arguments.destination {
            Destination::Server(_) => true,
            Destination::Receiver(url) => calls::is_listener(url) && calls::is_open(url),
            Destination::Transport(_) => false,
        };
        arguments.options.network.check_stun(uses_stun || arguments.options.web.is_some())?;
        let policy = arguments.policy.clone();
        policy.as_ref().map(policy::build).transpose().map_err(refused)?;
        if is_window {
            Window::configure(&control, WindowSenderConfig::flow(OVERHEAD_IPV4)).map_err(refused)?;
            arguments.check_window()?;
        }
        let usual = RateRange { min: Bitrate::from_kbps(150), max: Bitrate::from_mbps(4) };
        let RateRange { min, max } = arguments.rate.unwrap_or(if is_window { RateRange::ALL } else { usual });
        let start = arguments.start.unwrap_or(Bitrate::from_kbps(300)).max(min).min(max);
        let repair = arguments.repair.repair()?;
        arguments.check_sound()?;
        if matches!(arguments.destination, Destination::Transport(_)) {
            let max = transport_output::rate(arguments.rate, arguments.copy);
            let limits = Limits { min: Bitrate::ZERO, start: max, max };
            return Ok(Self { control: transport_output::control(max), limits, repair, policy, is_window });
        }
        Ok(Self { control, limits: Limits { min, start, max }, repair, policy, is_window })
    }

    fn address(&self, arguments: &Arguments) -> Result<Addressed, Failure> {
        let keys = &arguments.options.keys;
        let url = match &arguments.destination {
            Destination::Receiver(url) => url,
            Destination::Transport(url) => {
                keys.refuse_keys("a transport stream")?;
                let builder = arguments.transport.sender(url, self.limits.max, keys.insecure)?;
                let mtu = arguments.options.network.mtu_to(builder.destination())?;
                return Ok(Addressed { builder, is_keyed: false, to: None, mtu });
            }
            Destination::Server(url) => {
                keys.of_server()?;
                let server = arguments.server.server(url, &arguments.options)?;
                let builder = Sender::to_server(server)?.insecure(keys.insecure);
                let mtu = arguments.options.network.mtu_to(builder.destination())?;
                return Ok(Addressed { builder, is_keyed: true, to: None, mtu });
            }
        };
        if calls::is_listener(url) {
            let (builder, mtu) = (calls::sender(url, &arguments.options)?, arguments.options.network.mtu());
            return Ok(Addressed { builder, is_keyed: true, to: None, mtu });
        }
        let to = keys::resolve(url)?;
        let access = match self.is_window {
            true => keys.of_window(url, to),
            false => keys.of_caller(url, to, Side::Sender),
        }?;
        let is_keyed = access.key.is_some();
        if is_keyed && arguments.sdp.is_some() {
            return Err(Failure::input(&"--sdp describes plain RTP, and this session is keyed"));
        }
        let builder = Sender::builder(to).key(access.key).insecure(access.insecure);
        let mtu = if self.is_window { None } else { arguments.options.network.mtu_to(to)? };
        Ok(Addressed { builder, is_keyed, to: Some(to), mtu })
    }

    fn open(&self, arguments: &Arguments) -> Result<Input, Failure> {
        let name = &arguments.input;
        match &arguments.encoder {
            _ if self.is_window && arguments.stamp => Err(Failure::input(
                &"--stamp does not apply to seaway+window://, whose pictures are coded beforehand",
            )),
            _ if self.is_window => Input::shaped(name, Encapsulation::Container, arguments.repeat),
            _ if arguments.shape => {
                note("the video goes alone; seaway+window:// carries what else the container has");
                Input::shaped(name, Encapsulation::ElementaryStream, arguments.repeat)
            }
            Some(command) if name == OWN_CAMERA => Ok(Input::External(command.clone(), None)),
            Some(command) => Input::open(name, false)?.coded_by(command),
            None => Input::open(name, arguments.copy),
        }
    }

    /// How long the send queue may take to drain at the end.
    const fn drain_time(&self) -> TimeDelta {
        if self.is_window { TimeDelta::from_secs(20) } else { TimeDelta::from_millis(500) }
    }

    /// What is wrong where nothing comes back, and what helps.
    fn unanswered(&self, arguments: &Arguments) -> String {
        let what = format!("nothing comes back from {}", arguments.destination);
        match (self.is_window, &arguments.sdp) {
            (true, _) => format!("{what}: is a recv with the same URL there?"),
            (false, Some(_)) => format!(
                "{what}, so the rate stays low: let the player send reports to this host (--bind sets the port, RTCP has the one \
                 above), or choose a rate by --control 'fixed(rate=…)'; FFmpeg sends none"
            ),
            (false, None) => {
                format!("{what}, so the rate stays low: is a recv there? Another player needs --sdp")
            }
        }
    }
}

impl Arguments {
    /// The sound that is sent with `input`.
    fn sound(&self, input: &mut Input) -> Sound {
        if let Some(command) = &self.sound {
            return Sound::of_command(command);
        }
        let why = match input {
            _ if self.no_audio => "--no-audio",
            Input::External(..) => "--encoder has no sound of its own: --sound gives it",
            Input::Shaped(_) => return Sound::None,
            _ if self.sdp.is_some() && !self.mpegts => {
                "--sdp describes the pictures alone, unless --mpegts is given"
            }
            _ => return Sound::open(&self.input, input),
        };
        Sound::LeftOut(why.into())
    }

    fn check_sound(&self) -> Result<(), Failure> {
        const MOST: TimeDelta = TimeDelta::from_secs(2);
        if self.sound.is_some() && self.sdp.is_some() && !self.mpegts {
            return Err(Failure::input(
                &"--sound with --sdp needs --mpegts: the description has the pictures alone",
            ));
        }
        match self.sound_delay {
            Some(delay) if delay < TimeDelta::ZERO || delay > MOST => {
                Err(Failure::input(&format!("--sound-delay {delay}: expected 0 s to {MOST}")))
            }
            _ => Ok(()),
        }
    }

    /// The other end is a player of others, which cannot request a key frame.
    const fn has_players(&self) -> bool {
        self.sdp.is_some() || matches!(self.destination, Destination::Transport(_))
    }

    /// Pictures that are coded elsewhere keep their size.
    fn check_sizes(&self) -> Result<(), Failure> {
        let is_coded = self.copy || self.shape || self.encoder.is_some();
        match self.sizes.is_given() && is_coded {
            true => Err(Failure::input(&"--sizes is for pictures that are coded here")),
            false => Ok(()),
        }
    }

    /// Options that a media server has no use for, and those that it alone has.
    fn check_server(&self) -> Result<(), Failure> {
        if !matches!(self.destination, Destination::Server(_)) {
            return self.server.check_unused();
        }
        let given = [
            (self.sdp.is_some(), "--sdp"),
            (self.shape, "--shape"),
            (self.sockets, "--sockets"),
            (!self.via.is_empty(), "--via"),
            (self.stripe != StripeName::default(), "--stripe"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(Failure::input(&format!("{option} does not apply to a media server"))),
            None => Ok(()),
        }
    }

    /// Options that have no use where receivers call.
    fn check_listener(&self) -> Result<(), Failure> {
        let Destination::Receiver(url) = &self.destination else { return Ok(()) };
        let given = [
            (self.sdp.is_some(), "--sdp"),
            (self.sockets, "--sockets"),
            (!self.via.is_empty(), "--via"),
            (self.bind.is_some(), "--bind"),
        ];
        if calls::is_listener(url) { calls::refuse(url, &given) } else { Ok(()) }
    }

    /// Options that a transport stream has no use for, and those that it alone has.
    fn check_transport(&self) -> Result<(), Failure> {
        let Destination::Transport(url) = &self.destination else { return self.transport.check_unused() };
        let given = [
            (self.control.is_some(), "--control"),
            (self.policy.is_some(), "--policy"),
            (self.start.is_some(), "--start"),
            (self.sdp.is_some(), "--sdp"),
            (self.shape, "--shape"),
            (self.sockets, "--sockets"),
            (!self.via.is_empty(), "--via"),
            (self.stripe != StripeName::default(), "--stripe"),
            (self.bind.is_some() && url.is_relayed(), "--bind"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => {
                Err(Failure::input(&format!("{option} does not apply to {url}, a transport stream")))
            }
            None if url.is_relayed() => self.options.network.check_relay(),
            None => Ok(()),
        }
    }

    /// Options that the window transport has no use for.
    fn check_window(&self) -> Result<(), Failure> {
        let given = [
            (self.sdp.is_some(), "--sdp"),
            (self.key_every.is_some(), "--key-every"),
            (self.start.is_some(), "--start"),
            (self.copy, "--copy"),
            (self.no_audio, "--no-audio"),
            (self.sound.is_some(), "--sound"),
            (self.encoder.is_some(), "--encoder"),
            (self.sizes.is_given(), "--sizes"),
            (self.sockets, "--sockets"),
            (self.via.len() > 1, "--via given twice"),
            (self.stripe != StripeName::default(), "--stripe"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(Failure::input(&format!("{option} does not apply to seaway+window://"))),
            None => self.options.network.check_window(),
        }
    }
}

fn hello(arguments: &Arguments, settings: &Settings, input: &Input) -> Hello {
    let registry = Registry::builtin();
    let names =
        registry.controllers().iter().map(|info| ControlName { name: info.name, source: info.source });
    Hello {
        seaway: seaway_report::VERSION,
        title: arguments.input.clone(),
        seed: 0,
        pictures: if !matches!(input, Input::Shaped(_)) { vec!["sent"] } else { Vec::new() },
        beside: None,
        controls: names.collect(),
        networks: Vec::new(),
        settings: settings.values().clone(),
    }
}

/// Writes the session description by which a player at the destination receives the stream.
fn write_description(file: &str, to: SocketAddr, format: Format) -> Result<(), Failure> {
    let text = to_sdp(&[StreamDescription::video(format)], to);
    let mut sink = Output::create(file)?;
    sink.put(text.as_bytes())?;
    sink.finish()
}
