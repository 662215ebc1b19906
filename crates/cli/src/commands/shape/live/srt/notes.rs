//! What a link says on standard error.

use crate::failure::note;
use seaway_srt::{Event, Refusal};
use seaway_units::{TimeDelta, Timestamp};

/// Refused callers are reported so often at most.
const INTERVAL: TimeDelta = TimeDelta::from_secs(1);

/// Prints events, and none of them twice in a row.
#[derive(Debug)]
pub(super) struct Notes {
    name: String,
    last: String,
    /// When refused callers may be reported again, and how many were not.
    quiet_until: Timestamp,
    unreported: u64,
}

impl Notes {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), last: String::new(), quiet_until: Timestamp::ZERO, unreported: 0 }
    }

    /// Prints an event. Returns why the link is over.
    pub(super) fn on_event(&mut self, now: Timestamp, event: &Event) -> Option<String> {
        match event {
            Event::Connected { peer, latency, is_encrypted, stream_id } => {
                let encrypted = if *is_encrypted { ", encrypted" } else { "" };
                // What a peer has written is not printed as it is.
                let asked = stream_id.as_ref().map_or(String::new(), |id| format!(", stream id {id:?}"));
                let latency = latency.as_millis();
                self.say(format!("connected with {peer}, latency {latency} ms{encrypted}{asked}"));
            }
            Event::Disconnected { peer, cause } => self.say(format!("{peer}: {cause}")),
            Event::Unanswered => self.say("no answer; calling again".to_owned()),
            Event::Refused(refusal) if refusal.is_final() => return Some(format!("refused: {refusal}")),
            Event::Refused(refusal) => self.say(format!("refused: {refusal}; calling again")),
            Event::CallerRefused { peer, refusal } => {
                self.on_refused_caller(now, &peer.to_string(), *refusal);
            }
            _ => {}
        }
        None
    }

    fn on_refused_caller(&mut self, now: Timestamp, peer: &str, refusal: Refusal) {
        if now < self.quiet_until {
            self.unreported += 1;
            return;
        }
        let more = match self.unreported {
            0 => String::new(),
            count => format!(" (and {count} more)"),
        };
        (self.unreported, self.quiet_until) = (0, now + INTERVAL);
        let reason = match refusal {
            Refusal::BACKLOG => "there is a connection already".to_owned(),
            refusal => refusal.to_string(),
        };
        self.say(format!("caller {peer} refused: {reason}{more}"));
    }

    fn say(&mut self, text: String) {
        if text != self.last {
            note(&format!("{}: {text}", self.name));
            self.last = text;
        }
    }
}
