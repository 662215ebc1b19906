//! Whole streams through the remultiplexer, checked by independent readers.

mod constant;
mod damage;
mod harness;
mod matroska;
mod program;
mod readers;
mod timing;
mod transport;

use harness::{ALL, RunConfig, keep, run};
use seaway_mpeg::container::Replacement;

#[test]
fn nothing_replaced_is_the_same_stream() {
    for input in ALL {
        for chunk in [1, 188, 4096, input.len()] {
            for delay in [0, 4] {
                let outcome = run(input, RunConfig { chunk, delay, ..RunConfig::default() }, keep);
                outcome.result.as_ref().unwrap();
                assert!(outcome.output == input, "chunk {chunk}, delay {delay}");
                assert_eq!(outcome.report.bytes_out, input.len() as u64);
            }
        }
    }
}

#[test]
fn a_replacement_that_is_the_picture_itself_changes_nothing() {
    for input in ALL {
        let outcome =
            run(input, RunConfig::default(), |picture| Replacement::Bytes(picture.unit.data.clone()));
        assert!(outcome.output == input);
    }
}
