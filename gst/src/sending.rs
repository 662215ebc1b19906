//! The session of a `seawaysink`: which pictures are sent, and what the encoder is to do.

use bytes::Bytes;
use seaway_media::FrameRate;
use seaway_media::h264::{NalType, nal_units};
use seaway_session::SenderEvent;
use seaway_stream::source::{CodedFrame, FrameControls, Thinnable, Thinning};
use seaway_stream::{FrameInput, SendEvent, Sender};
use seaway_units::{Bitrate, DataSize, TimeDelta, Timestamp};
use std::time::Duration;

/// The largest access unit, in octets.
const LARGEST: usize = 8 << 20;
/// Changes of the target that are smaller, in per cent, wait until `REPEAT`.
const STEP: u64 = 1;
const REPEAT: TimeDelta = TimeDelta::from_secs(1);
/// Where the session wants nothing for a moment the encoder goes on at this rate: none accepts zero.
const LEAST: Bitrate = Bitrate::from_kbps(30);
/// Between two requests for a key frame.
const KEY_FRAMES: TimeDelta = TimeDelta::from_millis(500);
/// After this time without an answer there is a warning.
const ANSWER: TimeDelta = TimeDelta::from_secs(2);
/// How long what waits in the send queue may take to leave at the end.
const DRAIN: TimeDelta = TimeDelta::from_millis(500);

/// A session with an encoder before it.
pub(crate) struct Sending {
    sender: Sender,
    input: FrameInput,
    began: Timestamp,
    thinning: Thinning,
    frame_rate: FrameRate,
    /// The last target that the encoder got, and when.
    target: Option<(Bitrate, Timestamp)>,
    wants_key: bool,
    requested: Option<Timestamp>,
    /// The receiver is there.
    is_answered: bool,
    is_warned: bool,
    has_failed: bool,
    sent: u64,
    left_out: u64,
}

/// What the element is to do.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// The encoder's new rate.
    pub(crate) target: Option<Bitrate>,
    pub(crate) key_frame: bool,
    pub(crate) warning: Option<String>,
}

impl Sending {
    pub(crate) fn new(sender: Sender, latency: TimeDelta) -> Self {
        let input = sender.input();
        Self {
            began: input.now(),
            sender,
            input,
            // The encoder takes some pictures until it follows the target.
            thinning: Thinning::new(latency * 2),
            frame_rate: FrameRate::USUAL,
            target: None,
            wants_key: false,
            requested: None,
            is_answered: false,
            is_warned: false,
            has_failed: false,
            sent: 0,
            left_out: 0,
        }
    }

    pub(crate) const fn sender(&self) -> &Sender {
        &self.sender
    }

    pub(crate) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Another encoder, or other pictures: its target is given again.
    pub(crate) fn restart_encoder(&mut self, frame_rate: Option<FrameRate>) {
        self.frame_rate = frame_rate.unwrap_or(FrameRate::USUAL);
        self.target = None;
    }

    /// Reads events; gives what is to be done.
    ///
    /// # Errors
    /// The session has failed: why.
    pub(crate) fn poll(&mut self) -> Result<Commands, String> {
        let warning = self.drain_events(Duration::ZERO).inspect_err(|_| self.has_failed = true)?;
        let now = self.input.now();
        let controls = self.controls();
        let target = controls.target(self.frame_rate).max(LEAST);
        let is_new = self.target.is_none_or(|(last, at)| {
            let change = last.as_bps().abs_diff(target.as_bps());
            change * 100 > last.as_bps() * STEP || change > 0 && now.since(at) >= REPEAT
        });
        if is_new {
            self.target = Some((target, now));
        }
        let may_request = self.requested.is_none_or(|last| now.since(last) >= KEY_FRAMES);
        let key_frame = self.wants_key && may_request && self.input.is_connected();
        if key_frame {
            (self.wants_key, self.requested) = (false, Some(now));
        }
        Ok(Commands {
            target: is_new.then_some(target),
            key_frame,
            warning: warning.or(self.unanswered(now)),
        })
    }

    /// Once, where nothing comes back.
    fn unanswered(&mut self, now: Timestamp) -> Option<String> {
        let is_due = !self.is_answered && !self.is_warned && now.since(self.began) >= ANSWER;
        self.is_warned |= is_due;
        is_due.then(|| "the receiver does not answer yet".to_owned())
    }

    fn controls(&mut self) -> FrameControls {
        let controls = self.input.controls();
        self.wants_key |= controls.key_frame;
        controls
    }

