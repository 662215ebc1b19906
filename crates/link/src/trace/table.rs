//! Two columns: seconds and Mbit/s. Lumos5G, the HSDPA commutes, Solis and many others.

use super::rows::Rows;
use super::{lines, quoted};
use crate::capacity::Schedule;
use crate::error::Error;

pub(super) fn parse(text: &str, repeats: bool) -> Result<Schedule, Error> {
    let mut rows = Rows::default();
    for (line, row) in lines(text) {
        let (secs, mbps) = two_numbers(row)
            .ok_or_else(|| Error::trace(line, quoted(row), "two numbers: seconds and Mbit/s"))?;
        rows.push(line, secs, mbps * 1e6)?;
    }
    rows.schedule(None, repeats)
}

fn two_numbers(row: &str) -> Option<(f64, f64)> {
    let mut fields = row.split_whitespace();
    let both = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    fields.next().is_none().then_some(both)
}
