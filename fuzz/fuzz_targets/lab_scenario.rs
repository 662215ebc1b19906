//! Scenarios and changes to them: refused with a place and a reason, or valid. Most are those of the library with a
//! piece taken out and another put in, so that every key is reached.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_lab::library;
use seaway_lab::scenario::{Override, Scenario, Text};

/// Which scenario of the library, where the piece begins, and how long it is.
type Edit = (u8, u16, u8);

fuzz_target!(|input: (&str, &str, Option<Edit>)| {
    let (text, change, edit) = input;
    let text = edit.map_or_else(|| text.to_owned(), |edit| edited(edit, text));
    let changes: Vec<Override> = change.parse().into_iter().collect();
    let read = |_: &str| Ok("0 1\n1 2\n".to_owned());
    match Scenario::parse(Text { file: "fuzz", text: &text, read: &read }, &changes) {
        Ok(scenario) => assert!(scenario.warmup < scenario.duration),
        Err(error) => assert!(!error.message().is_empty()),
    }
});

fn edited((entry, at, length): Edit, piece: &str) -> String {
    let entries = library::entries();
    let text = entries[usize::from(entry) % entries.len()].text;
    let boundary = |wanted: usize| (0..=wanted.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    let from = boundary(usize::from(at)).unwrap_or_default();
    let to = boundary(from + usize::from(length)).unwrap_or(from);
    format!("{}{piece}{}", &text[..from], &text[to.max(from)..])
}
