//! `seawaysink`: sends the coded pictures of any encoder by a keyed session, and sets the encoder's rate.

use crate::address::{Address, Endpoint};
use crate::encoder::Encoder;
use crate::sending::{Commands, Sending};
use crate::watch::Watch;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::prelude::*;
use seaway_control::{ControlSpec, Registry};
use seaway_media::FrameRate;
use seaway_session::Limits;
use seaway_stream::Sender;
use seaway_units::{Bitrate, TimeDelta};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Bits per second, as `seaway send` has them.
const DEFAULT_MIN: u32 = 150_000;
const DEFAULT_START: u32 = 300_000;
const DEFAULT_MAX: u32 = 4_000_000;
const PROFILES: [&str; 6] =
    ["constrained-baseline", "baseline", "main", "high", "progressive-high", "constrained-high"];

static CATEGORY: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    let about = Some("Seaway's live sender");
    gst::DebugCategory::new("seawaysink", gst::DebugColorFlags::empty(), about)
});

glib::wrapper! {
    /// `seawaysink`.
    pub(crate) struct Element(ObjectSubclass<Imp>) @extends gst_base::BaseSink, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "seawaysink", gst::Rank::NONE, Element::static_type())
}

#[derive(Default)]
pub(crate) struct Imp {
    settings: Mutex<Settings>,
    /// While the element is at least ready.
    sending: Mutex<Option<Sending>>,
    encoder: Mutex<Option<Encoder>>,
    watch: Mutex<Option<Watch>>,
}

#[derive(Clone)]
struct Settings {
    address: Address,
    controller: String,
    min: u32,
    start: u32,
    max: u32,
    sets_encoder: bool,
    target: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: Address::default(),
            controller: Registry::DEFAULT.to_owned(),
            min: DEFAULT_MIN,
            start: DEFAULT_START,
            max: DEFAULT_MAX,
            sets_encoder: true,
            target: DEFAULT_START,
        }
    }
}

impl Settings {
    fn limits(&self) -> Result<Limits, String> {
        let &Self { min, start, max, .. } = self;
        if min > max {
            return Err(format!("min-bitrate {min} is above max-bitrate {max}"));
        }
        let [min, start, max] = [min, start.clamp(min, max), max].map(|bps| Bitrate::from_bps(bps.into()));
        Ok(Limits { min, start, max })
    }

    fn control(&self) -> Result<ControlSpec, String> {
        let spec: ControlSpec = self.controller.parse().map_err(|error| format!("controller: {error}"))?;
        Registry::builtin().check(&spec).map_err(|error| format!("controller: {error}"))?;
        Ok(spec)
    }
}

