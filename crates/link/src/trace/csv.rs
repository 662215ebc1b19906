//! A heading, a `Timestamp` column of the form `2020.02.13_13.57.29`, rates in kbit/s (Raca et al., MMSys 2020).

use super::rows::Rows;
use super::{lines, quoted};
use crate::capacity::Schedule;
use crate::error::Error;
use seaway_units::TimeDelta;

const TIME: &str = "Timestamp";
const USUAL: &str = "DL_bitrate";

pub(super) fn parse(text: &str, series: Option<&str>, repeats: bool) -> Result<Schedule, Error> {
    let mut lines = lines(text);
    let Some((line, heading)) = lines.next() else { return Err(Error::trace(1, "nothing", "a heading")) };
    let column = |name: &str| {
        heading
            .split(',')
            .position(|column| column.trim() == name)
            .ok_or_else(|| Error::trace(line, quoted(heading), format!("a column {name}")))
    };
    let (time, rate) = (column(TIME)?, column(series.unwrap_or(USUAL))?);
    let mut rows = Rows::default();
    for (line, row) in lines {
        let field = |index| row.split(',').nth(index).map(str::trim);
        let secs = field(time)
            .and_then(seconds)
            .ok_or_else(|| Error::trace(line, quoted(row), "a time such as 2020.02.13_13.57.29"))?;
        let kbps = field(rate).and_then(|field| field.parse::<f64>().ok());
        let kbps = kbps.ok_or_else(|| Error::trace(line, quoted(row), "a rate in kbit/s"))?;
        rows.push(line, secs, kbps * 1e3)?;
    }
    rows.schedule(Some(TimeDelta::from_secs(1)), repeats)
}

/// Seconds since the first of March of the year 0, in the Gregorian calendar.
fn seconds(stamp: &str) -> Option<f64> {
    let (date, time) = stamp.split_once('_')?;
    let [year, month, day] = three(date)?;
    let [hour, minute, second] = three(time)?;
    let is_valid =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    if !is_valid || year > 9999 {
        return None;
    }
    // Counted from March, the leap day comes last and months alternate regularly.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some(f64::from(days) * 86_400.0 + f64::from(hour * 3600 + minute * 60 + second))
}

fn three(text: &str) -> Option<[u32; 3]> {
    let mut fields = text.split('.').map(|field| field.parse().ok());
    let all = [fields.next()??, fields.next()??, fields.next()??];
    fields.next().is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_across_midnight_months_and_leap_days() {
        for (earlier, later, expected) in [
            ("2020.02.13_23.59.59", "2020.02.14_00.00.00", 1.0),
            ("2020.02.28_12.00.00", "2020.03.01_12.00.00", 2.0 * 86_400.0),
            ("2019.02.28_12.00.00", "2019.03.01_12.00.00", 86_400.0),
            ("2019.12.31_23.59.58", "2020.01.01_00.00.01", 3.0),
        ] {
            assert_eq!(seconds(later).unwrap() - seconds(earlier).unwrap(), expected, "{earlier}");
        }
        for wrong in
            ["", "2020.02.13", "2020.13.01_00.00.00", "2020.1.1_24.00.00", "a.b.c_d.e.f", "1.2.3.4_1.2.3"]
        {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
