//! `seawaysrc`: receives a keyed session and gives its access units, with timestamps.

use crate::address::{Address, Endpoint};
use crate::queue::{FrameQueue, Frames, Gate, Item};
use crate::timeline::Timeline;
use crate::watch::Watch;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_src::CreateSuccess;
use gst_base::subclass::prelude::*;
use seaway_session::{Format, ReceiverEvent, SessionDescription};
use seaway_stream::{ReceiveEvent, Receiver};
use seaway_units::TimeDelta;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

static CATEGORY: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    let about = Some("Seaway's live receiver");
    gst::DebugCategory::new("seawaysrc", gst::DebugColorFlags::empty(), about)
});

glib::wrapper! {
    /// `seawaysrc`.
    pub(crate) struct Element(ObjectSubclass<Imp>) @extends gst_base::PushSrc, gst_base::BaseSrc, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "seawaysrc", gst::Rank::NONE, Element::static_type())
}

#[derive(Default)]
pub(crate) struct Imp {
    address: Mutex<Address>,
    gate: Arc<Gate>,
    /// While the element is at least paused.
    receiver: Mutex<Option<Receiver>>,
    frames: Mutex<Option<Frames>>,
    timeline: Mutex<Timeline>,
    watch: Mutex<Option<Watch>>,
    is_flushing: AtomicBool,
    given: std::sync::atomic::AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Imp {
    fn open(&self) -> Result<(), String> {
        let Endpoint { address, key, insecure, latency } = lock(&self.address).endpoint()?;
        let (queue, frames) = FrameQueue::new(self.obj().upcast_ref::<gst::Element>(), self.gate.clone());
        let end = frames.end();
        let builder = Receiver::builder(address).key(key).insecure(insecure).latency(latency).sink(queue);
        *lock(&self.receiver) = Some(builder.start().map_err(|error| error.to_string())?);
        *lock(&self.frames) = Some(frames);
        *lock(&self.timeline) = Timeline::default();
        let element = self.obj().downgrade();
        let look = move || {
            let Some(element) = element.upgrade() else { return false };
            let goes_on = element.imp().look();
            if !goes_on {
                end.send();
            }
            goes_on
        };
        let watch = Watch::start("seawaysrc", look).map_err(|error| error.to_string())?;
        *lock(&self.watch) = Some(watch);
        Ok(())
    }

    /// Reads the session's events; false at its end.
    fn look(&self) -> bool {
        let mut receiver = lock(&self.receiver);
        let Some(receiver) = receiver.as_mut() else { return false };
        let mut notes = Vec::new();
        let mut outcome = Ok(!receiver.has_failed());
        while let Some((_, event)) = receiver.poll_event() {
            match event {
                ReceiveEvent::Session(ReceiverEvent::SessionEnded) => outcome = Ok(false),
                ReceiveEvent::Session(
                    ReceiverEvent::SessionStarted(session) | ReceiverEvent::SessionChanged(session),
                ) => outcome = check(&session).map(|()| true),
                ReceiveEvent::OtherKey(from) => {
                    notes.push(format!("{from} wants to send with another key and is refused"));
                }
                _ => {}
            }
            if !matches!(outcome, Ok(true)) {
                break;
            }
        }
        notes.iter().for_each(|note| gst::warning!(CATEGORY, imp = self, "{note}"));
        if let Err(why) = &outcome {
            gst::element_imp_error!(self, gst::StreamError::WrongType, ["{why}"]);
        }
        outcome.unwrap_or(false)
    }

    fn statistics(&self) -> Option<gst::Structure> {
        let receiver = lock(&self.receiver);
        let statistics = receiver.as_ref()?.state().session.as_ref()?.statistics;
        let statistics = gst::Structure::builder("application/x-seaway-receiver-stats")
            .field("pictures", self.given.load(Ordering::Relaxed))
            .field("pictures-lost", statistics.frames.lost)
            .field("packets-received", statistics.received.packets)
            .field("bytes-received", statistics.received.size.as_bytes())
            .field("packets-repaired", statistics.repaired)
            .field("round-trip-time", statistics.rtt.map_or(0.0, TimeDelta::as_millis_f64) / 1e3)
            .build();
        Some(statistics)
    }

    /// The buffer of a picture, placed by its timestamp.
    fn buffer(&self, item: crate::queue::Frame) -> gst::Buffer {
        let arrived = item.arrived.nseconds().cast_signed();
        let at = lock(&self.timeline).place(arrived, item.timestamp).max(0);
        let mut buffer = gst::Buffer::from_slice(item.data);
        if let Some(buffer) = buffer.get_mut() {
            // Pictures of cameras are decoded in the order in which they are shown; of others the decoder finds the order.
            buffer.set_pts(gst::ClockTime::from_nseconds(at.cast_unsigned()));
            if !item.is_key {
                buffer.set_flags(gst::BufferFlags::DELTA_UNIT);
            }
            if item.is_after_gap {
                buffer.set_flags(gst::BufferFlags::DISCONT);
            }
        }
        self.given.fetch_add(1, Ordering::Relaxed);
        buffer
    }
}

/// What leaves the element is H.264.
fn check(session: &SessionDescription) -> Result<(), String> {
    match session.streams.first().map(|stream| stream.format) {
        None | Some(Format::H264) => Ok(()),
        Some(other) => Err(format!("the sender's video is {other:?}: seawaysrc gives H.264")),
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Imp {
    const NAME: &'static str = "GstSeawaySrc";
    type Type = Element;
    type ParentType = gst_base::PushSrc;
}

impl ObjectImpl for Imp {
    fn constructed(&self) {
        self.parent_constructed();
        let element = self.obj();
        element.set_live(true);
        element.set_format(gst::Format::Time);
    }

    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let what =
                "The local address: rtp://host:port?key=…, rtp://0.0.0.0:5004 for every address of this host";
            let mut properties = Address::specifications(what);
            properties.push(
                glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                    .nick("Statistics")
                    .blurb("Pictures, packets, octets and losses since the start")
                    .read_only()
                    .build(),
            );
            properties
        });
        &PROPERTIES
    }

