//! Counts of one run through a remultiplexer.

use schemars::JsonSchema;
use serde::Serialize;

use super::format::ContainerReport;

/// Counts of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Report {
    /// The format, [`Format::name`](super::Format::name); empty before it is known.
    pub format: &'static str,
    /// Bytes read, headers and padding included.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Bytes of the video elementary stream in the input.
    pub video_bytes_in: u64,
    /// Pictures copied unchanged because their replacement came too late for the memory allowed.
    pub given_up: u64,
    /// Counts of the format itself, under the key `transport` or `program`.
    #[serde(flatten)]
    pub container: Option<ContainerReport>,
}
