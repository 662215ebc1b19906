//! Movie fragments (ISO/IEC 14496-12 section 8.8).

use super::boxes::{Fields, boxes, find};
use super::{Entry, MAX_SAMPLES};

/// Appends the samples of one track in a `moof` box. `fragment` is its position in the file, eight octets, then its
/// payload. Unreadable parts are ignored.
pub(super) fn append(fragment: &[u8], movie: &[u8], track: u32, samples: &mut Vec<Entry>) {
    let mut fields = Fields(fragment);
    let Some(start) = fields.u64() else { return };
    let extends = boxes(find(movie, &[b"mvex"]).unwrap_or_default());
    let mut extends =
        extends.filter(|(kind, _)| kind == b"trex").filter_map(|(_, trex)| Defaults::of_movie(trex));
    let defaults = extends.find(|(id, _)| *id == track).map_or(Defaults::default(), |(_, defaults)| defaults);
    for (_, payload) in boxes(fields.0).filter(|(kind, _)| kind == b"traf") {
        let _ = append_track(payload, start, track, defaults, samples);
    }
}

/// Defaults of samples.
#[derive(Debug, Clone, Copy, Default)]
struct Defaults {
    duration: u32,
    size: u32,
}

impl Defaults {
    /// `trex`: track, description, duration, size.
    fn of_movie(payload: &[u8]) -> Option<(u32, Self)> {
        let mut fields = Fields(payload);
        fields.version_and_flags()?;
        let (track, _) = (fields.u32()?, fields.u32()?);
        Some((track, Self { duration: fields.u32()?, size: fields.u32()? }))
    }
}

fn append_track(
    payload: &[u8],
    start: u64,
    track: u32,
    mut defaults: Defaults,
    samples: &mut Vec<Entry>,
) -> Option<()> {
    let mut header = Fields(find(payload, &[b"tfhd"])?);
    let (_, flags) = header.version_and_flags()?;
    if header.u32()? != track {
        return None;
    }
    let base = if flags & 0x1 != 0 { header.u64()? } else { start };
    if flags & 0x2 != 0 {
        header.u32()?;
    }
    if flags & 0x8 != 0 {
        defaults.duration = header.u32()?;
    }
    if flags & 0x10 != 0 {
        defaults.size = header.u32()?;
    }
    let mut decoded_at = match find(payload, &[b"tfdt"]).map(Fields) {
        Some(mut time) => {
            let (version, _) = time.version_and_flags()?;
            i64::try_from(time.word(version)?).ok()?
        }
        None => samples.last().map_or(0, |last| last.time),
    };
    let mut offset = base;
    for (_, run) in boxes(payload).filter(|(kind, _)| kind == b"trun") {
        append_run(run, base, defaults, &mut offset, &mut decoded_at, samples)?;
    }
    Some(())
}

fn append_run(
    run: &[u8],
    base: u64,
    defaults: Defaults,
    offset: &mut u64,
    decoded_at: &mut i64,
    samples: &mut Vec<Entry>,
) -> Option<()> {
    let mut fields = Fields(run);
    let (_, flags) = fields.version_and_flags()?;
    let count = fields.u32()?;
    if flags & 0x1 != 0 {
        *offset = base.saturating_add_signed(i64::from(fields.u32()? as i32));
    }
    if flags & 0x4 != 0 {
        fields.u32()?;
    }
    let mut field = |flag: u32, default: u32| if flags & flag != 0 { fields.u32() } else { Some(default) };
    for _ in 0..count {
        if samples.len() == MAX_SAMPLES {
            return None;
        }
        let duration = field(0x100, defaults.duration)?;
        let size = field(0x200, defaults.size)?;
        field(0x400, 0)?;
        let shift = field(0x800, 0)? as i32;
        samples.push(Entry { offset: *offset, size, time: decoded_at.saturating_add(i64::from(shift)) });
        *offset = offset.saturating_add(u64::from(size));
        *decoded_at = decoded_at.saturating_add(i64::from(duration));
    }
    Some(())
}
