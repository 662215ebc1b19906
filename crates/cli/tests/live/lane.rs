//! One emulated link, both ways, between the nodes `near` and `far`.

use super::process::{Live, free_port, seaway};
use std::path::Path;

/// A scenario of a link with these settings.
pub(crate) fn link(settings: &str) -> String {
    format!(
        r#"
schema = 1
name = "lane"
duration = "60 s"

[[link]]
name = "lane"
from = "near"
to = "far"
both = true
{settings}
"#
    )
}

/// The network of `links`, attached at both ends.
pub(crate) fn attached(links: &str, near: &str, far: &str) -> String {
    format!("{links}\n[[attach]]\nnode = \"near\"\n{near}\n\n[[attach]]\nnode = \"far\"\n{far}\n")
}

/// Emulates a link with these settings for a minute. Its far end leads to the port `to` of this host; gives the emulator and
/// the port of the near end.
pub(crate) fn emulate(folder: &Path, settings: &str, to: u16) -> (Live, u16) {
    let from = free_port();
    let far = format!("udp = \"127.0.0.1:0\"\npeer = \"127.0.0.1:{to}\"");
    let scenario = attached(&link(settings), &format!("udp = \"127.0.0.1:{from}\""), &far);
    std::fs::write(folder.join("lane.toml"), scenario).unwrap();
    let mut emulator = Live::start(seaway(folder, &["emulate", "lane.toml", "--bound", "60 s"]));
    emulator.wait_for_note("far is at udp");
    (emulator, from)
}
