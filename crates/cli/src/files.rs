//! Streams of bytes in and out: files, pipes, standard input and output.

use crate::failure::Failure;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;
use tempfile::NamedTempFile;

/// Bytes a read, and reads that may wait.
const CHUNK: usize = 256 << 10;
const WAITING: usize = 4;

/// A read waits this long before the command looks at other things.
const POLL: Duration = Duration::from_millis(100);

/// An input. A thread of its own reads it, so that a silent pipe blocks nothing.
#[derive(Debug)]
pub(crate) struct Input {
    name: String,
    len: Option<u64>,
    chunks: Receiver<std::io::Result<Vec<u8>>>,
}

/// What an [`Input`] gives.
#[derive(Debug)]
pub(crate) enum Chunk {
    Bytes(Vec<u8>),
    /// Nothing yet.
    Nothing,
    /// Nothing more.
    End,
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(name: &str) -> Result<Input, Failure> {
        let failed = |error: std::io::Error| Failure::input(&format!("{name}: {error}"));
        let (mut reader, len): (Box<dyn Read + Send>, _) = if name == "-" {
            (Box::new(std::io::stdin()), None)
        } else {
            let file = File::open(name).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            if metadata.is_dir() {
                return Err(Failure::input(&format!("{name}: a folder; expected a stream")));
            }
            let len = metadata.is_file().then_some(metadata.len());
            (Box::new(file), len)
        };
        let (sender, chunks) = sync_channel(WAITING);
        std::thread::spawn(move || {
            loop {
                let mut chunk = vec![0; CHUNK];
                let read = match reader.read(&mut chunk) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Ok(0) => return,
                    read => read,
                };
                let ends = read.is_err();
                let sent = sender.send(read.map(|len| {
                    chunk.truncate(len);
                    chunk
                }));
                if ends || sent.is_err() {
                    return;
                }
            }
        });
        Ok(Input { name: name.to_owned(), len, chunks })
    }

    /// The length in bytes, where it is known beforehand.
    pub(crate) fn len(&self) -> Option<u64> {
        self.len
    }

    /// Waits a moment for the next bytes.
    pub(crate) fn next(&self) -> Result<Chunk, Failure> {
        match self.chunks.recv_timeout(POLL) {
            Ok(Ok(bytes)) => Ok(Chunk::Bytes(bytes)),
            Ok(Err(error)) => Err(Failure::running(&format!("{}: {error}", self.name))),
            Err(RecvTimeoutError::Timeout) => Ok(Chunk::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Chunk::End),
        }
    }
}

/// True where both names are of one file, also by a link.
pub(crate) fn are_one_file(input: &str, output: &str) -> bool {
    let place = |name: &str| std::fs::canonicalize(name).ok().filter(|path| path.is_file());
    place(input).is_some_and(|input| place(output).is_some_and(|output| is_same(&input, &output)))
}

#[cfg(unix)]
fn is_same(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    place(a).is_some_and(|a| place(b) == Some(a))
}

#[cfg(not(unix))]
fn is_same(a: &Path, b: &Path) -> bool {
    a == b
}

/// An output. A file is written under a temporary name and renamed at the end, so that it is never incomplete.
#[derive(Debug)]
pub(crate) struct Output {
    name: String,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout(std::io::Stdout),
    /// A device or a pipe: it stays what it is.
    Special(File),
    Draft(NamedTempFile, PathBuf),
}

impl Output {
    /// Begins a file; `-` is standard output.
    pub(crate) fn create(name: &str) -> Result<Output, Failure> {
        let failed = |error: std::io::Error| Failure::input(&format!("{name}: {error}"));
        let path = Path::new(name);
        let target = if name == "-" {
            Target::Stdout(std::io::stdout())
        } else if path.is_dir() {
            return Err(Failure::input(&format!("{name}: a folder; expected a file to write")));
        } else if path.exists() && !path.is_file() {
            Target::Special(File::options().write(true).open(path).map_err(failed)?)
        } else {
            // A link stays a link: what it points at is replaced.
            let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let folder = parent.unwrap_or(Path::new("."));
            if !folder.is_dir() {
                return Err(Failure::input(&format!("{name}: no folder {}", folder.display())));
            }
            let draft = tempfile::Builder::new().prefix(".seaway-").tempfile_in(folder).map_err(failed)?;
            Target::Draft(draft, path)
        };
        Ok(Output { name: name.to_owned(), target })
    }

    /// Whether this is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self.target, Target::Stdout(_))
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.target {
            Target::Stdout(stdout) => return stdout.write_all(bytes).map_err(|e| Failure::output(&e)),
            Target::Special(file) => file.write_all(bytes),
            Target::Draft(draft, _) => draft.write_all(bytes),
        };
        written.map_err(|error| Failure::running(&format!("{}: {error}", self.name)))
    }

    /// Writes `bytes` over those at an offset; false where the output is none that can be gone back in.
    pub(crate) fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<bool, Failure> {
        let Target::Draft(draft, _) = &mut self.target else { return Ok(false) };
        let file = draft.as_file_mut();
        let written = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes));
        let back = written.and_then(|()| file.seek(SeekFrom::End(0)));
        back.map(|_| true).map_err(|error| Failure::running(&format!("{}: {error}", self.name)))
    }

    /// The stream is complete: puts the file in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let (name, is_stdout) = (self.name.clone(), self.is_stdout());
        self.complete().map_err(|error| {
            if is_stdout { Failure::output(&error) } else { Failure::running(&format!("{name}: {error}")) }
        })
    }

    fn complete(self) -> std::io::Result<()> {
        match self.target {
            Target::Stdout(mut stdout) => stdout.flush(),
            Target::Special(mut file) => file.flush(),
            Target::Draft(draft, path) => {
                readable(draft.as_file())?;
                draft.persist(path).map(drop).map_err(|error| error.error)
            }
        }
    }
}

/// For recordings and captures.
impl seaway_stream::sink::Output for Output {
    fn finish(self: Box<Self>) -> std::io::Result<()> {
        let name = self.name.clone();
        self.complete().map_err(|error| std::io::Error::new(error.kind(), format!("{name}: {error}")))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.target {
            Target::Stdout(stdout) => stdout.write(bytes),
            Target::Special(file) => file.write(bytes),
            Target::Draft(draft, _) => draft.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.target {
            Target::Stdout(stdout) => stdout.flush(),
            Target::Special(file) => file.flush(),
            Target::Draft(draft, _) => draft.flush(),
        }
    }
}

/// Only the owner may read a temporary file; an output gets the usual permissions.
#[cfg(unix)]
fn readable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_file: &File) -> std::io::Result<()> {
    Ok(())
}
