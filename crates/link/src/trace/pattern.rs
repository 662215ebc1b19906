//! JSON patterns of the AlphaRTC challenge's gym: durations in ms with capacities in kbit/s and loss ratios.

use super::rows::Rows;
use crate::capacity::Schedule;
use crate::error::Error;
use crate::loss::RecordedLoss;
use seaway_units::{Probability, TimeDelta};
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
    capacity: Option<f64>,
    loss: Option<f64>,
}

pub(super) fn parse(text: &str, series: Option<&str>, repeats: bool) -> Result<Schedule, Error> {
    let pieces = pieces(text, series)?;
    let mut rows = Rows::default();
    let mut secs = 0.0;
    for piece in &pieces {
        let kbps = piece.capacity.ok_or_else(|| Error::trace(1, "no capacity", "one in every piece"))?;
        rows.push(1, secs, kbps * 1e3)?;
        secs += piece.duration / 1e3;
    }
    let last = pieces.last().map(|piece| TimeDelta::from_secs_f64(piece.duration / 1e3));
    rows.schedule(last, repeats)
}

/// The same file's loss ratios.
pub(super) fn parse_loss(text: &str, series: Option<&str>, repeats: bool) -> Result<RecordedLoss, Error> {
    let mut steps = Vec::new();
    let mut at = TimeDelta::ZERO;
    for piece in pieces(text, series)? {
        let ratio = piece.loss.and_then(Probability::new);
        let ratio =
            ratio.ok_or_else(|| Error::trace(1, format!("loss {:?}", piece.loss), "a number from 0 to 1"))?;
        steps.push((at, ratio));
        at += TimeDelta::from_secs_f64(piece.duration / 1e3);
    }
    if steps.is_empty() {
        return Err(Error::trace(1, "no rows", "at least one"));
    }
    Ok(RecordedLoss::new(&steps, at, repeats))
}

fn pieces(text: &str, series: Option<&str>) -> Result<Vec<Piece>, Error> {
    let file: File = serde_json::from_str(text)
        .map_err(|error| Error::trace(error.line(), error, "a JSON trace pattern"))?;
    let direction = match series {
        None | Some("uplink") => file.uplink,
        Some("downlink") => file.downlink,
        Some(other) => return Err(Error::config("trace.series", other, "uplink or downlink")),
    };
    let pieces = direction.unwrap_or_default().trace_pattern;
    match pieces.iter().find(|piece| piece.duration.is_nan() || piece.duration <= 0.0) {
        Some(piece) => Err(Error::trace(1, format!("duration {}", piece.duration), "a duration above zero")),
        None => Ok(pieces),
    }
}
