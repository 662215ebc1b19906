//! Two columns: seconds and Mbit/s. Lumos5G, the HSDPA commutes, Solis and many others.

use super::rows::{LONGEST_SECS, Rows};
use super::{lines, quoted};
use crate::capacity::Schedule;
use crate::error::Error;
use crate::loss::RecordedLoss;
use seaway_units::{Probability, TimeDelta};

pub(super) fn parse(text: &str, repeats: bool) -> Result<Schedule, Error> {
    let mut rows = Rows::default();
    for (line, row) in lines(text) {
        let (secs, mbps) = two_numbers(row)
            .ok_or_else(|| Error::trace(line, quoted(row), "two numbers: seconds and Mbit/s"))?;
        rows.push(line, secs, mbps * 1e6)?;
    }
    rows.schedule(None, repeats)
}

/// The same with loss ratios in the second column. Times rise from row to row; the last row holds as long as the one
/// before it, a second if there is only one.
pub(super) fn parse_loss(text: &str, repeats: bool) -> Result<RecordedLoss, Error> {
    let mut steps: Vec<(TimeDelta, Probability)> = Vec::new();
    let mut start = None;
    for (line, row) in lines(text) {
        let expected = "two numbers: seconds, rising within a year, and a ratio from 0 to 1";
        let wrong = || Error::trace(line, quoted(row), expected);
        let (secs, ratio) = two_numbers(row).ok_or_else(wrong)?;
        let since = secs - *start.get_or_insert(secs);
        let at = (0.0..=LONGEST_SECS)
            .contains(&since)
            .then(|| TimeDelta::from_secs_f64(since))
            .ok_or_else(wrong)?;
        if steps.last().is_some_and(|&(last, _)| at <= last) {
            return Err(wrong());
        }
        steps.push((at, Probability::new(ratio).ok_or_else(wrong)?));
    }
    let end = match steps[..] {
        [] => return Err(Error::trace(1, "no rows", "at least one")),
        [_] => TimeDelta::from_secs(1),
        [.., (before, _), (last, _)] => last + (last - before),
    };
    Ok(RecordedLoss::new(&steps, end, repeats))
}

fn two_numbers(row: &str) -> Option<(f64, f64)> {
    let mut fields = row.split_whitespace();
    let both = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    fields.next().is_none().then_some(both)
}
