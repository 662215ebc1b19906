//! Root is needed to open devices, not to use them.

use crate::failure::note;
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, getgroups, setgroups, setresgid, setresuid};

/// The user without rights (uid 65534), for a root login that did not come by `sudo`.
const UNPRIVILEGED_ID: u32 = 65_534;

/// Neither this thread nor those that it starts can gain privileges.
pub(crate) fn seal() {
    if let Err(error) = nix::sys::prctl::set_no_new_privs() {
        note(&format!("the process may gain privileges: {error}"));
    }
}

/// Continues as the user who called `sudo`, else as one without rights. All threads do, and their capabilities go with the user. Does
/// nothing where this is not root.
pub(crate) fn give_up() {
    if !Uid::effective().is_root() {
        return;
    }
    let (user, group) = (caller("SUDO_UID"), caller("SUDO_GID"));
    if let Err(error) = become_user(Uid::from_raw(user), Gid::from_raw(group)) {
        note(&format!("the run goes on as root: {error}"));
    }
}

/// What sudo says of its caller.
fn caller(variable: &str) -> u32 {
    let id = std::env::var(variable).ok().and_then(|id| id.parse().ok());
    id.filter(|id| *id != 0).unwrap_or(UNPRIVILEGED_ID)
}

/// In this order, since each step needs the rights that the next one gives up.
fn become_user(user: Uid, group: Gid) -> Result<(), Errno> {
    if !getgroups()?.is_empty() {
        setgroups(&[])?;
    }
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}
