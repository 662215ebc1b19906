//! Reading a log.

use super::{FILE_SCHEMA, RECORD_SEPARATOR};
use serde_json::Value;
use std::error::Error;
use std::fmt;

/// What was read from a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The first record.
    pub header: Value,
    /// All other records that are whole, in the order of the file.
    pub events: Vec<Value>,
    /// Records that are not whole: the last one where the program was killed.
    pub damaged: usize,
}

/// Why a file is no such log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoLog {
    /// It does not begin with a record of the qlog form.
    NoHeader,
    /// Its file schema is another one.
    OtherSchema(String),
    /// None of its events are ours.
    NoEvents,
}

impl Log {
    /// Reads the records of a file. What is damaged or cut off is counted, and the rest is kept.
    ///
    /// # Errors
    /// It is no log of this form, or has none of our events.
    pub fn read(file: &[u8]) -> Result<Self, NoLog> {
        let mut texts = file.split(|octet| *octet == RECORD_SEPARATOR);
        // A record begins with its separator: nothing stands before the first.
        if !texts.next().is_some_and(<[u8]>::is_empty) {
            return Err(NoLog::NoHeader);
        }
        let mut texts = texts.filter(|text| !text.trim_ascii().is_empty());
        let header = texts.next().and_then(record).ok_or(NoLog::NoHeader)?;
        match header["file_schema"].as_str() {
            Some(FILE_SCHEMA) => {}
            Some(other) => return Err(NoLog::OtherSchema(other.to_owned())),
            None => return Err(NoLog::NoHeader),
        }
        let mut log = Self { header, events: Vec::new(), damaged: 0 };
        for text in texts {
            match record(text).filter(is_event) {
                Some(event) => log.events.push(event),
                None => log.damaged += 1,
            }
        }
        let is_ours = |event: &Value| event["name"].as_str().is_some_and(|name| name.starts_with("seaway:"));
        if log.events.iter().any(is_ours) { Ok(log) } else { Err(NoLog::NoEvents) }
    }
}

/// A record, which is an object and thus known to be whole.
fn record(text: &[u8]) -> Option<Value> {
    serde_json::from_slice(text).ok().filter(Value::is_object)
}

/// Whether a record has what every event has (section 7 of the draft).
fn is_event(record: &Value) -> bool {
    record["time"].is_number() && record["name"].is_string() && record["data"].is_object()
}

impl fmt::Display for NoLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => f.write_str("no qlog: expected a JSON text sequence that begins with a header"),
            Self::OtherSchema(found) => {
                write!(f, "a qlog of file schema {found:?}, expected {FILE_SCHEMA:?}")
            }
            Self::NoEvents => f.write_str("a qlog without an event of the namespace `seaway`"),
        }
    }
}

impl Error for NoLog {}

#[cfg(test)]
mod tests {
    use super::super::{Data, End, Event, Qlog};
    use super::*;

    fn log() -> Vec<u8> {
        let mut log = Qlog::new(Vec::new(), "a \u{1e} b", End::Sender).unwrap();
        for (time, what) in [(1.5, "one"), (2.5, "two\n{}"), (2.5, "\u{1e}")] {
            let data = Data::Event { kind: "peer".to_owned(), what: what.to_owned() };
            log.write(&Event { time, group_id: None, data }).unwrap();
        }
        log.finish().unwrap()
    }

    #[test]
    fn cut_off_anywhere_it_keeps_the_events_before() {
        let file = log();
        let whole = Log::read(&file).unwrap();
        assert_eq!((whole.events.len(), whole.damaged), (3, 0));
        assert_eq!(whole.events[2]["data"]["what"], "\u{1e}");
        // Where each record ends, without the line feed.
        let ends: Vec<usize> =
            (1..file.len()).filter(|&at| at + 1 == file.len() || file[at + 1] == RECORD_SEPARATOR).collect();
        assert_eq!(ends.len(), 4);
        for cut in 0..=file.len() {
            let known = ends[1..].iter().filter(|&&end| end <= cut).count();
            match Log::read(&file[..cut]) {
                Ok(log) => assert_eq!(log.events, whole.events[..known], "{cut}"),
                Err(NoLog::NoHeader) => assert!(cut < ends[0], "{cut}"),
                Err(NoLog::NoEvents) => assert!(cut >= ends[0] && known == 0, "{cut}"),
                Err(other) => panic!("{cut}: {other}"),
            }
        }
    }

    #[test]
    fn what_is_damaged_is_counted() {
        let mut file = log();
        let at = file.iter().rposition(|&octet| octet == RECORD_SEPARATOR).unwrap();
        file.splice(
            at..at,
            *b"\x1e{\"time\":3,\"na\n\x1e\n\x1e7\n\x1e{\"time\":\"x\",\"name\":\"a:b\",\"data\":{}}\n",
        );
        let log = Log::read(&file).unwrap();
        assert_eq!((log.events.len(), log.damaged), (3, 3));
    }

    #[test]
    fn other_files_are_refused() {
        for (file, expected) in [
            (&b""[..], NoLog::NoHeader),
            (b"{}", NoLog::NoHeader),
            (b"\x1e[]\n", NoLog::NoHeader),
            (b"\x1e{}\n", NoLog::NoHeader),
            (b"\x1e{\"file_schema\":\"urn:x\"}\n", NoLog::OtherSchema("urn:x".to_owned())),
        ] {
            assert_eq!(Log::read(file), Err(expected));
        }
        let quic = format!(
            "\x1e{{\"file_schema\":\"{FILE_SCHEMA}\"}}\n\x1e{{\"time\":0,\"name\":\"quic:x\",\"data\":{{}}}}\n"
        );
        assert_eq!(Log::read(quic.as_bytes()), Err(NoLog::NoEvents));
    }
}
