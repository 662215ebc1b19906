//! Estimators of others beside ours, on the scorecard's cases: `cargo run [SEEDS] [FILE.json]`.

mod goog_cc;
mod rtc_gcc;

use seaway_control::Registry;
use seaway_lab::scorecard::{Setup, Suite};
use seaway_lab::{RunOptions, sweep};
use std::error::Error;
use std::ops::ControlFlow;

fn main() -> Result<(), Box<dyn Error>> {
    let registry = Registry::builtin().with(rtc_gcc::RTC_GCC)?.with(goog_cc::GOOG_CC)?;
    let mut arguments = std::env::args().skip(1);
    let seeds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let controls = ["gcc", "gcc(variant=draft)", "rtc-gcc", "goog-cc", "seaway"];
    let controls = controls.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    let setup = Setup::new(&registry, Some(controls), &[Suite::Rfc8867, Suite::Curves], 1, seeds)?;
    let outcomes = sweep(setup.scenarios(), RunOptions::default(), &|_| ControlFlow::Continue(()))?;
    let card = setup.finish(&outcomes);
    card.print(&mut std::io::stdout().lock())?;
    if let Some(file) = arguments.next() {
        card.write_json(std::fs::File::create(file)?)?;
    }
    Ok(())
}
