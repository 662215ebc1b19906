//! The live messages.

use schemars::JsonSchema;
use seaway_report::Scope;
use seaway_report::live::{Because, Sample};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// The first message to a browser.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Hello {
    /// Our version.
    pub seaway: &'static str,
    /// What runs.
    pub title: String,
    /// The seed of everything random in it.
    pub seed: u64,
    /// The tracks there are: `sent`, `received`, `beside`.
    pub pictures: Vec<&'static str>,
    /// The controller of the pictures beside.
    pub beside: Option<String>,
    /// The controllers one may switch to; empty where one may not.
    pub controls: Vec<ControlName>,
    /// The networks one may switch to.
    pub networks: Vec<String>,
    /// What is in force: `control`, `network`, `min`, `max`, `latency`.
    pub settings: BTreeMap<&'static str, String>,
}

/// A controller and where it comes from.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ControlName {
    /// Its name.
    pub name: &'static str,
    /// The document it follows.
    pub source: &'static str,
}

/// A JSON line of a live session, or a message to its page. Values have the names of the report.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Live {
    /// The present values.
    Sample {
        /// Since the beginning, in seconds.
        time: f64,
        /// The values under their keys.
        #[serde(flatten)]
        values: Box<Sample>,
    },
    /// Something happened.
    Event {
        /// Since the beginning, in seconds.
        time: f64,
        /// `decision`, `setting`, or what else there is.
        kind: &'static str,
        /// In words.
        what: String,
        /// Why, at a change of the rate.
        #[serde(flatten)]
        because: Option<Because>,
    },
    /// A request was carried out: what is in force now.
    Settings {
        /// As in [`Hello::settings`].
        settings: BTreeMap<&'static str, String>,
    },
    /// A request was refused.
    Error {
        /// Why.
        text: String,
    },
}

/// A request of a viewer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Request {
    /// Change these settings.
    Set {
        /// Name and new value, as in [`Hello::settings`].
        settings: BTreeMap<String, String>,
    },
}

/// Connects the running command with the browsers.
#[derive(Debug)]
pub(super) struct Hub {
    hello: Mutex<Hello>,
    live: broadcast::Sender<String>,
    /// Settings of viewers, the last of each name.
    wanted: Mutex<BTreeMap<String, String>>,
}

impl Hub {
    /// Messages that may wait for one browser before it misses some.
    const BACKLOG: usize = 256;

    /// Names of settings that may wait.
    const MOST_WANTED: usize = 16;

    pub(super) fn new(hello: Hello) -> Self {
        let live = broadcast::Sender::new(Self::BACKLOG);
        Self { hello: Mutex::new(hello), live, wanted: Mutex::default() }
    }

    pub(super) fn send(&self, message: &Live) {
        if let Some(text) = text_of("", message) {
            // It fails without browsers, which is no error.
            let _ = self.live.send(text);
        }
    }

    pub(super) fn set_settings(&self, settings: BTreeMap<&'static str, String>) {
        lock(&self.hello).settings = settings.clone();
        self.send(&Live::Settings { settings });
    }

    pub(super) fn hello(&self) -> Option<String> {
        let mut hello = serde_json::to_value(&*lock(&self.hello)).ok()?;
        hello.as_object_mut()?.insert("metrics".into(), serde_json::to_value(Scope::Live.metrics()).ok()?);
        text_of("hello", &hello)
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<String> {
        self.live.subscribe()
    }

    /// Takes a browser's message. A setting replaces an earlier one of the same name that waits.
    ///
    /// # Errors
    /// The text for the browser where it is not a request, or too many settings wait.
    pub(super) fn request(&self, text: &str) -> Result<(), String> {
        let Request::Set { settings } =
            serde_json::from_str(text).map_err(|error| format!("not a request: {error}"))?;
        let mut wanted = lock(&self.wanted);
        let new = settings.keys().filter(|name| !wanted.contains_key(*name)).count();
        if wanted.len() + new > Self::MOST_WANTED {
            return Err("too many settings at once".to_owned());
        }
        wanted.extend(settings);
        Ok(())
    }

    /// The settings that wait.
    pub(super) fn take_wanted(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut *lock(&self.wanted))
    }
}

/// The values are consistent at any time, so a panic while one was locked does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `message` as JSON, with `kind` as its `type` unless that is empty.
fn text_of(kind: &str, message: &impl Serialize) -> Option<String> {
    let mut value = serde_json::to_value(message).ok()?;
    if !kind.is_empty() {
        value.as_object_mut()?.insert("type".into(), kind.into());
    }
    Some(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_what_the_page_expects() {
        let values = Box::new(Sample { control: "tfrc".into(), sent_bps: Some(5), ..Sample::default() });
        let sample = text_of("", &Live::Sample { time: 1.5, values }).unwrap();
        assert_eq!(sample, r#"{"type":"sample","time":1.5,"control":"tfrc","sent_bps":5}"#);
    }

    #[test]
    fn only_requests_pass() {
        let hello = Hello {
            seaway: "0",
            title: "test".into(),
            seed: 1,
            pictures: vec!["sent"],
            beside: None,
            controls: vec![],
            networks: vec![],
            settings: BTreeMap::new(),
        };
        let hub = Hub::new(hello);
        assert!(hub.hello().unwrap().contains(r#""type":"hello""#));
        hub.request(r#"{"type":"set","settings":{"control":"fixed"}}"#).unwrap();
        hub.request(r#"{"type":"set","settings":{"control":"nada","max":"1 Mbit/s"}}"#).unwrap();
        let wanted = [("control", "nada"), ("max", "1 Mbit/s")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(hub.take_wanted(), BTreeMap::from(wanted), "the last setting wins");
        assert!(hub.take_wanted().is_empty());
        let many: Vec<_> = (0..17).map(|index| format!(r#""{index}":"""#)).collect();
        assert!(hub.request(&format!(r#"{{"type":"set","settings":{{{}}}}}"#, many.join(","))).is_err());
        for wrong in ["", "{}", "[1]", r#"{"type":"set","settings":{"control":5}}"#, r#"{"type":"exec"}"#] {
            assert!(hub.request(wrong).is_err(), "{wrong}");
        }
    }
}
