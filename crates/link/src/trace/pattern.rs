//! JSON patterns of the AlphaRTC challenge's gym: durations in ms with capacities in kbit/s.

use super::rows::Rows;
use crate::capacity::Schedule;
use crate::error::Error;
use seaway_units::TimeDelta;
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    uplink: Option<Direction>,
    downlink: Option<Direction>,
}

#[derive(Deserialize, Default)]
struct Direction {
    #[serde(default)]
    trace_pattern: Vec<Piece>,
}

#[derive(Deserialize)]
struct Piece {
    duration: f64,
    capacity: f64,
}

pub(super) fn parse(text: &str, series: Option<&str>, repeats: bool) -> Result<Schedule, Error> {
    let file: File = serde_json::from_str(text)
        .map_err(|error| Error::trace(error.line(), error, "a JSON trace pattern"))?;
    let direction = match series {
        None | Some("uplink") => file.uplink,
        Some("downlink") => file.downlink,
        Some(other) => return Err(Error::config("trace.series", other, "uplink or downlink")),
    };
    let pieces = direction.unwrap_or_default().trace_pattern;
    let mut rows = Rows::default();
    let mut secs = 0.0;
    for piece in &pieces {
        rows.push(1, secs, piece.capacity * 1e3)?;
        if piece.duration.is_nan() || piece.duration <= 0.0 {
            return Err(Error::trace(1, format!("duration {}", piece.duration), "a duration above zero"));
        }
        secs += piece.duration / 1e3;
    }
    let last = pieces.last().map(|piece| TimeDelta::from_secs_f64(piece.duration / 1e3));
    rows.schedule(last, repeats)
}
