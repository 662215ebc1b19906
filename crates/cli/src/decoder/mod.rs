//! The third-party decoder in a process of its own, which may do nothing but read, decode and write.
//!
//! `recv` and `demo` start `seaway decode` ([`serve()`]) and pass it access units by a socket; they read its pictures in its memory
//! ([`DecoderProcess`]). A decoder that crashes, hangs or is taken over by what it decodes costs one freeze: it is started again and
//! goes on with the next key frame.

#[cfg(target_os = "linux")]
mod confine;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "no_confinement.rs"]
mod confine;
#[cfg(unix)]
mod pictures;
#[cfg(unix)]
mod process;
#[cfg(not(unix))]
#[path = "no_process.rs"]
mod process;
#[cfg(unix)]
mod protocol;
#[cfg(unix)]
mod serve;

use crate::failure::note;
use process::DecoderProcess;
#[cfg(not(unix))]
pub(crate) use process::serve;
use seaway_stream::ReceiverBuilder;
#[cfg(unix)]
pub(crate) use serve::serve;

/// A receiver whose decoder has a process of its own, where one can be started.
pub(crate) fn confined(receiver: ReceiverBuilder) -> ReceiverBuilder {
    match DecoderProcess::start() {
        Ok(decoder) => receiver.decoder(decoder),
        Err(error) => {
            note(&format!("the decoder has no process of its own: {error}"));
            receiver
        }
    }
}