    fn set_property(&self, _: usize, value: &glib::Value, property: &glib::ParamSpec) {
        lock(&self.address).set(property.name(), value);
    }

    fn property(&self, _: usize, property: &glib::ParamSpec) -> glib::Value {
        match property.name() {
            "stats" => self.statistics().to_value(),
            name => lock(&self.address).get(name).unwrap_or_else(|| property.default_value().clone()),
        }
    }
}

impl GstObjectImpl for Imp {}

impl ElementImpl for Imp {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Seaway source",
                "Source/Network/Video",
                "Receives H.264 over a lossy network by an encrypted session",
                "Seaway",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let (direction, presence) = (gst::PadDirection::Src, gst::PadPresence::Always);
            vec![gst::PadTemplate::new("src", direction, presence, &crate::coded_caps()).expect("valid caps")]
        });
        &TEMPLATES
    }

    fn change_state(
        &self,
        change: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        let success = self.parent_change_state(change)?;
        // Pictures of a pause are not shown after it.
        match change {
            gst::StateChange::PausedToPlaying => self.gate.open(true),
            gst::StateChange::PlayingToPaused => self.gate.open(false),
            _ => {}
        }
        Ok(success)
    }
}

impl BaseSrcImpl for Imp {
    fn start(&self) -> Result<(), gst::ErrorMessage> {
        self.open().map_err(|why| gst::error_msg!(gst::ResourceError::OpenRead, ["{why}"]))
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.gate.open(false);
        let watch = lock(&self.watch).take();
        drop(watch);
        let receiver = lock(&self.receiver).take();
        *lock(&self.frames) = None;
        let closed = receiver.map_or(Ok(None), |mut receiver| receiver.close());
        closed.map(drop).map_err(|why| gst::error_msg!(gst::ResourceError::Close, ["{why}"]))
    }

    fn is_seekable(&self) -> bool {
        false
    }

    fn unlock(&self) -> Result<(), gst::ErrorMessage> {
        self.is_flushing.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn unlock_stop(&self) -> Result<(), gst::ErrorMessage> {
        self.is_flushing.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn query(&self, query: &mut gst::QueryRef) -> bool {
        if let gst::QueryViewMut::Latency(latency) = query.view_mut() {
            latency.set(true, lock(&self.address).latency(), gst::ClockTime::NONE);
            return true;
        }
        BaseSrcImplExt::parent_query(self, query)
    }
}

impl PushSrcImpl for Imp {
    fn create(&self, _: Option<&mut gst::BufferRef>) -> Result<CreateSuccess, gst::FlowError> {
        let frames = lock(&self.frames);
        let frames = frames.as_ref().ok_or(gst::FlowError::Flushing)?;
        loop {
            if self.is_flushing.load(Ordering::Relaxed) {
                return Err(gst::FlowError::Flushing);
            }
            match frames.next() {
                Some(Item::Frame(frame)) => return Ok(CreateSuccess::NewBuffer(self.buffer(frame))),
                Some(Item::End) => return Err(gst::FlowError::Eos),
                None => {}
            }
        }
    }
}
