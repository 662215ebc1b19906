//! Mahimahi's format: a line is an opportunity to send, in milliseconds since the start.

use super::{lines, quoted};
use crate::error::Error;
use crate::server::Opportunities;

/// A year.
const LONGEST_MILLIS: u64 = 366 * 86_400 * 1000;

pub(super) fn parse(text: &str, repeats: bool) -> Result<Opportunities, Error> {
    let mut millis = Vec::new();
    for (line, row) in lines(text) {
        let at = row.parse::<u64>().ok().filter(|&at| at <= LONGEST_MILLIS);
        let at =
            at.ok_or_else(|| Error::trace(line, quoted(row), "whole milliseconds, all within a year"))?;
        if millis.last().is_some_and(|&last| at < last) {
            return Err(Error::trace(line, quoted(row), "a time not before the one above"));
        }
        millis.push(at);
    }
    match millis.last() {
        None | Some(0) => {
            Err(Error::trace(1, "no time above zero", "a last line above zero: the file's length"))
        }
        Some(_) => Ok(Opportunities::new(millis, repeats)),
    }
}
