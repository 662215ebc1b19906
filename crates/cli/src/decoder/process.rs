//! The receiver's end of the decoder's process.

use super::protocol::{Kind, read_answer, write_request};
use crate::failure::note;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use seaway_media::decoder::{Decoded, Freeze, ReceivedFrame, VideoDecoder};
use seaway_media::{Error, PicturePool};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A decoder without output for so long hangs, in milliseconds.
const TIMEOUT_MS: u16 = 2000;

/// A decoder in a process of its own.
#[derive(Debug)]
pub(super) struct DecoderProcess {
    command: Launcher,
    running: Option<Running>,
    pool: Option<PicturePool>,
    restarts: u64,
}

/// How the process is started.
#[derive(Debug)]
struct Launcher {
    program: PathBuf,
    arguments: Vec<String>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl DecoderProcess {
    /// Starts the decoder.
    ///
    /// # Errors
    /// This program cannot be started a second time.
    pub(super) fn start() -> io::Result<Self> {
        Self::of(Launcher { program: std::env::current_exe()?, arguments: vec!["decode".to_owned()] })
    }

    fn of(command: Launcher) -> io::Result<Self> {
        let running = Some(command.start()?);
        Ok(Self { command, running, pool: None, restarts: 0 })
    }

    fn exchange(&mut self, frame: &ReceivedFrame<'_>) -> io::Result<Decoded> {
        let Some(running) = &mut self.running else { return Err(io::ErrorKind::NotConnected.into()) };
        write_request(&mut WithTimeout(&mut running.input), frame.after_loss, frame.data)?;
        let (kind, picture) = read_answer(&mut WithTimeout(&mut running.output), &mut self.pool)?;
        Ok(match (kind, picture) {
            (_, Some(picture)) => Decoded::Picture(picture.finish(frame.id, frame.time)),
            (Kind::Delayed, None) => Decoded::Frozen(Freeze::Delayed),
            (Kind::ReferencesMissing, None) => Decoded::Frozen(Freeze::ReferencesMissing),
            (Kind::Damaged, None) => Decoded::Frozen(Freeze::Damaged),
            (Kind::Picture | Kind::Failed, None) => return Err(io::ErrorKind::InvalidData.into()),
        })
    }

    /// Ends what is left of the process and starts another.
    fn restart(&mut self, problem: &io::Error) -> Result<(), Error> {
        let end = self.running.take().map(Running::end);
        self.restarts += 1;
        // A stream that ends it again and again does not fill the log.
        if self.restarts.is_power_of_two() {
            let end = end.map_or_else(String::new, |end| format!(", {end}"));
            let times = self.restarts;
            note(&format!(
                "the decoder failed ({problem}{end}) and was started again, {times} in all: the picture freezes until a key frame"
            ));
        }
        let failed = |error: io::Error| Error::Codec { operation: "process", reason: error.to_string() };
        self.running = Some(self.command.start().map_err(failed)?);
        Ok(())
    }
}

impl VideoDecoder for DecoderProcess {
    fn decode(&mut self, frame: &ReceivedFrame<'_>) -> Result<Decoded, Error> {
        match self.exchange(frame) {
            Ok(decoded) => Ok(decoded),
            Err(problem) => {
                self.restart(&problem)?;
                Ok(Decoded::Frozen(Freeze::ReferencesMissing))
            }
        }
    }
}

impl Drop for DecoderProcess {
    fn drop(&mut self) {
        self.running.take().map(Running::end);
    }
}

impl Launcher {
    /// Its environment is empty, since ours may hold keys. A Ctrl-C at the terminal is for us alone.
    fn start(&self) -> io::Result<Running> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().current_dir("/").process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        widen(&output);
        Ok(Running { child, input, output })
    }
}

/// Makes room for a picture in a pipe, so that the two processes do not take turns for each part of it. A smaller pipe serves too.
fn widen(pipe: &impl AsFd) {
    #[cfg(target_os = "linux")]
    let _ = nix::fcntl::fcntl(pipe.as_fd(), nix::fcntl::FcntlArg::F_SETPIPE_SZ(1 << 20));
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}

impl Running {
    /// Ends the process; how it ended.
    fn end(mut self) -> String {
        // It may be gone already.
        let _ = self.child.kill();
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

/// A pipe that fails where nothing moves for [`TIMEOUT_MS`].
struct WithTimeout<'a, P>(&'a mut P);

impl<P: AsFd> WithTimeout<'_, P> {
    fn wait(&self, wanted: PollFlags) -> io::Result<()> {
        let mut pipes = [PollFd::new(self.0.as_fd(), wanted)];
        match poll(&mut pipes, PollTimeout::from(TIMEOUT_MS))? {
            0 => Err(io::Error::new(io::ErrorKind::TimedOut, "it hangs")),
            _ => Ok(()),
        }
    }
}

impl<P: AsFd + Read> Read for WithTimeout<'_, P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait(PollFlags::POLLIN)?;
        self.0.read(buffer)
    }
}

impl<P: AsFd + Write> Write for WithTimeout<'_, P> {
    /// In pieces that a pipe takes at once where it says that there is room (PIPE_BUF).
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.wait(PollFlags::POLLOUT)?;
        self.0.write(&data[..data.len().min(4096)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_media::FrameId;
    use seaway_units::TimeDelta;

    /// Programs that are no decoder: they end, answer at random, close a pipe, or are killed.
    #[test]
    fn whatever_the_process_does_is_a_freeze() {
        for script in
            ["exit 0", "exec head -c 100000 /dev/urandom", "exec >&-; cat", "kill -SEGV $$", "echo x; cat"]
        {
            let arguments = vec!["-c".to_owned(), script.to_owned()];
            let mut decoder = DecoderProcess::of(Launcher { program: "/bin/sh".into(), arguments }).unwrap();
            for number in 0..2 {
                let data = vec![number as u8; 100_000];
                let frame = ReceivedFrame {
                    data: &data,
                    id: FrameId(number),
                    time: TimeDelta::ZERO,
                    after_loss: false,
                };
                let decoded = decoder.decode(&frame).unwrap();
                assert!(matches!(decoded, Decoded::Frozen(_)), "{script}");
            }
            assert!(decoder.restarts > 0, "{script}");
        }
    }
}
