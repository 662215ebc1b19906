//! A live encoder that is another program.
//!
//! The program is a command of the shell. It gets pictures as Y4M on its standard input, unless it has a camera of its own, and
//! writes H.264 to its standard output, as a byte stream or in MPEG-TS. Its settings come as lines through a named pipe, the
//! path of which is in the variable `SEAWAY_TARGET`: `bitrate N` is the target in bit/s of coded octets, `key-frame` requests an
//! IDR picture.

use crate::Error;
use crate::FrameRate;
use crate::output::Y4mWriter;
use crate::subprocess::Subprocess;
use seaway_units::Bitrate;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The variable with the path of the named pipe.
const VARIABLE: &str = "SEAWAY_TARGET";
/// How long a program may take to end once it has closed its output.
const LAST: u32 = 1000;

/// A program that encodes.
#[derive(Debug)]
pub struct ExternalEncoder {
    command: String,
    process: Subprocess,
    pictures: Option<Y4mWriter<ChildStdin>>,
    coded: Option<ChildStdout>,
    targets: TargetPipe,
}

impl ExternalEncoder {
    /// Starts `command` by the shell. It gets pictures of `frame_rate`, if any.
    ///
    /// # Errors
    /// The system grants no process or no named pipe.
    pub fn start(command: &str, frame_rate: Option<FrameRate>) -> Result<Self, Error> {
        let failure = |error: std::io::Error| Error::Encoder(format!("the encoder cannot start: {error}"));
        let targets = TargetPipe::new().map_err(failure)?;
        let stdin = if frame_rate.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env(VARIABLE, targets.path());
        let process = Subprocess::spawn(shell.stdin(stdin).stdout(Stdio::piped())).map_err(failure)?;
        let (stdin, coded) = {
            let mut child = process.child();
            (child.stdin.take(), child.stdout.take())
        };
        let pictures = stdin.zip(frame_rate).map(|(stdin, frame_rate)| Y4mWriter::new(stdin, frame_rate));
        Ok(Self { command: command.to_owned(), process, pictures, coded, targets })
    }

    /// Where its pictures go: [`write`](Y4mWriter::write) blocks while it is busy.
    pub fn take_pictures(&mut self) -> Option<Y4mWriter<ChildStdin>> {
        self.pictures.take()
    }

    /// Where its coded video comes from.
    pub fn take_coded(&mut self) -> Option<ChildStdout> {
        self.coded.take()
    }

    /// Its settings.
    pub const fn targets(&mut self) -> &mut TargetPipe {
        &mut self.targets
    }

    /// Waits for its end, once its output is closed.
    ///
    /// # Errors
    /// It failed, or does not end.
    pub fn end(&mut self) -> Result<(), Error> {
        match self.wait() {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.error(&format!("ended with {status}"))),
            None => Err(self.error("closed its output and does not end")),
        }
    }

    /// Why it ended, if it did and failed.
    pub fn failure(&mut self) -> Option<Error> {
        let status = self.wait().filter(|status| !status.success())?;
        Some(self.error(&format!("ended with {status}")))
    }

    fn error(&self, what: &str) -> Error {
        Error::Encoder(format!("the encoder {what}: {}", self.command))
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        #[expect(clippy::disallowed_methods, reason = "the end of a process is found by polling")]
        (0..LAST).find_map(|_| {
            let status = self.process.child().try_wait().ok().flatten();
            if status.is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            status
        })
    }
}

/// The named pipe with the settings of an encoder. Lines that it does not read in time are left out.
#[derive(Debug)]
pub struct TargetPipe {
    folder: TempDir,
    pipe: File,
}

impl TargetPipe {
    /// A pipe in a folder of its own, which others cannot read.
    #[cfg(unix)]
    fn new() -> std::io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let folder = tempfile::Builder::new().prefix("seaway-").tempdir()?;
        let path = Self::path_in(folder.path());
        let made = Command::new("mkfifo").args(["-m", "600"]).arg(&path).status()?;
        if !made.success() {
            return Err(std::io::Error::other(format!("mkfifo: {made}")));
        }
        // For reading too: so the pipe is open before the encoder opens it, and a line never blocks.
        let flags = nix::libc::O_NONBLOCK;
        let pipe = File::options().read(true).write(true).custom_flags(flags).open(path)?;
        Ok(Self { folder, pipe })
    }

    #[cfg(not(unix))]
    fn new() -> std::io::Result<Self> {
        Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "there are no named pipes here"))
    }

    fn path_in(folder: &Path) -> std::path::PathBuf {
        folder.join("target")
    }

    /// Where it is.
    fn path(&self) -> std::path::PathBuf {
        Self::path_in(self.folder.path())
    }

    /// Sets the target, in coded octets.
    pub fn set_target(&mut self, target: Bitrate) {
        self.write(&format!("bitrate {}\n", target.as_bps()));
    }

    /// Requests a key frame.
    pub fn request_key_frame(&mut self) {
        self.write("key-frame\n");
    }

    fn write(&mut self, line: &str) {
        // A line is shorter than what a pipe takes as a whole or not at all.
        let _ = self.pipe.write(line.as_bytes());
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::Picture;
    use crate::input::{PictureSource, Synthetic};
    use std::io::Read;

    #[test]
    fn a_program_gets_pictures_and_targets() {
        let command = "read -r line < \"$SEAWAY_TARGET\"; echo \"$line\"; cat | wc -c";
        let mut source = Synthetic::from_specification("64x48").unwrap();
        let mut encoder = ExternalEncoder::start(command, Some(source.format().frame_rate)).unwrap();
        encoder.targets().set_target(Bitrate::from_kbps(640));
        let mut pictures = encoder.take_pictures().unwrap();
        let picture: Picture = source.next_picture().unwrap().unwrap();
        pictures.write(&picture).unwrap();
        drop(pictures);
        let mut output = String::new();
        encoder.take_coded().unwrap().read_to_string(&mut output).unwrap();
        let (target, octets) = output.split_once('\n').unwrap();
        assert_eq!(target, "bitrate 640000");
        assert!(octets.trim().parse::<usize>().unwrap() > 64 * 48 * 3 / 2);
        encoder.end().unwrap();
    }

    #[test]
    fn the_error_of_a_failed_program_names_its_command() {
        let mut encoder = ExternalEncoder::start("exit 7", None).unwrap();
        let error = encoder.end().unwrap_err().to_string();
        assert!(error.contains("exit status: 7") && error.contains("exit 7"), "{error}");
    }

    /// What the shell started ends with it, whether it wants to or not: it holds the output open.
    #[test]
    fn no_part_of_a_program_stays_behind() {
        let mut encoder = ExternalEncoder::start("sleep 1000 & echo $!; sleep 1000", None).unwrap();
        let mut coded = encoder.take_coded().unwrap();
        let mut number = String::new();
        while !number.ends_with('\n') {
            let mut octet = [0];
            coded.read_exact(&mut octet).unwrap();
            number.push(char::from(octet[0]));
        }
        drop(encoder);
        // The process at the other end is gone.
        assert_eq!(coded.read(&mut [0]).unwrap(), 0);
    }
}
