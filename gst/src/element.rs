//! The element: pads, properties and the task that lets packets go.

use crate::estimate::{Estimate, Reported};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use seaway_control::Registry;
use seaway_session::Limits;
use seaway_units::{Bitrate, DataSize, RemoteTimestamp, Timestamp};
use std::collections::VecDeque;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bits per second, as `rtpgccbwe` has them.
const DEFAULT_MIN: u32 = 1000;
const DEFAULT_START: u32 = 2_048_000;
const DEFAULT_MAX: u32 = 8_192_000;
/// The task looks so often, whatever is due.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

static CATEGORY: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    let about = Some("Seaway's rate controllers");
    gst::DebugCategory::new("seawaybwe", gst::DebugColorFlags::empty(), about)
});

glib::wrapper! {
    /// `seawaybwe`.
    pub(crate) struct Element(ObjectSubclass<Imp>) @extends gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    // Rank none: a player that picks elements by itself has no use for it.
    gst::Element::register(Some(plugin), "seawaybwe", gst::Rank::NONE, Element::static_type())
}

#[derive(Debug)]
pub(crate) struct Imp {
    sink: gst::Pad,
    source: gst::Pad,
    clock: gst::Clock,
    settings: Mutex<Settings>,
    state: Mutex<State>,
    /// The state has changed.
    changed: Condvar,
}

#[derive(Debug, Clone)]
struct Settings {
    controller: String,
    min: u32,
    /// The first rate, then the present one.
    rate: u32,
    max: u32,
}

#[derive(Debug)]
struct State {
    /// While the pads are active.
    estimate: Option<Estimate>,
    /// In their order; packets are those that wait in `estimate`.
    queue: VecDeque<Item>,
    /// What became of the last packet.
    flow: Result<gst::FlowSuccess, gst::FlowError>,
}

#[derive(Debug)]
enum Item {
    Packet(gst::Buffer),
    Event(gst::Event),
}