impl Imp {
    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sending(&self) -> MutexGuard<'_, Option<Sending>> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Result<Sending, String> {
        let settings = self.settings().clone();
        let Endpoint { address, key, insecure, latency } = settings.address.endpoint()?;
        let builder = Sender::builder(address).key(key).insecure(insecure).latency(latency);
        let builder = builder.control(settings.control()?).limits(settings.limits()?);
        let sender = builder.start().map_err(|error| error.to_string())?;
        Ok(Sending::new(sender, latency))
    }

    /// Reads the session's events and follows its commands; false once it has failed.
    fn look(&self) -> bool {
        let commands = match self.sending().as_mut().map(Sending::poll) {
            None => return false,
            Some(Ok(commands)) => commands,
            Some(Err(why)) => {
                gst::element_imp_error!(self, gst::ResourceError::Write, ["{why}"]);
                return false;
            }
        };
        self.execute(&commands);
        true
    }

    fn execute(&self, commands: &Commands) {
        if let Some(why) = &commands.warning {
            gst::element_imp_warning!(self, gst::ResourceError::Write, ["{why}"]);
        }
        if let Some(target) = commands.target {
            let bps = target.as_bps();
            self.settings().target = u32::try_from(bps).unwrap_or(u32::MAX);
            let encoder = self.encoder.lock().unwrap_or_else(PoisonError::into_inner);
            encoder.iter().for_each(|encoder| encoder.set_bitrate(bps));
            drop(encoder);
            gst::debug!(CATEGORY, imp = self, "target {bps} bit/s");
            self.obj().notify("target-bitrate");
        }
        if commands.key_frame {
            // The event of gst_video_event_new_upstream_force_key_unit.
            let request = gst::Structure::builder("GstForceKeyUnit").field("all-headers", true).build();
            let is_taken = self.obj().sink_pad().push_event(gst::event::CustomUpstream::new(request));
            gst::debug!(CATEGORY, imp = self, "key frame requested, taken: {is_taken}");
        }
    }

    /// How long ago the picture of a buffer was captured, by its timestamp.
    fn age(&self, buffer: &gst::Buffer) -> TimeDelta {
        const OLDEST: gst::ClockTime = gst::ClockTime::from_seconds(1);
        let element = self.obj();
        let segment = element.segment().downcast::<gst::ClockTime>().ok();
        let captured = segment.and_then(|segment| segment.to_running_time(buffer.pts()?));
        let age = captured.zip(element.current_running_time()).map(|(at, now)| now.saturating_sub(at));
        TimeDelta::from_nanos(age.unwrap_or(gst::ClockTime::ZERO).min(OLDEST).nseconds().cast_signed())
    }

    fn set_paused(&self, paused: bool) {
        self.sending().iter().for_each(|sending| sending.sender().set_paused(paused));
    }

    /// Passes properties to a session that runs.
    fn change(&self, name: &str) {
        let settings = self.settings().clone();
        let sending = self.sending();
        let Some(sender) = sending.as_ref().map(Sending::sender) else { return };
        let outcome = match name {
            "controller" => settings.control().map(|control| sender.set_control(control)),
            "min-bitrate" | "max-bitrate" => settings.limits().map(|limits| sender.set_limits(limits)),
            _ => Ok(()),
        };
        drop(sending);
        if let Err(why) = outcome {
            gst::element_imp_warning!(self, gst::LibraryError::Settings, ["{why}"]);
        }
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Imp {
    const NAME: &'static str = "GstSeawaySink";
    type Type = Element;
    type ParentType = gst_base::BaseSink;
}

impl ObjectImpl for Imp {
    fn constructed(&self) {
        self.parent_constructed();
        // Caps of an encoder that names no profile are taken.
        self.obj().sink_pad().set_pad_flags(gst::PadFlags::ACCEPT_INTERSECT);
    }

    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let rate = |name: &'static str, nick, blurb, default| {
                let builder = glib::ParamSpecUInt::builder(name).nick(nick).blurb(blurb);
                builder.minimum(1).maximum(u32::MAX).default_value(default)
            };
            let mut properties = Address::specifications("The receiver: rtp://host:port?key=…");
            properties.extend([
                glib::ParamSpecString::builder("controller")
                    .nick("Controller")
                    .blurb("Rate controller with its options, such as 'nada' or 'seaway(tolerate=0.1)'; `seaway list controls`")
                    .default_value(Some(Registry::DEFAULT))
                    .mutable_playing()
                    .build(),
                rate("min-bitrate", "Least bitrate", "Least rate on the wire (bit/s)", DEFAULT_MIN)
                    .mutable_playing()
                    .build(),
                rate("start-bitrate", "First bitrate", "First rate on the wire (bit/s)", DEFAULT_START)
                    .mutable_ready()
                    .build(),
                rate("max-bitrate", "Greatest bitrate", "Greatest rate on the wire (bit/s)", DEFAULT_MAX)
                    .mutable_playing()
                    .build(),
                rate(
                    "target-bitrate",
                    "Target bitrate",
                    "Rate that the encoder is to have (bit/s, without packet headers)",
                    DEFAULT_START,
                )
                .read_only()
                .build(),
                glib::ParamSpecBoolean::builder("set-encoder")
                    .nick("Set encoder")
                    .blurb("Set the rate of the encoder upstream, where it is one whose property is known")
                    .default_value(true)
                    .mutable_playing()
                    .build(),
                glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                    .nick("Statistics")
                    .blurb("Pictures, packets, octets and losses since the start")
                    .read_only()
                    .build(),
            ]);
            properties
        });
        &PROPERTIES
    }

    fn set_property(&self, _: usize, value: &glib::Value, property: &glib::ParamSpec) {
        let mut settings = self.settings();
        let rate = || value.get::<u32>().unwrap_or(DEFAULT_START);
        match property.name() {
            name if settings.address.set(name, value) => {}
            "controller" => {
                let text = value.get::<Option<String>>().ok().flatten();
                settings.controller = text.unwrap_or_else(|| Registry::DEFAULT.to_owned());
            }
            "min-bitrate" => settings.min = rate(),
            "start-bitrate" => settings.start = rate(),
            "max-bitrate" => settings.max = rate(),
            "set-encoder" => settings.sets_encoder = value.get().unwrap_or(true),
            _ => {}
        }
        drop(settings);
        self.change(property.name());
    }

    fn property(&self, _: usize, property: &glib::ParamSpec) -> glib::Value {
        if property.name() == "stats" {
            return self.sending().as_ref().map(Sending::statistics).to_value();
        }
        let settings = self.settings();
        match property.name() {
            "controller" => settings.controller.to_value(),
            "min-bitrate" => settings.min.to_value(),
            "start-bitrate" => settings.start.to_value(),
            "max-bitrate" => settings.max.to_value(),
            "set-encoder" => settings.sets_encoder.to_value(),
            "target-bitrate" => settings.target.to_value(),
            name => settings.address.get(name).unwrap_or_else(|| property.default_value().clone()),
        }
    }
}

