//! A run as a qlog.

use crate::decisions::because;
use crate::run::Outcome;
use seaway_report::qlog::{Data, End, Event, Qlog};
use seaway_units::Timestamp;
use std::io::{self, Write};

/// Writes the time series, the changes of rates and the displayed pictures of a run, which has them where series were requested.
///
/// # Errors
/// Those of the writer.
pub fn write<W: Write>(outcome: &Outcome, out: W) -> io::Result<W> {
    let mut log = Qlog::new(out, &outcome.summary.scenario, End::Both)?;
    let mut events = events(outcome);
    events.sort_by_key(|(at, _)| *at);
    for (_, event) in &events {
        log.write(event)?;
    }
    log.finish()
}

fn events(outcome: &Outcome) -> Vec<(Timestamp, Event)> {
    let event = |at: Timestamp, group: &str, data| {
        let time = (at - Timestamp::ZERO).as_millis_f64();
        (at, Event { time, group_id: Some(group.to_owned()), data })
    };
    let mut events = Vec::new();
    for (flow, decisions) in &outcome.decisions {
        events.extend(decisions.iter().map(|decision| {
            let data = Data::Decision { cause: decision.cause.to_owned(), because: because(decision) };
            event(decision.at, flow, data)
        }));
    }
    for (flow, shown) in &outcome.shown {
        events.extend(shown.iter().map(|frame| {
            let delay_ms = (frame.displayed - frame.captured).as_millis_f64();
            event(frame.displayed, flow, Data::PictureDisplayed { delay_ms })
        }));
    }
    events.extend(outcome.series.readings().map(|reading| {
        let (name, unit) = (reading.name.to_owned(), reading.unit.to_owned());
        event(reading.at, reading.flow, Data::Reading { name, value: reading.value, unit })
    }));
    events
}