impl Imp {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.clock.time().nseconds())
    }

    /// The controller as it is set.
    fn estimate(&self) -> Result<Estimate, String> {
        let Settings { controller, min, rate, max } = self.settings().clone();
        if min > max {
            return Err(format!("min-bitrate {min} is above max-bitrate {max}"));
        }
        let bitrate = |bps: u32| Bitrate::from_bps(bps.into());
        let start = bitrate(rate.clamp(min, max));
        Estimate::new(&controller, Limits { min: bitrate(min), start, max: bitrate(max) })
    }

    fn chain(&self, buffer: gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let now = self.now();
        let mut state = self.state();
        state.flow?;
        let estimate = state.estimate.as_mut().ok_or(gst::FlowError::Flushing)?;
        estimate.on_packet(now, buffer.size(), has_marker(&buffer));
        state.queue.push_back(Item::Packet(buffer));
        self.changed.notify_one();
        Ok(gst::FlowSuccess::Ok)
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if event.type_() == gst::EventType::FlushStart {
            let mut state = self.state();
            state.queue.clear();
            state.flow = Err(gst::FlowError::Flushing);
            drop(state);
            return self.source.push_event(event);
        }
        if event.type_() == gst::EventType::FlushStop {
            let fresh = self.estimate().ok();
            let mut state = self.state();
            state.estimate = fresh;
            state.flow = Ok(gst::FlowSuccess::Ok);
            drop(state);
            return self.source.push_event(event);
        }
        if !event.is_serialized() {
            return self.source.push_event(event);
        }
        // Behind the packets that came before it.
        self.state().queue.push_back(Item::Event(event));
        self.changed.notify_one();
        true
    }

    fn source_event(&self, event: gst::Event) -> bool {
        if let Some(structure) = event.structure().filter(|structure| structure.name() == "RTPTWCCPackets") {
            let now = self.now();
            let reported = reported(structure);
            let mut state = self.state();
            if let Some(estimate) = state.estimate.as_mut().filter(|_| !reported.is_empty()) {
                estimate.on_report(now, &reported);
            }
            drop(state);
            self.publish();
            self.changed.notify_one();
        }
        gst::Pad::event_default(&self.source, Some(&*self.obj()), event)
    }

    /// Publishes the decision, and notifies the application where the rate has changed.
    fn publish(&self) {
        let mut state = self.state();
        let Some(estimate) = state.estimate.as_mut() else { return };
        while let Some(decision) = estimate.poll_decision() {
            gst::debug!(
                CATEGORY,
                imp = self,
                "{}: {} is {} {}, threshold {}: {} to {}, {}",
                decision.cause,
                decision.signal.name,
                decision.signal.value,
                decision.signal.unit,
                decision.threshold,
                decision.before,
                decision.after,
                decision.phase
            );
        }
        let rate = u32::try_from(estimate.rate().as_bps()).unwrap_or(u32::MAX);
        drop(state);
        if std::mem::replace(&mut self.settings().rate, rate) != rate {
            self.obj().notify("estimated-bitrate");
        }
    }

    /// Lets go what is due, then sleeps until something is.
    fn work(&self) {
        let now = self.now();
        let mut state = self.state();
        let Some(estimate) = state.estimate.as_mut() else { return };
        estimate.handle_timeout(now);
        let is_packet = match state.queue.front() {
            Some(Item::Packet(_)) => true,
            Some(Item::Event(_)) => false,
            None => return self.sleep(now, state),
        };
        if is_packet && !state.estimate.as_mut().is_some_and(|estimate| estimate.poll_departure(now)) {
            return self.sleep(now, state);
        }
        let item = state.queue.pop_front();
        drop(state);
        // One at a time: the session stamps it in this call, and by that a report finds it.
        match item {
            Some(Item::Packet(buffer)) => {
                let flow = self.source.push(buffer);
                let mut state = self.state();
                if state.flow.is_ok() {
                    state.flow = flow;
                }
            }
            Some(Item::Event(event)) => {
                self.source.push_event(event);
            }
            None => {}
        }
    }

    fn sleep(&self, now: Timestamp, state: MutexGuard<'_, State>) {
        let due = state.estimate.as_ref().and_then(Estimate::poll_timeout);
        let until = due.map_or(LONGEST_SLEEP, |due| {
            Duration::from_nanos(u64::try_from(due.since(now).as_nanos()).unwrap_or(0)).min(LONGEST_SLEEP)
        });
        let (state, _) = self.changed.wait_timeout(state, until).unwrap_or_else(PoisonError::into_inner);
        drop(state);
        self.publish();
    }

    fn activate(&self, mode: gst::PadMode, active: bool) -> Result<(), gst::LoggableError> {
        if mode != gst::PadMode::Push {
            return Err(gst::loggable_error!(CATEGORY, "only push mode"));
        }
        if !active {
            let mut state = self.state();
            state.flow = Err(gst::FlowError::Flushing);
            state.queue.clear();
            drop(state);
            self.changed.notify_one();
            self.source.stop_task()?;
            self.state().estimate = None;
            return Ok(());
        }
        let estimate = self.estimate().map_err(|error| gst::loggable_error!(CATEGORY, "{error}"))?;
        *self.state() =
            State { estimate: Some(estimate), queue: VecDeque::new(), flow: Ok(gst::FlowSuccess::Ok) };
        let weak = self.obj().downgrade();
        self.source.start_task(move || {
            if let Some(element) = weak.upgrade() {
                element.imp().work();
            }
        })?;
        Ok(())
    }
}

/// The marker of the RTP header (RFC 3550 section 5.1): of video, the end of a frame.
fn has_marker(buffer: &gst::BufferRef) -> bool {
    let mut header = [0; 2];
    buffer.copy_to_slice(0, &mut header).is_ok() && header[1] & 0x80 != 0
}

/// The packets of a report. One without the time at which it was sent cannot be placed.
fn reported(structure: &gst::StructureRef) -> Vec<Reported> {
    let Ok(packets) = structure.get::<glib::ValueArray>("packets") else { return Vec::new() };
    let packet = |value: &glib::Value| {
        let packet = value.get::<gst::Structure>().ok()?;
        let time = |name: &str| packet.get::<gst::ClockTime>(name).ok().map(gst::ClockTime::nseconds);
        let lost = packet.get::<bool>("lost").ok()?;
        Some(Reported {
            sent: Timestamp::from_nanos(time("local-ts")?),
            size: DataSize::from_bytes(packet.get::<u32>("size").ok()?.into()),
            arrived: if lost { None } else { Some(RemoteTimestamp::from_nanos(time("remote-ts")?)) },
        })
    };
    packets.iter().filter_map(packet).collect()
}

#[glib::object_subclass]
impl ObjectSubclass for Imp {
    const NAME: &'static str = "GstSeawayBwe";
    type Type = Element;
    type ParentType = gst::Element;

