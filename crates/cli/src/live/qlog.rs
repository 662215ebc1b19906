//! The qlog of a live session.

use crate::failure::Failure;
use crate::web::Live;
use seaway_report::qlog::{Data, End, Event, Qlog};
use std::fs::File;
use std::io::BufWriter;

/// Checks the name of `--qlog`.
///
/// # Errors
/// It is standard output, which has other uses.
pub(crate) fn file(name: &str) -> Result<String, &'static str> {
    if name == "-" { Err("standard output has other uses; name a file") } else { Ok(name.to_owned()) }
}

/// The log, in a file that grows with the session: what is in it stays there if the program is killed.
#[derive(Debug)]
pub(crate) struct SessionLog {
    name: String,
    log: Qlog<BufWriter<File>>,
    /// Events since the sample before the last one. Those of different threads come out of order.
    waiting: Vec<Event>,
    /// The time of the last sample, ms. No earlier event comes any more.
    settled: f64,
}

impl SessionLog {
    /// Begins a log of what `title` names.
    pub(crate) fn create(name: &str, title: &str, end: End) -> Result<Self, Failure> {
        let refused = |error: std::io::Error| Failure::input(&format!("{name}: {error}"));
        let file = File::create(name).map_err(refused)?;
        let mut log = Qlog::new(BufWriter::new(file), title, end).map_err(refused)?;
        log.flush().map_err(refused)?;
        Ok(Self { name: name.to_owned(), log, waiting: Vec::new(), settled: 0.0 })
    }

    /// Adds a message; those that answer a viewer of the page say nothing of the session.
    pub(crate) fn add(&mut self, message: &Live) -> Result<(), Failure> {
        let (seconds, data) = match message {
            Live::Sample { time, values } => (*time, Data::Values(values.clone())),
            Live::Event { time, what, because: Some(because), .. } => {
                (*time, Data::Decision { cause: what.clone(), because: because.clone() })
            }
            Live::Event { time, kind, what, because: None } => {
                (*time, Data::Event { kind: (*kind).to_owned(), what: what.clone() })
            }
            Live::Settings { .. } | Live::Error { .. } => return Ok(()),
        };
        let is_sample = matches!(data, Data::Values(_));
        let time = seconds * 1000.0;
        self.waiting.push(Event { time, group_id: None, data });
        if is_sample {
            self.write(self.settled)?;
            self.settled = time;
        }
        Ok(())
    }

    /// Writes the rest.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.write(f64::INFINITY)
    }

    /// Writes what happened until `until`, in order.
    fn write(&mut self, until: f64) -> Result<(), Failure> {
        self.waiting.sort_by(|a, b| a.time.total_cmp(&b.time));
        let count = self.waiting.partition_point(|event| event.time <= until);
        let mut events = self.waiting.drain(..count);
        let written = events.try_for_each(|event| self.log.write(&event)).and_then(|()| self.log.flush());
        written.map_err(|error| Failure::running(&format!("{}: {error}", self.name)))
    }
}
