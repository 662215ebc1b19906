//! Logs in qlog's form: what is read of one that is cut off was in the whole one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use seaway_report::qlog::Log;

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, file) = input;
    // What is damaged may have begun with a record.
    let Some(whole) = Log::read(file).ok().filter(|log| log.damaged == 0) else { return };
    if let Ok(part) = Log::read(&file[..file.len().min(usize::from(cut))]) {
        assert_eq!(part.header, whole.header);
        assert!(whole.events.starts_with(&part.events));
    }
});
