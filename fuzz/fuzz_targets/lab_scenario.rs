//! Scenarios and changes to them: refused with a place and a reason, or valid.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_lab::scenario::{Override, Scenario, Text};

fuzz_target!(|input: (&str, &str)| {
    let (text, change) = input;
    let changes: Vec<Override> = change.parse().into_iter().collect();
    let read = |_: &str| Ok("0 1\n1 2\n".to_owned());
    match Scenario::parse(Text { file: "fuzz", text, read: &read }, &changes) {
        Ok(scenario) => assert!(scenario.warmup < scenario.duration),
        Err(error) => assert!(!error.message().is_empty()),
    }
});
