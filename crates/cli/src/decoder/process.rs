//! The receiver's end of the decoder's process.

use super::pictures::{LARGEST, Pictures};
use super::protocol::{Answer, Order, read_answer, write_request};
use crate::failure::note;
use seaway_media::Error;
use seaway_media::decoder::{Decoded, Freeze, ReceivedFrame, VideoDecoder};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

/// A decoder without answer for so long hangs.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A decoder in a process of its own.
#[derive(Debug)]
pub(super) struct DecoderProcess {
    command: Launcher,
    running: Option<Running>,
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
    socket: UnixStream,
    pictures: Pictures,
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
        Ok(Self { command, running, restarts: 0 })
    }

    fn exchange(&mut self, frame: &ReceivedFrame<'_>) -> io::Result<Decoded> {
        let Some(running) = &mut self.running else { return Err(io::ErrorKind::NotConnected.into()) };
        let Running { socket, pictures, .. } = running;
        let order = if frame.after_loss { Order::DecodeAfterLoss } else { Order::Decode };
        write_request(socket, order, frame.data).map_err(as_hanging)?;
        Ok(match read_answer(socket).map_err(as_hanging)? {
            Answer::Picture(place) => {
                let picture = pictures.take(&place, socket).map_err(as_hanging)?;
                Decoded::Picture(picture.finish(frame.id, frame.time))
            }
            Answer::Frozen(freeze) => Decoded::Frozen(freeze),
            Answer::Copied => return Err(io::ErrorKind::InvalidData.into()),
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
        let (socket, of_child) = UnixStream::pair()?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        socket.set_write_timeout(Some(TIMEOUT))?;
        let memory = shared_memory()?;
        let child = command.stdin(OwnedFd::from(of_child)).stdout(memory.try_clone()?).spawn()?;
        let pictures = Pictures::new(child.id(), memory);
        Ok(Running { child, socket, pictures })
    }
}

/// Memory for one picture as a file, so that neither process maps what the other one changes. It can neither grow nor shrink.
#[cfg(target_os = "linux")]
fn shared_memory() -> io::Result<File> {
    use nix::fcntl::{FcntlArg, SealFlag, fcntl};
    use nix::sys::memfd::{MFdFlags, memfd_create};

    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let memory = File::from(memfd_create("picture", flags)?);
    memory.set_len(LARGEST)?;
    fcntl(&memory, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK))?;
    Ok(memory)
}

#[cfg(not(target_os = "linux"))]
fn shared_memory() -> io::Result<File> {
    let memory = tempfile::tempfile()?;
    memory.set_len(LARGEST)?;
    Ok(memory)
}

/// What a time-out means here.
fn as_hanging(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "it hangs"),
        _ => error,
    }
}

impl Running {
    /// Ends the process; how it ended.
    fn end(mut self) -> String {
        // It may be gone already.
        let _ = self.child.kill();
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seaway_media::FrameId;
    use seaway_units::TimeDelta;

    /// Programs that are no decoder: they end, answer nonsense, close the socket, are killed, fill the memory, or hang.
    #[test]
    fn whatever_the_process_does_is_a_freeze() {
        for script in [
            "exit 0",
            "exec yes >&0",
            "exec <&-; exec sleep 9",
            "kill -SEGV $$",
            "exec cat /dev/zero",
            "exec sleep 9",
        ] {
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
