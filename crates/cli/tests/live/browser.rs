//! The page of `seaway demo` in Chromium: `browser/check.mjs` looks and clicks.

use super::process::{Live, has, seaway, skip};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

pub(crate) const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/browser");

/// True once the driver of the browser is there.
fn install() -> bool {
    static ONCE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _held = ONCE_AT_A_TIME.lock();
    if Path::new(SCRIPTS).join("node_modules/playwright-core").exists() {
        return true;
    }
    let mut command = Command::new("npm");
    command.args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(SCRIPTS);
    command.stdin(Stdio::null()).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Whether Chromium and what drives it are there; else says that the test is skipped.
pub(crate) fn is_there() -> bool {
    if !Path::new("/usr/bin/chromium").exists() {
        skip("no /usr/bin/chromium");
        return false;
    }
    if !has("node", "--version") || !has("npm", "--version") {
        return false;
    }
    let installed = install();
    if !installed {
        skip("npm ci could not get playwright-core");
    }
    installed
}

#[test]
fn the_page_of_a_log_draws_it_and_what_is_dropped_on_it() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for arguments in [["sim", "squeeze", "--qlog", "run.sqlog"].as_slice(), &["qlog", "run.sqlog"], &["qlog"]]
    {
        let output = seaway(folder.path(), arguments).output().unwrap();
        assert!(folder.path().join("run.sqlog").exists(), "{output:?}");
    }
    let files = ["run.html", "qlog.html", "run.sqlog"].map(|name| folder.path().join(name));
    let mut command = Command::new("node");
    command.arg("qlog.mjs").args(files).arg(folder.path()).current_dir(SCRIPTS);
    let (status, steps, notes) = Live::start(command).end();
    assert!(status.success(), "{steps}{notes}");
}

#[test]
fn the_page_shows_and_steers_the_session() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut demo = Live::start(seaway(
        folder.path(),
        &[
            &["demo", "test:640x360@25", "--network", "lossy-wifi", "--web", "127.0.0.1:0"][..],
            &["--beside", "fixed(rate=4 Mbit/s)", "--duration", "300s"],
        ]
        .concat(),
    ));
    let address = demo.wait_for_address("page");
    let mut command = Command::new("node");
    command.arg("check.mjs").arg(format!("http://{address}")).arg(folder.path()).current_dir(SCRIPTS);
    let (status, steps, notes) = Live::start(command).end();
    assert!(status.success(), "{steps}{notes}");
    for name in ["desktop.png", "dark.png", "phone.png"] {
        assert!(folder.path().join(name).metadata().unwrap().len() > 10_000, "{name}");
    }
    // The demo may call the machine too busy; that is no matter of the page.
    demo.interrupt();
    let (status, _, notes) = demo.end();
    assert!(matches!(status.code(), Some(0 | 3)), "{status}: {notes}");
}

/// A beep each second, watched at either end.
#[test]
fn the_sound_plays_after_a_gesture() {
    if !is_there() {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), super::process::free_port());
    let web = ["--web", "127.0.0.1:0"];
    let mut receiver = super::stream::receive(folder.path(), port, &web);
    let url = format!("rtp://127.0.0.1:{port}");
    let arguments = [&["send", "test:640x360@25+tone", &url][..], &web].concat();
    let mut sender = Live::start(seaway(folder.path(), &arguments));
    for (end, picture) in [(&mut receiver, "received"), (&mut sender, "sent")] {
        let page = end.wait_for_address("page");
        let mut command = Command::new("node");
        command.arg("sound.mjs").arg(format!("http://{page}")).arg(folder.path()).arg(picture);
        let (status, steps, notes) = Live::start({
            command.current_dir(SCRIPTS);
            command
        })
        .end();
        assert!(status.success(), "{picture}: {steps}{notes}");
    }
    sender.finish_sender();
    receiver.finish();
}
