//! A scenario of one's own is a file: `seaway sim examples/ferry.toml`. From Rust it is read and run like this.
use seaway_lab::scenario::{Scenario, Text};
use seaway_lab::{RunOptions, run};
use std::ops::ControlFlow;

pub(crate) fn main() {
    let text = Text::alone("ferry.toml", include_str!("ferry.toml"));
    let scenario = Scenario::parse(text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    let (camera, psnr) = (&outcome.summary.flows[0], outcome.summary.flows[0].psnr_db.unwrap());
    println!("{}: {:.2} Mbit/s received", camera.name, camera.received_bps.unwrap() / 1e6);
    println!("{:.1} dB ({}), {} freezes", psnr.value, psnr.kind, camera.freezes.unwrap().count);
    assert!(outcome.summary.holds(), "what `[[expect]]` says");
}
