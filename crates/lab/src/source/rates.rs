//! What the tables of a clip's frames at several rates share: their lines, their heading, and where a rate lies.

use seaway_units::Bitrate;

/// The frame rate of a clip, and the rates it was coded at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rates {
    pub(super) fps: f64,
    /// Rising, above zero.
    pub(super) steps: Vec<Bitrate>,
}

/// Where a rate lies among the steps.
pub(super) enum Place {
    /// This part of the lowest.
    Below(f64),
    /// So far on the way from this step to the next, 0 to 1.
    Between(usize, f64),
    /// So many times the highest.
    Above(f64),
}

impl Rates {
    pub(super) fn place(&self, rate: Bitrate) -> Place {
        let (target, at) = (rate.as_bps_f64(), |step: usize| self.steps[step].as_bps_f64());
        match self.steps.partition_point(|&step| step <= rate) {
            0 => Place::Below(target / at(0)),
            above if above == self.steps.len() => Place::Above(target / at(above - 1)),
            above => Place::Between(above - 1, (target - at(above - 1)) / (at(above) - at(above - 1))),
        }
    }
}

/// A table as text. Lines that are empty or begin with `#` are left out; the first that is left is the heading: the
/// frame rate, the rates and, of some tables, offsets in pictures, `25 fps,300 kbit/s,800 kbit/s,+1,+4`.
pub(super) struct Table<'t, R> {
    pub(super) rates: Rates,
    /// Rising, above zero.
    pub(super) offsets: Vec<u32>,
    /// The rows, each with the number of its line.
    pub(super) rows: R,
    /// The heading's line and text.
    heading: (usize, &'t str),
}

/// Reads a table's heading.
pub(super) fn table(text: &str) -> Result<Table<'_, impl Iterator<Item = (usize, &str)>>, String> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut rows = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let heading = rows.next().ok_or("line 1: found nothing, expected a heading")?;
    let (rates, offsets) = parse_heading(heading.1).ok_or_else(|| no_heading(heading))?;
    Ok(Table { rates, offsets, rows, heading })
}

impl<R> Table<'_, R> {
    /// Whether the heading names offsets, as `expected`.
    pub(super) fn has_offsets(&self, expected: bool) -> Result<(), String> {
        if self.offsets.is_empty() == expected { Err(no_heading(self.heading)) } else { Ok(()) }
    }
}

fn no_heading((line, text): (usize, &str)) -> String {
    wrong(
        line,
        text,
        "a heading such as `25 fps,200 kbit/s,400 kbit/s`, rates rising, then offsets such as `+1,+4` where there are errors",
    )
}

fn parse_heading(heading: &str) -> Option<(Rates, Vec<u32>)> {
    let mut fields = heading.split(',').map(str::trim);
    let fps: f64 = fields.next()?.strip_suffix("fps")?.trim().parse().ok()?;
    let (offsets, steps): (Vec<&str>, Vec<&str>) = fields.partition(|field| field.starts_with('+'));
    let steps: Vec<Bitrate> = steps.iter().map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let offsets: Vec<u32> = offsets.iter().map(|field| field[1..].parse().ok()).collect::<Option<_>>()?;
    let rising = steps.is_sorted_by(|a, b| a < b) && offsets.is_sorted_by(|a, b| a < b);
    let above_zero = steps.first()? > &Bitrate::ZERO && offsets.first().is_none_or(|&first| first > 0);
    let sane = (0.1..=1000.0).contains(&fps) && steps.len() <= 64 && offsets.len() <= 64;
    (rising && above_zero && sane).then_some((Rates { fps, steps }, offsets))
}

/// What a line should have been.
pub(super) fn wrong(line: usize, found: &str, expected: &str) -> String {
    let found: String = found.chars().take(40).collect();
    format!("line {line}: found {found:?}, expected {expected}")
}
