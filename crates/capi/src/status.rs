//! The status of a call, and the reason of a failure.

#![expect(unsafe_code, reason = "names without mangling")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call. After a status below zero nothing was changed or written, and `seaway_last_error` gives the reason.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeawayStatus {
    /// The call succeeded.
    Ok = 0,
    /// There is no (further) result.
    None = 1,
    /// A pointer is null.
    NullPointer = -1,
    /// `struct_size` is not that of the structure in this version of the library.
    StructSize = -2,
    /// A text, a number or a name is invalid.
    InvalidArgument = -3,
    /// Time ran back.
    TimeRanBack = -4,
    /// The system refuses a socket, a thread or random numbers, or the codec failed.
    System = -5,
    /// An internal fault of this library. Every later call with the handle returns this; free it.
    Panicked = -6,
}

/// Why a call did nothing.
#[derive(Debug)]
pub(crate) struct Failure {
    status: SeawayStatus,
    why: String,
}

impl Failure {
    pub(crate) fn new(status: SeawayStatus, why: impl fmt::Display) -> Self {
        Self { status, why: why.to_string() }
    }

    pub(crate) fn invalid(why: impl fmt::Display) -> Self {
        Self::new(SeawayStatus::InvalidArgument, why)
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs a call: its failure becomes a status and the thread's last error, and so does a panic.
pub(crate) fn guard(call: impl FnOnce() -> Result<SeawayStatus, Failure>) -> SeawayStatus {
    // What a call was changing is behind a handle, which notes that it panicked.
    let result = catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(Failure::new(SeawayStatus::Panicked, "a fault of the library")));
    result.unwrap_or_else(|Failure { status, why }| {
        let why = CString::new(why.replace('\0', " ")).unwrap_or_default();
        // A thread that is ending has no more use for it.
        let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = why);
        status
    })
}

/// The reason why the last failed call of this thread failed, in English. Valid until the thread's next call. Empty before the first.
// SAFETY: the name is of this library's own prefix.
#[unsafe(no_mangle)]
pub extern "C" fn seaway_last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The version of the library, such as "0.2.0".
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn seaway_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version without a zero"),
        };
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_at_the_border() {
        assert_eq!(guard(|| panic!("on purpose")), SeawayStatus::Panicked);
        // SAFETY: a text that ends with a zero, of this thread.
        let last = unsafe { CStr::from_ptr(seaway_last_error()) };
        assert_eq!(last, c"a fault of the library");
        assert_eq!(guard(|| Ok(SeawayStatus::None)), SeawayStatus::None);
    }
}
