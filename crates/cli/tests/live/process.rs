//! The binary while it runs: its lines, its notes, its end.

use seaway_net::Clock;
use seaway_units::{TimeDelta, Timestamp};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The longest wait for anything: a bound for what hangs, no measure of speed.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// The binary with these arguments, in `folder`.
pub(crate) fn seaway(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seaway"));
    command.args(arguments).current_dir(folder);
    command
}

/// A process; it does not outlive the test.
pub(crate) struct Live {
    child: Child,
    lines: Receiver<Line>,
    /// What it wrote on standard error so far.
    notes: String,
    /// What it wrote on standard output so far.
    output: String,
}

enum Line {
    Output(String),
    Note(String),
}

impl Live {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with(command, Stdio::null())
    }

    /// Starts it with this standard input.
    pub(crate) fn start_with(mut command: Command, stdin: Stdio) -> Self {
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (sender, lines) = channel();
        let output = child.stdout.take().unwrap();
        let notes = child.stderr.take().unwrap();
        for (pipe, wrap) in [
            (Box::new(output) as Box<dyn Read + Send>, Line::Output as fn(String) -> Line),
            (Box::new(notes), Line::Note),
        ] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    if sender.send(wrap(line)).is_err() {
                        return;
                    }
                }
            });
        }
        Self { child, lines, notes: String::new(), output: String::new() }
    }

    /// The next line of standard output, or nothing once it has closed.
    fn line(&mut self) -> Option<String> {
        loop {
            match self.lines.recv_timeout(TIMEOUT) {
                Ok(Line::Output(line)) => {
                    self.output.push_str(&line);
                    self.output.push('\n');
                    return Some(line);
                }
                Ok(Line::Note(line)) => {
                    self.notes.push_str(&line);
                    self.notes.push('\n');
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("silent for {TIMEOUT:?}: {}\n{}", self.notes, self.tail())
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Waits for a line of standard output that has this.
    pub(crate) fn wait_for_output(&mut self, what: &str) {
        while let Some(line) = self.line() {
            if line.contains(what) {
                return;
            }
        }
        panic!("{what} never came: {}", self.notes);
    }

    /// The next of its JSON lines that `wanted` takes.
    pub(crate) fn wait_for(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let (clock, bound) = (Clock::start(), TimeDelta::from_secs(TIMEOUT.as_secs() as i64));
        while clock.now().since(Timestamp::ZERO) < bound {
            let Some(line) = self.line() else { break };
            let value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if wanted(&value) {
                return value;
            }
        }
        panic!("waited for {what}: {}\n{}", self.notes, self.tail());
    }

    /// The number of pictures shown, once it is above `count`.
    pub(crate) fn wait_for_frames(&mut self, count: u64) -> u64 {
        let shown = |value: &Value| value["frames_displayed"].as_u64().unwrap_or(0);
        shown(&self.wait_for(&format!("more than {count} frames"), |value| shown(value) > count))
    }

    /// Where a note says that something is served.
    pub(crate) fn wait_for_address(&mut self, what: &str) -> String {
        loop {
            let note = self.notes.lines().find(|line| line.contains(what));
            if let Some(url) =
                note.and_then(|line| line.split_whitespace().find(|word| word.starts_with("http")))
            {
                return url.trim_start_matches("http://").to_owned();
            }
            match self.lines.recv_timeout(TIMEOUT) {
                Ok(Line::Note(line)) => {
                    self.notes.push_str(&line);
                    self.notes.push('\n');
                }
                Ok(Line::Output(line)) => {
                    self.output.push_str(&line);
                    self.output.push('\n');
                }
                Err(_) => panic!("{what} printed no address: {}", self.notes),
            }
        }
    }

    /// Waits for a note that contains `what`; false if the process ends without one.
    pub(crate) fn prints_note(&mut self, what: &str) -> bool {
        while !self.notes.contains(what) {
            match self.lines.recv_timeout(TIMEOUT) {
                Ok(Line::Note(line)) => {
                    self.notes.push_str(&line);
                    self.notes.push('\n');
                }
                Ok(Line::Output(line)) => {
                    self.output.push_str(&line);
                    self.output.push('\n');
                }
                Err(_) => return false,
            }
        }
        true
    }

    /// Waits until a note says `what`; gives its line.
    pub(crate) fn wait_for_note(&mut self, what: &str) -> &str {
        assert!(self.prints_note(what), "no note has {what}: {}", self.notes);
        self.notes.lines().find(|line| line.contains(what)).unwrap_or_default()
    }

    fn tail(&self) -> &str {
        &self.output[self.output.floor_char_boundary(self.output.len().saturating_sub(2000))..]
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Reads its output to the end.
    pub(crate) fn wait_for_end(&mut self) {
        while self.line().is_some() {}
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        signal("INT", self.child.id());
    }

    /// As `timeout` of coreutils ends it: the process, and then its group.
    pub(crate) fn interrupt_twice(&self) {
        let both = format!("kill -INT {0}; kill -INT {0}", self.child.id());
        assert!(Command::new("sh").arg("-c").arg(both).status().unwrap().success());
    }

    /// As a service manager ends it.
    pub(crate) fn terminate(&self) {
        signal("TERM", self.child.id());
    }

    /// Ends it without a chance to say anything.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end: how, what it wrote on standard output, and on standard error.
    pub(crate) fn end(mut self) -> (ExitStatus, String, String) {
        while self.line().is_some() {}
        let status = self.child.wait().unwrap();
        (status, std::mem::take(&mut self.output), std::mem::take(&mut self.notes))
    }

    /// Ends a receiver without a sender by Ctrl-C, which it reports.
    pub(crate) fn finish_empty(self) {
        self.interrupt();
        let (status, _, notes) = self.end();
        assert_eq!(status.code(), Some(1), "{notes}");
        assert!(notes.contains("nothing was received: no sender came"), "{notes}");
    }

    /// Ends a sender by Ctrl-C, all well but for the encoder, which may be too slow on a busy machine.
    pub(crate) fn finish_sender(self) {
        self.interrupt();
        let (status, _, notes) = self.end();
        assert!(matches!(status.code(), Some(0 | 3)), "{status}: {notes}");
    }

    /// Ends it by Ctrl-C, all well.
    pub(crate) fn finish(self) -> String {
        self.interrupt();
        let (status, output, notes) = self.end();
        assert!(status.success(), "{status}: {notes}");
        output
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // It is gone already where the test came to its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn signal(name: &str, process: u32) {
    let status = Command::new("sh").arg("-c").arg(format!("kill -{name} {process}")).status().unwrap();
    assert!(status.success());
}

/// A port of the loopback address that is free.
pub(crate) fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// True where `tool` can be run; else says that the test is skipped.
pub(crate) fn has(tool: &str, argument: &str) -> bool {
    let run = Command::new(tool).arg(argument).stdin(Stdio::null()).output();
    let is_there = run.is_ok_and(|output| output.status.success());
    if !is_there {
        skip(&format!("no {tool}"));
    }
    is_there
}

/// Says why a test does nothing here: past the test harness, which shows nothing of a test that passes.
pub(crate) fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {why}");
}
