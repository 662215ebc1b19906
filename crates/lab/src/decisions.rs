//! Why rates changed, as a table.

use seaway_control::Decision;
use seaway_report::live::{Because, Signal};
use std::io::{self, Write};

/// Why a rate was changed, as documents have it: JSON has no infinity.
pub fn because(decision: &Decision) -> Because {
    let finite = |value: f64| value.is_finite().then_some(value);
    let Decision { signal, threshold, before, after, phase, .. } = decision;
    Because {
        signal: Signal { name: signal.name, value: finite(signal.value), unit: signal.unit },
        threshold: finite(*threshold),
        before_bps: before.as_bps(),
        after_bps: after.as_bps(),
        phase,
    }
}

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
