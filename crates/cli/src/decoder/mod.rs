//! The third-party decoder in a process of its own, which may do nothing but read, decode and write.
//!
//! `recv` starts `seaway decode` ([`serve()`]) and passes it access units by a pipe; pictures come back by another
//! ([`DecoderProcess`]). A decoder that crashes, hangs or is taken over by what it decodes costs one freeze: it is started again and
//! goes on with the next key frame.

mod confine;
#[cfg(unix)]
mod process;
#[cfg(not(unix))]
#[path = "no_process.rs"]
mod process;
#[cfg_attr(not(unix), expect(dead_code, reason = "nothing starts the process"))]
mod protocol;
mod serve;

pub(crate) use process::DecoderProcess;
pub(crate) use serve::serve;
