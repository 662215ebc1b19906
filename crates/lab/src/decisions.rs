//! Why rates changed, as a table.

use seaway_control::Decision;
use std::io::{self, Write};

/// Writes the decisions of each flow as CSV (RFC 4180) with a header. A cause may hold a comma and is quoted.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(flows: &[(String, Vec<Decision>)], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "time,flow,cause,signal,value,unit,threshold,before_bps,after_bps,phase")?;
    for (flow, decisions) in flows {
        for Decision { at, cause, signal, threshold, before, after, phase } in decisions {
            writeln!(
                out,
                "{},{flow},\"{cause}\",{},{},{},{threshold},{},{},\"{phase}\"",
                at.as_secs_f64(),
                signal.name,
                signal.value,
                signal.unit,
                before.as_bps(),
                after.as_bps(),
            )?;
        }
    }
    Ok(())
}
