//! The key of a session: its sources, and the messages about it.

use crate::failure::{Failure, note};
use seaway_session::{Mode, SessionKey, SessionUrl};
use seaway_stream::{SrtpKeys, fresh_key};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, ToSocketAddrs};

/// Holds the key where no option does.
const VARIABLE: &str = "SEAWAY_KEY";

/// Options of `send` and `recv` that concern the key.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct KeyOptions {
    /// Read the session's key from this file. The end that listens makes the file if there is none
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    key_file: Option<String>,
    /// Allow plain RTP with another host: anyone on the path can see the video and replace it
    #[arg(long)]
    pub(crate) insecure: bool,
    /// For debugging: write the SRTP master keys to this file. Anyone who reads it can decrypt a capture
    #[arg(long, value_name = "FILE")]
    export_keys: Option<String>,
}

/// How a session is protected.
#[derive(Debug, Default)]
pub(crate) struct Access {
    pub(crate) key: Option<SessionKey>,
    pub(crate) insecure: bool,
}

/// Which command an end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

impl Side {
    const fn other_command(self) -> &'static str {
        match self {
            Self::Sender => "seaway recv",
            Self::Receiver => "seaway send",
        }
    }
}

impl KeyOptions {
    /// For the end that begins, with the other one at `to`.
    pub(crate) fn of_caller(&self, url: &SessionUrl, to: SocketAddr, side: Side) -> Result<Access, Failure> {
        let key = match self.given(url)? {
            None => self.key_file.as_deref().map(read).transpose()?,
            key => key,
        };
        let access = Access { key: key.or(self.of_environment()?), insecure: self.insecure };
        match access {
            Access { key: None, insecure: false } if !is_loopback(to) => Err(Failure::input(&format!(
                "{url} is another host: give the key that `{}` printed, in the URL (key=… behind the question mark), by \
                 --key-file or in {VARIABLE}; --insecure goes without",
                side.other_command()
            ))),
            access => Ok(self.warned(access, to)),
        }
    }

    /// For a media server, which has keys of its own.
    pub(crate) fn of_server(&self) -> Result<(), Failure> {
        self.refuse_keys("a media server")
    }

    /// For what has no keys of ours.
    pub(crate) fn refuse_keys(&self, other: &str) -> Result<(), Failure> {
        let given = [(self.key_file.is_some(), "--key-file"), (self.export_keys.is_some(), "--export-keys")];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(Failure::input(&format!("{option} does not apply to {other}"))),
            None => Ok(()),
        }
    }

    /// For a receiver at `bind` of a transport stream, which has no keys.
    pub(crate) fn of_stream(
        &self,
        source: &dyn std::fmt::Display,
        bind: SocketAddr,
    ) -> Result<Access, Failure> {
        self.refuse_keys("a transport stream")?;
        if !self.insecure && !is_loopback(bind) {
            return Err(Failure::input(&format!(
                "{source} concerns other hosts, and a transport stream has no keys: --insecure allows it all the same"
            )));
        }
        Ok(self.warned(Access { key: None, insecure: self.insecure }, bind))
    }

    /// For either end of the window transport, which has no keys.
    pub(crate) fn of_window(&self, url: &SessionUrl, address: SocketAddr) -> Result<Access, Failure> {
        let given = [(self.key_file.is_some(), "--key-file"), (self.export_keys.is_some(), "--export-keys")];
        if let Some((_, option)) = given.into_iter().find(|(is_given, _)| *is_given) {
            return Err(Failure::input(&format!("{option}: the window transport has no keys")));
        }
        if !self.insecure && !is_loopback(address) {
            return Err(Failure::input(&format!(
                "{url} concerns other hosts, and the window transport has no keys: --insecure allows it all the same"
            )));
        }
        Ok(self.warned(Access { key: None, insecure: self.insecure }, address))
    }

    /// For the end that listens at `bind`, which others reach at `reachable`. Where other hosts can reach it and there is no key, it gets
    /// a fresh one.
    pub(crate) fn of_listener(
        &self,
        url: &SessionUrl,
        bind: SocketAddr,
        reachable: SocketAddr,
        side: Side,
    ) -> Result<Access, Failure> {
        let mut given = self.given(url)?;
        let mut is_fresh = false;
        if let (None, Some(file)) = (&given, &self.key_file) {
            given = Some(read_or_make(file)?);
        }
        let mut key = given.or(self.of_environment()?);
        if key.is_none() && !self.insecure && !is_loopback(bind) {
            (key, is_fresh) = (Some(fresh_key().map_err(|error| Failure::running(&error))?), true);
        }
        let shown = SessionUrl::new(reachable.to_string(), key.clone());
        let (what, shown) = match side {
            Side::Receiver => ("send to", shown),
            Side::Sender => ("receive from", shown.with_mode(Mode::Caller)),
        };
        match (&key, side) {
            (Some(_), _) if is_fresh => note(&format!("{what} {}", shown.to_secret_text())),
            (Some(_), _) => note(&format!("{what} {shown} with the same key")),
            (None, Side::Sender) => note(&format!("{what} {shown}")),
            (None, Side::Receiver) => {}
        }
        Ok(self.warned(Access { key, insecure: self.insecure }, bind))
    }

    /// The key on the command line.
    fn given(&self, url: &SessionUrl) -> Result<Option<SessionKey>, Failure> {
        let key = url.key().cloned();
        if key.is_some() && (self.insecure || self.key_file.is_some()) {
            let other = if self.insecure { "--insecure" } else { "--key-file" };
            return Err(Failure::input(&format!("{url} has a key: {other} contradicts it")));
        }
        if key.is_some() {
            note(&format!(
                "every user of this host sees the key in the list of processes; --key-file and {VARIABLE} hide it"
            ));
        }
        Ok(key)
    }

    fn of_environment(&self) -> Result<Option<SessionKey>, Failure> {
        let text = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty() && !self.insecure);
        text.map(|text| parse(VARIABLE, &text)).transpose()
    }

    fn warned(&self, access: Access, address: SocketAddr) -> Access {
        if access.key.is_none() && self.insecure && !is_loopback(address) {
            note("INSECURE: no key. Anyone on the path can see the video, replace it and end it");
        }
        access
    }

    /// Writes keys to the file of `--export-keys`.
    pub(crate) fn exporter(&self) -> Result<Option<KeyLog>, Failure> {
        self.export_keys.as_deref().map(KeyLog::create).transpose()
    }
}

