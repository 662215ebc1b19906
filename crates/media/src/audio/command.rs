//! Sound that another program gives: a microphone, or whatever writes PCM.

use super::{AudioSource, Block};
use crate::Error;
use crate::subprocess::Subprocess;
use std::io::{BufReader, Read};
use std::process::{ChildStdout, Command, Stdio};

/// Samples that a shell command writes: 16 bits, little-endian, two channels in turn at 48 kHz.
#[derive(Debug)]
pub struct CommandAudio {
    command: String,
    pipe: BufReader<ChildStdout>,
    /// Killed on drop, with all that it started.
    process: Subprocess,
}

impl CommandAudio {
    /// Starts the command by the shell, without our secrets.
    ///
    /// # Errors
    /// There is no shell, or the system grants no process.
    pub fn start(command: &str) -> Result<Self, Error> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped());
        let process = Subprocess::spawn(&mut shell).map_err(Error::io("the command of the sound"))?;
        let pipe = process.child().stdout.take();
        let pipe = pipe.ok_or_else(|| Error::Unsupported("the command of the sound has no output".into()))?;
        Ok(Self { command: command.to_owned(), pipe: BufReader::new(pipe), process })
    }
}

impl AudioSource for CommandAudio {
    /// It ends with its last whole block.
    fn next_block(&mut self, block: &mut Block) -> Result<bool, Error> {
        let mut octets = [0; size_of::<Block>()];
        match self.pipe.read_exact(&mut octets) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let status = self.process.child().wait().map_err(Error::io("the command of the sound"))?;
                return match status.success() {
                    true => Ok(false),
                    false => Err(Error::Unsupported(format!("`{}` has ended: {status}", self.command))),
                };
            }
            Err(error) => return Err(Error::io("the command of the sound")(error)),
        }
        for (sample, octets) in block.iter_mut().zip(octets.as_chunks::<2>().0) {
            *sample = i16::from_le_bytes(*octets);
        }
        Ok(true)
    }

    fn codec(&self) -> &'static str {
        "PCM of a command"
    }

    fn is_live(&self) -> bool {
        true
    }

    fn rewind(&mut self) -> Result<(), Error> {
        Err(Error::Unsupported("the sound of a command cannot be read again".into()))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::audio::BLOCK_SAMPLES;

    #[test]
    fn samples_come_in_blocks() {
        let mut sound = CommandAudio::start("head -c 4000 /dev/zero | tr '\\0' '\\001'").unwrap();
        let mut block = [0; 2 * BLOCK_SAMPLES];
        assert!(sound.next_block(&mut block).unwrap());
        assert_eq!(block, [0x0101; 2 * BLOCK_SAMPLES]);
        assert!(!sound.next_block(&mut block).unwrap(), "160 octets are no block");
        let mut failing = CommandAudio::start("exit 3").unwrap();
        assert!(failing.next_block(&mut block).unwrap_err().to_string().contains("exit status: 3"));
    }
}
