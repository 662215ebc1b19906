//! Logs of sessions and runs in qlog's form (draft-ietf-quic-qlog-main-schema-14): a JSON text sequence (RFC 7464) of one header and events in
//! order of time, with an event schema of our own. docs/qlog.md has the events.
//!
//! ```
//! use seaway_report::qlog::{Data, End, Event, Log, Qlog};
//!
//! let mut log = Qlog::new(Vec::new(), "squeeze", End::Both)?;
//! let data = Data::Reading { name: "queue".into(), value: 12.0, unit: "packets".into() };
//! log.write(&Event { time: 100.0, group_id: Some("bottleneck".into()), data })?;
//! let octets = log.finish()?;
//! let log = Log::read(&octets).unwrap();
//! assert_eq!(log.header["title"], "squeeze");
//! assert_eq!((log.events[0]["name"].as_str(), log.damaged), (Some("seaway:reading"), 0));
//! # Ok::<(), std::io::Error>(())
//! ```

mod log;
mod page;

pub use log::{Log, NoLog};

use crate::VERSION;
use crate::live::{Because, Sample};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// Our event schema with its version. The URI has the namespace of its events, `seaway` (section 8.1 of the draft).
pub const EVENT_SCHEMA: &str = "urn:seaway:qlog:events:1";
/// The schema of a file with one trace, whose events follow it (section 5 of the draft).
const FILE_SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
/// RFC 7464 section 2.2: what each text begins with.
const RECORD_SEPARATOR: u8 = 0x1e;

/// Writes a log.
#[derive(Debug)]
pub struct Qlog<W> {
    out: W,
}

impl<W: Write> Qlog<W> {
    /// Begins a log of what `title` names.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(out: W, title: &str, end: End) -> io::Result<Self> {
        let mut log = Self { out };
        log.record(&Header {
            file_schema: FILE_SCHEMA,
            serialization_format: "application/qlog+json-seq",
            title: title.to_owned(),
            trace: Trace {
                vantage_point: VantagePoint::of(end),
                event_schemas: [EVENT_SCHEMA],
                common_fields: CommonFields {
                    time_format: "relative_to_epoch",
                    reference_time: ReferenceTime { clock_type: "monotonic", epoch: "unknown" },
                },
            },
        })?;
        Ok(log)
    }

    /// Adds an event, which is no earlier than those before it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        self.record(event)
    }

    fn record(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.out.write_all(&[RECORD_SEPARATOR])?;
        serde_json::to_writer(&mut self.out, record)?;
        self.out.write_all(b"\n")
    }

    /// Hands on what the writer holds back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The writer, flushed.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Where a log is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the sender.
    Sender,
    /// At the receiver.
    Receiver,
    /// At both: a simulation, or a session in one process.
    Both,
}

/// A record of a log: the first is the header, all others are events.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Record {
    /// What the log is.
    Header(Header),
    /// Something that happened.
    Event(Event),
}

/// What a log is.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Header {
    /// Always `urn:ietf:params:qlog:file:sequential`.
    file_schema: &'static str,
    /// Always `application/qlog+json-seq`.
    serialization_format: &'static str,
    /// The scenario, or the input or the source of a session.
    title: String,
    /// The only trace.
    trace: Trace,
}

/// The trace of a log.
#[derive(Debug, JsonSchema, Serialize)]
struct Trace {
    /// Where it was made.
    vantage_point: VantagePoint,
    /// The schemas of its events.
    event_schemas: [&'static str; 1],
    /// What holds for all events.
    common_fields: CommonFields,
}

/// Where a trace was made (section 6 of the draft).
#[derive(Debug, JsonSchema, Serialize)]
struct VantagePoint {
    /// The program and its version.
    name: String,
    /// At which end.
    #[serde(rename = "type")]
    kind: VantagePointType,
    /// Whose way "sent" is, where both ends are seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<VantagePointType>,
}

/// The end that begins a connection is the client: a sender, which calls on the address of its receiver.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum VantagePointType {
    /// The sender.
    Client,
    /// The receiver.
    Server,
    /// Both.
    Network,
}

impl VantagePoint {
    fn of(end: End) -> Self {
        let (kind, flow) = match end {
            End::Sender => (VantagePointType::Client, None),
            End::Receiver => (VantagePointType::Server, None),
            End::Both => (VantagePointType::Network, Some(VantagePointType::Client)),
        };
        Self { name: format!("seaway {VERSION}"), kind, flow }
    }
}

/// What holds for all events.
#[derive(Debug, JsonSchema, Serialize)]
struct CommonFields {
    /// Always `relative_to_epoch`.
    time_format: &'static str,
    /// When times begin.
    reference_time: ReferenceTime,
}

/// When times begin: with the session or the run.
#[derive(Debug, JsonSchema, Serialize)]
struct ReferenceTime {
    /// Always `monotonic`.
    clock_type: &'static str,
    /// Always `unknown`.
    epoch: &'static str,
}

/// Something that happened.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Event {
    /// Since the beginning, in milliseconds.
    pub time: f64,
    /// The flow or link, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// What happened: its name and its data.
    #[serde(flatten)]
    pub data: Data,
}

/// Name and data of an event.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(tag = "name", content = "data")]
pub enum Data {
    /// The values of a live session, ten times a second.
    #[serde(rename = "seaway:values")]
    Values(Box<Sample>),
    /// A reading of a simulated flow or link.
    #[serde(rename = "seaway:reading")]
    Reading {
        /// The quantity, such as `sent_rate` or `queue`.
        name: String,
        /// How much.
        value: f64,
        /// Its unit; empty for a pure number.
        unit: String,
    },
    /// A change of the rate.
    #[serde(rename = "seaway:decision")]
    Decision {
        /// In words.
        cause: String,
        /// Why.
        #[serde(flatten)]
        because: Because,
    },
    /// A simulated flow displayed a picture.
    #[serde(rename = "seaway:picture_displayed")]
    PictureDisplayed {
        /// Since its capture, in milliseconds.
        delay_ms: f64,
    },
    /// Something else of a live session.
    #[serde(rename = "seaway:event")]
    Event {
        /// `key-frame`, `freeze`, `queue`, `peer`, `receiver`, `setting`, `warning`, `stopped`, `error`.
        kind: String,
        /// In words.
        what: String,
    },
}