/// The master keys of a session as text, for tools that decrypt a capture.
#[derive(Debug)]
pub(crate) struct KeyLog {
    name: String,
    file: File,
}

impl KeyLog {
    const HEAD: &'static str = "# SRTP master keys with their salts in hexadecimal digits, for AEAD_AES_128_GCM (RFC 7714). RTP header \
                        extensions\n# are encrypted (RFC 9335). A line for each direction after each handshake; anyone who reads them can \
                        decrypt the session.\n";

    fn create(name: &str) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::input(&format!("--export-keys {name}: {error}"));
        let mut file =
            private(OpenOptions::new().write(true).create(true).truncate(true)).open(name).map_err(failed)?;
        restrict(&file).map_err(failed)?;
        file.write_all(Self::HEAD.as_bytes()).map_err(failed)?;
        note(&format!("--export-keys: anyone who reads {name} can decrypt this session"));
        Ok(Self { name: name.to_owned(), file })
    }

    /// Adds the keys of one end: of the sender, or of the receiver.
    pub(crate) fn add(&mut self, keys: &SrtpKeys, is_sender: bool) -> Result<(), Failure> {
        let SrtpKeys { send, receive } = keys;
        let (forward, backward) = if is_sender { (send, receive) } else { (receive, send) };
        let lines =
            format!("sender-to-receiver {}\nreceiver-to-sender {}\n", forward.to_hex(), backward.to_hex());
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|error| Failure::running(&format!("{}: {error}", self.name)))
    }
}

/// The first address of a URL's host.
pub(crate) fn resolve(url: &SessionUrl) -> Result<SocketAddr, Failure> {
    let unknown = |why: &dyn std::fmt::Display| Failure::input(&format!("{url}: {why}"));
    let mut addresses = url.authority().to_socket_addrs().map_err(|error| unknown(&error))?;
    addresses.next().ok_or_else(|| unknown(&"no address"))
}

pub(crate) fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

fn parse(name: &str, text: &str) -> Result<SessionKey, Failure> {
    text.trim().parse().map_err(|expected| Failure::input(&format!("{name}: {expected}")))
}

fn read(name: &str) -> Result<SessionKey, Failure> {
    let text = std::fs::read_to_string(name).map_err(|error| Failure::input(&format!("{name}: {error}")))?;
    parse(name, &text)
}

fn read_or_make(name: &str) -> Result<SessionKey, Failure> {
    let failed = |error: std::io::Error| Failure::input(&format!("{name}: {error}"));
    match private(OpenOptions::new().write(true).create_new(true)).open(name) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read(name),
        Err(error) => Err(failed(error)),
        Ok(mut file) => {
            let key = fresh_key().map_err(failed)?;
            file.write_all(format!("{}\n", key.to_text()).as_bytes()).map_err(failed)?;
            note(&format!("a fresh key is in {name}"));
            Ok(key)
        }
    }
}

/// A file that is made is its owner's alone.
#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// One that was there before becomes it.
#[cfg(unix)]
fn restrict(file: &File) -> std::io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

#[cfg(not(unix))]
fn restrict(_file: &File) -> std::io::Result<()> {
    Ok(())
}
