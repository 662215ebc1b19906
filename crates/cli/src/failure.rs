//! Why a command failed, its exit code, and messages on standard error.

use crate::status_line;
use seaway_net::webrtc::WhipError;
use std::io::ErrorKind;
use std::process::ExitCode;

/// The exit code of a run that completed but missed a threshold.
pub(crate) const MISSED: u8 = 3;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    text: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Failure {
    /// The command failed while running: exit code 1.
    pub(crate) fn running(text: &impl ToString) -> Self {
        Self { code: 1, text: text.to_string() }
    }

    /// Wrong usage or unusable input: exit code 2.
    pub(crate) fn input(text: &impl ToString) -> Self {
        Self { code: 2, text: text.to_string() }
    }

    /// Standard output cannot be written. A closed pipe is not a failure: the reader has seen enough.
    pub(crate) fn output(error: &std::io::Error) -> Self {
        let code = if error.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { 1 };
        Self { code, text: format!("standard output: {error}") }
    }

    /// Prints the message on standard error and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if self.code != 0 {
            note(&self.text);
        }
        ExitCode::from(self.code)
    }
}

impl From<seaway_stream::Error> for Failure {
    fn from(error: seaway_stream::Error) -> Self {
        match error {
            seaway_stream::Error::Bind { .. }
            | seaway_stream::Error::Control(_)
            | seaway_stream::Error::NoKeys
            | seaway_stream::Error::NoLanes
            | seaway_stream::Error::NotMuxed
            | seaway_stream::Error::Via { .. }
            | seaway_stream::Error::NotForServer
            | seaway_stream::Error::PlainHttp(_)
            | seaway_stream::Error::Publish(WhipError::Certificates(_))
            | seaway_stream::Error::Unprotected(_) => Self::input(&error),
            seaway_stream::Error::Output(error) if error.kind() == ErrorKind::BrokenPipe => {
                Self::output(&error)
            }
            error => Self::running(&error),
        }
    }
}

/// Prints a message on standard error, beside the results.
#[expect(clippy::print_stderr, reason = "the one place that writes to standard error")]
pub(crate) fn note(text: &str) {
    status_line::beside(|| eprintln!("seaway: {text}"));
}
