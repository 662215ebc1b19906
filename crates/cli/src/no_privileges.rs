//! Root is not needed where no device is opened.

/// Nothing is sealed here.
pub(crate) const fn seal() {}

/// Nothing is given up; a run as root prints a warning.
pub(crate) fn give_up() {
    #[cfg(unix)]
    if nix::unistd::Uid::effective().is_root() {
        crate::failure::note("the run goes on as root: nothing in it needs that");
    }
}