    fn with_class(class: &Self::Class) -> Self {
        let template = |name| class.pad_template(name).expect("pad_templates has it");
        let sink = gst::Pad::builder_from_template(&template("sink"))
            .chain_function(|_, parent, buffer| {
                Self::catch_panic_pad_function(parent, || Err(gst::FlowError::Error), |imp| imp.chain(buffer))
            })
            .event_function(|_, parent, event| {
                Self::catch_panic_pad_function(parent, || false, |imp| imp.sink_event(event))
            })
            .flags(gst::PadFlags::PROXY_CAPS | gst::PadFlags::PROXY_ALLOCATION)
            .build();
        let source = gst::Pad::builder_from_template(&template("src"))
            .event_function(|_, parent, event| {
                Self::catch_panic_pad_function(parent, || false, |imp| imp.source_event(event))
            })
            .activatemode_function(|_, parent, mode, active| {
                let panicked = || Err(gst::loggable_error!(CATEGORY, "panic while a pad was activated"));
                Self::catch_panic_pad_function(parent, panicked, |imp| imp.activate(mode, active))
            })
            .flags(gst::PadFlags::PROXY_CAPS | gst::PadFlags::PROXY_ALLOCATION)
            .build();
        Self {
            sink,
            source,
            clock: gst::SystemClock::obtain(),
            settings: Mutex::new(Settings {
                controller: Registry::DEFAULT.to_owned(),
                min: DEFAULT_MIN,
                rate: DEFAULT_START,
                max: DEFAULT_MAX,
            }),
            state: Mutex::new(State {
                estimate: None,
                queue: VecDeque::new(),
                flow: Err(gst::FlowError::Flushing),
            }),
            changed: Condvar::new(),
        }
    }
}

impl ObjectImpl for Imp {
    fn constructed(&self) {
        self.parent_constructed();
        for pad in [&self.sink, &self.source] {
            self.obj().add_pad(pad).expect("a new element has no pad of that name");
        }
    }

    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let rate = |name: &'static str, nick, blurb, default| {
                glib::ParamSpecUInt::builder(name)
                    .nick(nick)
                    .blurb(blurb)
                    .minimum(1)
                    .maximum(u32::MAX)
                    .default_value(default)
                    .mutable_ready()
                    .build()
            };
            vec![
                rate(
                    "estimated-bitrate",
                    "Estimated bitrate",
                    "Rate that media and repair may use together (bit/s, with IP and UDP headers); set before the start, the first",
                    DEFAULT_START,
                ),
                rate("min-bitrate", "Least bitrate", "Least rate that is estimated (bit/s)", DEFAULT_MIN),
                rate("max-bitrate", "Greatest bitrate", "Greatest rate that is estimated (bit/s)", DEFAULT_MAX),
                glib::ParamSpecString::builder("controller")
                    .nick("Controller")
                    .blurb("Rate controller with its options, such as 'nada' or 'seaway(weight=2)'; `seaway list controls`")
                    .default_value(Some(Registry::DEFAULT))
                    .mutable_ready()
                    .build(),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _: usize, value: &glib::Value, property: &glib::ParamSpec) {
        let mut settings = self.settings();
        let rate = || value.get::<u32>().unwrap_or(DEFAULT_START);
        match property.name() {
            "estimated-bitrate" => settings.rate = rate(),
            "min-bitrate" => settings.min = rate(),
            "max-bitrate" => settings.max = rate(),
            _ => {
                let text = value.get::<Option<String>>().ok().flatten();
                settings.controller = text.unwrap_or_else(|| Registry::DEFAULT.to_owned());
            }
        }
    }

    fn property(&self, _: usize, property: &glib::ParamSpec) -> glib::Value {
        let settings = self.settings();
        match property.name() {
            "estimated-bitrate" => settings.rate.to_value(),
            "min-bitrate" => settings.min.to_value(),
            "max-bitrate" => settings.max.to_value(),
            _ => settings.controller.to_value(),
        }
    }
}

impl GstObjectImpl for Imp {}

impl ElementImpl for Imp {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Seaway bandwidth estimator",
                "Network/WebRTC/RTP/Filter",
                "Runs a rate controller on transport-wide feedback: paces RTP and estimates the bit rate",
                "Seaway",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = gst::Caps::new_empty_simple("application/x-rtp");
            let template = |name, direction| {
                gst::PadTemplate::new(name, direction, gst::PadPresence::Always, &caps).expect("valid caps")
            };
            vec![template("sink", gst::PadDirection::Sink), template("src", gst::PadDirection::Src)]
        });
        &TEMPLATES
    }

    fn change_state(
        &self,
        change: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        if change == gst::StateChange::NullToReady
            && let Err(error) = self.estimate()
        {
            gst::element_imp_error!(self, gst::LibraryError::Settings, ["{error}"]);
            return Err(gst::StateChangeError);
        }
        self.parent_change_state(change)
    }
}
