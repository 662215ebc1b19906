//! A transport stream sent on by an installed FFmpeg, in a protocol that it has and we do not: SRT.

use crate::Error;
use crate::subprocess::Subprocess;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::process::{ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Pieces that wait for FFmpeg: two seconds at 5 Mbit/s. More are dropped.
const MOST_WAITING: usize = 1024;
/// Octets of a message of SRT: seven transport packets.
const MESSAGE: &str = "1316";
/// Between the last piece and the end of its input, at which FFmpeg closes the connection and SRT gives up what waits at either end:
/// more than the usual latency of SRT.
const SETTLING: Duration = Duration::from_secs(1);
/// What FFmpeg has not sent by then is lost.
const ENDING: Duration = Duration::from_secs(3);

/// What became of a piece.
#[derive(Debug, PartialEq, Eq)]
pub enum Relayed {
    /// FFmpeg takes it.
    Taken,
    /// FFmpeg takes less than comes: it is dropped.
    Dropped,
    /// FFmpeg has ended.
    Ended,
}

/// An FFmpeg that sends what it is given to a URL, octet by octet.
///
/// It is not waited for where it stands still. On drop it gets up to four seconds to send the rest.
#[derive(Debug)]
pub struct FfmpegRelay {
    feed: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<String>>,
}

impl FfmpegRelay {
    /// Starts FFmpeg, without our secrets.
    ///
    /// # Errors
    /// FFmpeg is not installed, or the system grants no process or thread.
    pub fn start(url: &str) -> Result<Self, Error> {
        let mut command = Command::new("ffmpeg");
        command.args(["-hide_banner", "-nostdin", "-nostats", "-loglevel", "error"]);
        // Raw data on both sides: nothing is looked into, held or written anew.
        command.args(["-f", "data", "-raw_packet_size", MESSAGE, "-i", "pipe:0", "-map", "0", "-c", "copy"]);
        command.args(["-flush_packets", "1", "-f", "data", url]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
        let process = Subprocess::spawn(&mut command).map_err(|error| {
            Error::Ffmpeg(match error.kind() {
                ErrorKind::NotFound => format!("{scheme}:// needs FFmpeg, which is not installed"),
                _ => format!("ffmpeg: {error}"),
            })
        })?;
        let (stdin, stderr) = {
            let mut child = process.child();
            (child.stdin.take(), child.stderr.take())
        };
        let (stdin, stderr) = stdin.zip(stderr).ok_or_else(|| Error::Ffmpeg("ffmpeg: no pipe".into()))?;
        let (feed, pieces) = sync_channel(MOST_WAITING);
        let thread = Builder::new().name("relay".into());
        let thread = thread.spawn(move || run(&process, stdin, stderr, &pieces));
        let thread = thread.map_err(|error| Error::Ffmpeg(format!("no thread for ffmpeg: {error}")))?;
        Ok(Self { feed: Some(feed), thread: Some(thread) })
    }

    /// Gives it the next piece.
    pub fn send(&self, piece: &[u8]) -> Relayed {
        match self.feed.as_ref().map(|feed| feed.try_send(piece.to_vec())) {
            Some(Ok(())) => Relayed::Taken,
            Some(Err(TrySendError::Full(_))) => Relayed::Dropped,
            Some(Err(TrySendError::Disconnected(_))) | None => Relayed::Ended,
        }
    }

    /// Waits for its end, up to four seconds; gives its last message.
    pub fn finish(&mut self) -> String {
        self.feed = None;
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for FfmpegRelay {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Feeds FFmpeg until the pieces end or it does; gives its last message.
fn run(
    process: &Subprocess,
    mut stdin: ChildStdin,
    stderr: ChildStderr,
    pieces: &Receiver<Vec<u8>>,
) -> String {
    let (messages, last_message) = channel();
    // Without the thread there is no last message, and FFmpeg ends at once.
    let reader = Builder::new().name("relay messages".into());
    let _ = reader.spawn(move || messages.send(last_line(stderr)));
    while let Ok(piece) = pieces.recv() {
        if stdin.write_all(&piece).is_err() {
            break;
        }
    }
    // Its messages end where it does.
    let early = last_message.recv_timeout(SETTLING);
    drop(stdin);
    let message = early.or_else(|_| last_message.recv_timeout(ENDING)).unwrap_or_default();
    process.kill();
    message
}

/// Reads to the end, so that the process never blocks on its messages.
fn last_line(stderr: ChildStderr) -> String {
    const LONGEST: u64 = 4096;
    let (mut stderr, mut last, mut line) = (BufReader::new(stderr), String::new(), Vec::new());
    loop {
        line.clear();
        match stderr.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return last,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim();
                if !text.is_empty() {
                    last = text.chars().filter(|c| !c.is_control()).collect();
                }
            }
        }
    }
}
