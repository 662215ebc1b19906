//! Events of a session as messages of the page and of the JSON lines.

use crate::web::Live;
use seaway_control::{Decision, Subflow};
use seaway_lab::decisions;
use seaway_net::Via;
use seaway_session::{FeedbackKind, LaneState, ReceiverEvent, SenderEvent};
use seaway_stream::{ReceiveEvent, SendEvent};

/// The message of a sender's event, where there is one.
pub(super) fn of_sender(time: f64, event: &SendEvent, via: &[Via]) -> Option<Live> {
    let of = |kind, what| Some(self::event(time, kind, what));
    match event {
        SendEvent::Session(SenderEvent::Decision(decision)) => Some(of_decision(time, decision)),
        SendEvent::Session(SenderEvent::KeyFrameWanted { cause, .. }) => {
            of("key-frame", format!("key frame wanted: {cause:?}").to_lowercase())
        }
        SendEvent::Session(SenderEvent::FramesDropped { frames }) => {
            of("queue", format!("{frames} frames dropped from the send queue"))
        }
        SendEvent::Session(SenderEvent::FeedbackFound { kind }) => {
            of("peer", format!("the controller runs on {}", feedback_name(*kind)))
        }
        SendEvent::Session(SenderEvent::AacRefused { .. }) => {
            of("source", "the receiver does not take AAC".into())
        }
        SendEvent::Session(SenderEvent::Lane { lane, state }) => of("lane", of_lane(*lane, *state, via)?),
        SendEvent::Session(SenderEvent::PeerAppeared { .. }) => of("peer", "receiver appeared".into()),
        SendEvent::Session(SenderEvent::PeerLeft { .. }) => of("peer", "receiver left".into()),
        SendEvent::Connected(_) => of("peer", "receiver has the key".into()),
        SendEvent::Server(state) => of("peer", super::server::state_name(*state)),
        SendEvent::TurnFailed(failure) => of("peer", failure.to_string()),
        SendEvent::OtherKey => of("peer", "receiver has another key".into()),
        SendEvent::Called(from) => of("peer", format!("{from} receives")),
        SendEvent::CallerRefused(from) => of("peer", format!("{from} has another key")),
        SendEvent::Replaced => of("peer", "another sender took over".into()),
        SendEvent::RateReduced(breach, most) => {
            of("breaker", format!("{breach}: no more than {most:.2} is sent"))
        }
        SendEvent::RateRaised(Some(most)) => of("breaker", format!("no more than {most:.2} is sent")),
        SendEvent::RateRaised(None) => of("breaker", "the congestion has gone".into()),
        SendEvent::CircuitBroken(breach) => of("stopped", breach.to_string()),
        SendEvent::RelayEnded(why) => of("stopped", format!("FFmpeg has ended: {why}")),
        SendEvent::RelayDropped(count) => of("queue", format!("{count} datagrams that FFmpeg did not take")),
        SendEvent::ControlChanged(control) => of("setting", format!("controller {control}")),
        SendEvent::SoundFailed(error) => of("source", format!("the sound has ended: {error}")),
        SendEvent::SoundRefused => of("source", "the media server takes no sound".into()),
        SendEvent::SoundCodedAgain { .. } => of("source", "the sound is coded again".into()),
        SendEvent::ControlRejected(error) => Some(Live::Error { text: error.to_string() }),
        _ => None,
    }
}

/// A lane's change of state in words, where it is worth some.
pub(super) fn of_lane(lane: Subflow, state: LaneState, via: &[Via]) -> Option<String> {
    let name = via.get(usize::from(lane.0))?;
    match state {
        LaneState::Suspect => {
            Some(format!("no reports come by {name}: its packets are sent again by the others"))
        }
        LaneState::Up => Some(format!("{name} is up again")),
        LaneState::New | LaneState::Down => None,
    }
}

/// What a receiver of plain RTP reports, in words.
pub(super) const fn feedback_name(kind: FeedbackKind) -> &'static str {
    match kind {
        FeedbackKind::ReceiverReports => "receiver reports alone",
        FeedbackKind::Twcc => "transport-wide feedback",
        FeedbackKind::Ccfb => "RFC 8888 feedback",
    }
}

/// Why a transport stream is not received, which has this.
pub(super) fn without_h264(found: &str) -> String {
    format!("a transport stream comes without H.264 video: it has {found}")
}

/// The message of a receiver's event, where there is one.
pub(super) fn of_receiver(time: f64, event: &ReceiveEvent) -> Option<Live> {
    let of = |kind, what| Some(self::event(time, kind, what));
    match event {
        ReceiveEvent::Freeze(duration) => of("freeze", format!("picture frozen for {duration:.0}")),
        ReceiveEvent::Stale(age) => of("stale", format!("the picture on the screen is {age:.0} old")),
        ReceiveEvent::Fresh(duration) => of("fresh", format!("the picture was too old for {duration:.0}")),
        ReceiveEvent::Connected(_) => of("receiver", "sender has the key".into()),
        ReceiveEvent::OtherKey(from) => of("receiver", format!("{from} has another key")),
        ReceiveEvent::Refused => of("receiver", "sender has another key".into()),
        ReceiveEvent::Replaced => of("receiver", "another receiver took over".into()),
        ReceiveEvent::SinkFailed(error) => of("receiver", format!("the recording has ended: {error}")),
        ReceiveEvent::NotUnderstood(found) => of("receiver", without_h264(found)),
        ReceiveEvent::NotDecoded(codec) => of("receiver", format!("there is no decoder for {codec}")),
        ReceiveEvent::SoundFailed(error) => of("receiver", format!("the sound is left out: {error}")),
        ReceiveEvent::TurnFailed(failure) => of("receiver", failure.to_string()),
        ReceiveEvent::Server(state) => of("receiver", super::server::state_name(*state)),
        ReceiveEvent::Session(ReceiverEvent::FramesLost { frames, .. }) => {
            of("receiver", format!("frames lost: {frames}"))
        }
        ReceiveEvent::Session(ReceiverEvent::Frozen { .. }) => {
            of("receiver", "waiting for a key frame".into())
        }
        ReceiveEvent::Session(ReceiverEvent::SessionStarted(session)) => {
            of("receiver", format!("sender found, under {}", session.control))
        }
        ReceiveEvent::Session(ReceiverEvent::SessionChanged(session)) => {
            of("receiver", format!("sender now under {}", session.control))
        }
        ReceiveEvent::Session(ReceiverEvent::NotUnderstood { payload_type }) => {
            of("receiver", format!("payload type {payload_type} is not understood"))
        }
        ReceiveEvent::Session(ReceiverEvent::SessionEnded) => of("receiver", "sender gone".into()),
        _ => None,
    }
}

/// An event without a cause.
pub(super) fn event(time: f64, kind: &'static str, what: String) -> Live {
    Live::Event { time, kind, what, because: None }
}

fn of_decision(time: f64, decision: &Decision) -> Live {
    let because = Some(decisions::because(decision));
    Live::Event { time, kind: "decision", what: decision.cause.to_owned(), because }
}