    /// Reads the events that come within `wait`; gives what is worth a warning.
    fn drain_events(&mut self, wait: Duration) -> Result<Option<String>, String> {
        let mut warning = None;
        while let Some((_, event)) = self.sender.next_event(wait) {
            match event {
                SendEvent::Connected(_) | SendEvent::Session(SenderEvent::PeerAppeared { .. }) => {
                    self.is_answered = true;
                }
                SendEvent::OtherKey if !self.is_answered => return Err("the receiver has another key".into()),
                SendEvent::Replaced => return Err("another sender with the same key took over".into()),
                SendEvent::CircuitBroken(breach) => {
                    return Err(format!("the transmission was stopped: {breach}"));
                }
                SendEvent::ControlRejected(error) => warning = Some(format!("controller: {error}")),
                SendEvent::RateReduced(breach, most) => {
                    warning = Some(format!("no more than {most:.2} is sent for a minute or more: {breach}"));
                }
                _ => {}
            }
        }
        Ok(warning)
    }

    /// Sends an access unit in Annex B form that was captured `age` ago, unless it would leave too late; false where it is none.
    pub(crate) fn send(&mut self, data: &[u8], age: TimeDelta) -> bool {
        let Some(picture) = picture(data) else { return false };
        if !self.input.is_connected() {
            // The receiver gets a key frame when it is there.
            self.leave_out();
            return true;
        }
        let (now, controls) = (self.input.now(), self.controls());
        let target = controls.target(self.frame_rate);
        if controls.skip {
            self.thinning.on_full_queue(target);
        }
        let before = self.thinning.thinned().until_key;
        if !self.thinning.admits(now, &picture, target) {
            self.wants_key |= self.thinning.thinned().until_key > before;
            self.leave_out();
            return true;
        }
        let interval = self.frame_rate.interval();
        let (data, target) = (Bytes::copy_from_slice(data), target.size_in(interval));
        self.input.send(now - age, CodedFrame { data, is_key: picture.is_key, target, interval });
        self.sent += 1;
        true
    }

    fn leave_out(&mut self) {
        self.left_out += 1;
        self.input.skip();
    }

    /// Waits until all has left.
    ///
    /// # Errors
    /// No receiver was there, or the session has failed before.
    pub(crate) fn drain(&mut self) -> Result<(), String> {
        let began_draining = self.input.now();
        let is_drained = |sender: &Sender| {
            let snapshot = sender.state().session.as_ref();
            snapshot.is_some_and(|snapshot| snapshot.at > began_draining && snapshot.is_drained)
        };
        while !is_drained(&self.sender) && self.input.now().since(began_draining) < DRAIN {
            self.drain_events(Duration::from_millis(5))?;
        }
        if self.is_answered { Ok(()) } else { Err("no receiver answered".into()) }
    }

    /// Ends the session.
    ///
    /// # Errors
    /// A thread failed.
    pub(crate) fn close(mut self) -> Result<(), String> {
        self.sender.close().map(drop).map_err(|error| error.to_string())
    }

    pub(crate) fn statistics(&self) -> gst::Structure {
        let state = self.sender.state();
        let statistics = state.session.as_ref().map(|session| session.statistics);
        let statistics = statistics.unwrap_or_default();
        gst::Structure::builder("application/x-seaway-sender-stats")
            .field("pictures-sent", self.sent)
            .field("pictures-left-out", self.left_out)
            .field("packets-sent", statistics.sent.packets)
            .field("bytes-sent", statistics.sent.size.as_bytes())
            .field("packets-lost", statistics.lost)
            .field("key-frame-requests", statistics.picture_losses)
            .field("round-trip-time", statistics.rtt.map_or(0.0, TimeDelta::as_millis_f64) / 1e3)
            .build()
    }
}

/// What thinning has to know of an access unit; `None` where no picture is in it.
fn picture(data: &[u8]) -> Option<Thinnable> {
    if data.len() > LARGEST {
        return None;
    }
    let slices = nal_units(data).filter_map(|unit| Some((NalType::of(unit)?, unit[0] & 0x60 != 0)));
    let mut slices = slices.filter(|(kind, _)| matches!(kind, NalType::Slice | NalType::IdrSlice)).peekable();
    slices.peek()?;
    let (mut is_key, mut is_reference) = (false, false);
    for (kind, refers) in slices {
        is_key |= kind == NalType::IdrSlice;
        is_reference |= refers;
    }
    Some(Thinnable { size: DataSize::from_bytes(data.len() as u64), is_key, is_reference, layer: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_classified_by_their_units() {
        let key = picture(&[0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 1, 0, 0, 1, 0x65, 0x88]).unwrap();
        assert!(key.is_key && key.is_reference);
        let spare = picture(&[0, 0, 1, 0x01, 0x88]).unwrap();
        assert!(!spare.is_key && !spare.is_reference);
        assert!(picture(&[0, 0, 1, 0x67, 1]).is_none(), "parameter sets alone");
        assert!(picture(b"").is_none() && picture(b"no start code").is_none());
    }
}
