//! A sender that listens, and a receiver that calls it.

use super::keys::{self, Access, Side};
use super::options::LiveOptions;
use crate::failure::Failure;
use seaway_session::{Mode, SessionUrl};
use seaway_stream::{Error, Receiver, ReceiverBuilder, Sender, SenderBuilder};
use std::io::ErrorKind;

/// Whether receivers call a sender that has this URL.
pub(crate) fn is_listener(url: &SessionUrl) -> bool {
    url.mode() == Some(Mode::Listener)
}

/// Whether a receiver that has this URL calls the sender there.
pub(crate) fn is_caller(url: &SessionUrl) -> bool {
    url.mode() == Some(Mode::Caller)
}

/// Whether other hosts can reach the address of `url`, as far as known.
pub(crate) fn is_open(url: &SessionUrl) -> bool {
    !keys::resolve(url).is_ok_and(keys::is_loopback)
}

/// A sender that listens at the address of `url`. Prints by which URL a receiver calls it.
pub(crate) fn sender(url: &SessionUrl, options: &LiveOptions) -> Result<SenderBuilder, Failure> {
    let bind = options.network.local(keys::resolve(url)?)?;
    let Access { key, insecure } =
        options.keys.of_listener(url, bind, options.network.reachable(bind)?, Side::Sender)?;
    Ok(Sender::listener(bind).key(key).insecure(insecure))
}

/// A receiver that calls the sender at the address of `url`.
pub(crate) fn receiver(url: &SessionUrl, options: &LiveOptions) -> Result<ReceiverBuilder, Failure> {
    let to = keys::resolve(url)?;
    let Access { key, insecure } = options.keys.of_caller(url, to, Side::Receiver)?;
    Ok(Receiver::caller(to).key(key).insecure(insecure))
}

/// The failure of a receiver whose local address is none of this host: perhaps it is the sender's.
pub(crate) fn explained(error: Error) -> Failure {
    match &error {
        Error::Bind { error: cause, .. } if cause.kind() == ErrorKind::AddrNotAvailable => {
            Failure::input(&format!("{error}; to call a sender that listens there, add ?mode=caller"))
        }
        _ => error.into(),
    }
}

/// Refuses the first of these options that is given: they have no use at `url`.
pub(crate) fn refuse(url: &SessionUrl, given: &[(bool, &str)]) -> Result<(), Failure> {
    match given.iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(Failure::input(&format!("{option} does not apply to {url}"))),
        None => Ok(()),
    }
}
