//! Where there is no Linux, nothing confines the decoder's process.

/// Gives what is not done, in words.
pub(super) fn confine() -> Vec<String> {
    vec!["this system has neither Landlock nor seccomp".to_owned()]
}