impl GstObjectImpl for Imp {}

impl ElementImpl for Imp {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Seaway sink",
                "Sink/Network/Video",
                "Sends coded H.264 over a lossy network by an encrypted session, and sets the encoder's rate",
                "Seaway",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let (direction, presence) = (gst::PadDirection::Sink, gst::PadPresence::Always);
            let mut caps = crate::coded_caps();
            // What a receiver decodes: progressive 8-bit 4:2:0. An encoder may offer 4:4:4 first.
            caps.make_mut().set("profile", gst::List::new(PROFILES));
            vec![gst::PadTemplate::new("sink", direction, presence, &caps).expect("valid caps")]
        });
        &TEMPLATES
    }

    fn change_state(
        &self,
        change: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        match change {
            gst::StateChange::PausedToPlaying => self.set_paused(false),
            gst::StateChange::PlayingToPaused => self.set_paused(true),
            _ => {}
        }
        self.parent_change_state(change)
    }
}

impl BaseSinkImpl for Imp {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let failed = |why: String| gst::error_msg!(gst::ResourceError::OpenWrite, ["{why}"]);
        let sending = self.open().map_err(failed)?;
        *self.sending() = Some(sending);
        let element = self.obj().downgrade();
        let look = move || element.upgrade().is_some_and(|element| element.imp().look());
        let watch = Watch::start("seawaysink", look).map_err(|error| failed(error.to_string()))?;
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(watch);
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(watch);
        let sending = self.sending().take();
        let closed = sending.map_or(Ok(()), Sending::close);
        closed.map_err(|why| gst::error_msg!(gst::ResourceError::Close, ["{why}"]))
    }

    fn set_caps(&self, caps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let named = caps.structure(0).and_then(|caps| caps.get::<gst::Fraction>("framerate").ok());
        let whole = |number: i32| u32::try_from(number).unwrap_or(0);
        let frame_rate = named.and_then(|rate| FrameRate::new(whole(rate.numer()), whole(rate.denom())));
        let encoder = self
            .settings()
            .sets_encoder
            .then(|| Encoder::upstream_of(&self.obj().sink_pad().clone()))
            .flatten();
        gst::info!(CATEGORY, imp = self, "{frame_rate:?}, encoder {encoder:?}");
        *self.encoder.lock().unwrap_or_else(PoisonError::into_inner) = encoder;
        self.sending().iter_mut().for_each(|sending| sending.restart_encoder(frame_rate));
        // The first picture has the first rate.
        self.look();
        Ok(())
    }

    fn render(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let age = self.age(buffer);
        let data = buffer.map_readable().map_err(|_| gst::FlowError::Error)?;
        let mut sending = self.sending();
        let sending = sending.as_mut().ok_or(gst::FlowError::Flushing)?;
        if sending.has_failed() {
            return Err(gst::FlowError::Error);
        }
        if !sending.send(&data, age) {
            gst::warning!(CATEGORY, imp = self, "a buffer of {} octets is no access unit", data.size());
        }
        Ok(gst::FlowSuccess::Ok)
    }

    fn event(&self, event: gst::Event) -> bool {
        if event.type_() == gst::EventType::Eos
            && let Some(Err(why)) = self.sending().as_mut().map(Sending::drain)
        {
            gst::element_imp_error!(self, gst::ResourceError::Write, ["{why}"]);
            return false;
        }
        self.parent_event(event)
    }
}
