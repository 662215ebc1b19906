//! Pointers of a caller: the one place where they are followed.

#![expect(unsafe_code, reason = "a C caller passes pointers; each is compared with null here")]

use crate::SEAWAY_TEXT;
use crate::status::{Failure, SeawayStatus, guard};
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The longest text of a caller: an address, a key, a controller with its options.
const LONGEST_TEXT: usize = 4096;
/// The most octets or elements of one array.
const LONGEST_ARRAY: usize = 64 << 20;

/// A structure of the header: every bit pattern is a value, and its first member is its size.
///
/// # Safety
/// It is `repr(C)`, has nothing but numbers, arrays of them and pointers, and begins with `struct_size: u32`.
pub(crate) unsafe trait Structure: Copy {}

fn null(what: &str) -> Failure {
    Failure::new(SeawayStatus::NullPointer, format_args!("{what} is null"))
}

/// Compares the size that a structure states.
///
/// # Safety
/// A pointer that is not null points to a `T`, or to at least its first member.
unsafe fn check<T: Structure>(pointer: *const T, what: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: the first member is there; it need not be aligned.
    let size = unsafe { pointer.cast::<u32>().read_unaligned() };
    if usize::try_from(size).ok() == Some(size_of::<T>()) {
        return Ok(());
    }
    let why = format!("{what} states a size of {size}; here it has {}", size_of::<T>());
    Err(Failure::new(SeawayStatus::StructSize, why))
}

/// Reads a structure of a caller.
///
/// # Safety
/// As for [`check`].
pub(crate) unsafe fn read<T: Structure>(pointer: *const T, what: &str) -> Result<T, Failure> {
    // SAFETY: as the caller promises; then all of a `T` is there, and every bit pattern is one.
    unsafe {
        check(pointer, what)?;
        Ok(pointer.read_unaligned())
    }
}

/// Writes a structure for a caller, who has stated its size.
///
/// # Safety
/// As for [`check`], and it is not used elsewhere meanwhile.
pub(crate) unsafe fn write<T: Structure>(pointer: *mut T, what: &str, value: T) -> Result<(), Failure> {
    // SAFETY: as for `read`.
    unsafe {
        check(pointer.cast_const(), what)?;
        pointer.write_unaligned(value);
    }
    Ok(())
}

/// Writes a number for a caller.
///
/// # Safety
/// A pointer that is not null points to a `u64` that is not used elsewhere meanwhile.
pub(crate) unsafe fn write_number(pointer: *mut u64, what: &str, value: u64) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: as the caller promises.
    unsafe { pointer.write_unaligned(value) };
    Ok(())
}

/// The elements of an array of structures. Each states its size.
///
/// # Safety
/// A pointer that is not null points to `count` elements.
pub(crate) unsafe fn read_all<T: Structure>(
    pointer: *const T,
    count: usize,
    what: &str,
) -> Result<Vec<T>, Failure> {
    if count > LONGEST_ARRAY / size_of::<T>() {
        return Err(Failure::invalid(format_args!("{count} {what} are too many")));
    }
    // SAFETY: each of them is there.
    (0..count).map(|index| unsafe { read(pointer.wrapping_add(index), what) }).collect()
}

/// The octets of an array; none where `count` is 0.
///
/// # Safety
/// A pointer that is not null points to `count` octets, which is not changed as long as the result lives.
#[cfg(feature = "stream")]
pub(crate) unsafe fn octets<'a>(pointer: *const u8, count: usize, what: &str) -> Result<&'a [u8], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(what));
    }
    if count > LONGEST_ARRAY {
        return Err(Failure::invalid(format_args!("{what}: {count} octets are too many")));
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A text of a caller; `None` for a null pointer.
///
/// # Safety
/// A pointer that is not null points to a text that ends with a zero, which is not changed as long as the result lives.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let octets = unsafe { CStr::from_ptr(pointer) }.to_bytes();
    if octets.len() > LONGEST_TEXT {
        return Err(Failure::invalid(format_args!("{what} has more than {LONGEST_TEXT} octets")));
    }
    let text = str::from_utf8(octets).map_err(|_| Failure::invalid(format_args!("{what} is not UTF-8")))?;
    Ok(Some(text))
}

/// A text that must be there.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn required<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: as the caller promises.
    unsafe { text(pointer, what) }?.ok_or_else(|| null(what))
}

/// A text for a member of a structure: cut at [`SEAWAY_TEXT`], it ends with a zero.
pub(crate) fn text_member(text: &str) -> [c_char; SEAWAY_TEXT] {
    let mut member = [0; SEAWAY_TEXT];
    for (to, octet) in member[..SEAWAY_TEXT - 1].iter_mut().zip(text.bytes()) {
        *to = octet as c_char;
    }
    member
}

/// What a handle points to.
#[derive(Debug)]
pub(crate) struct Handle<T> {
    /// `None` after a panic inside it.
    value: Option<T>,
}

impl<T> Handle<T> {
    /// Gives a handle to a caller.
    ///
    /// # Safety
    /// A pointer that is not null points to a place for the handle.
    pub(crate) unsafe fn give<P>(
        to: *mut *mut P,
        make: impl FnOnce() -> Result<T, Failure>,
        wrap: impl FnOnce(Self) -> P,
    ) -> SeawayStatus {
        guard(|| {
            if to.is_null() {
                return Err(null("where the handle goes"));
            }
            let handle = Box::into_raw(Box::new(wrap(Self { value: Some(make()?) })));
            // SAFETY: as the caller promises.
            unsafe { to.write_unaligned(handle) };
            Ok(SeawayStatus::Ok)
        })
    }

    /// Calls a function of what is inside. It is dropped if that panics.
    pub(crate) fn call(
        &mut self,
        call: impl FnOnce(&mut T) -> Result<SeawayStatus, Failure>,
    ) -> Result<SeawayStatus, Failure> {
        let Some(value) = &mut self.value else {
            return Err(Failure::new(SeawayStatus::Panicked, "this handle met a fault of the library"));
        };
        catch_unwind(AssertUnwindSafe(|| call(value))).unwrap_or_else(|panic| {
            self.value = None;
            resume_unwind(panic)
        })
    }
}

/// Calls a function of what a handle points to.
///
/// # Safety
/// A pointer that is not null was given out by this library, was not freed since, and it is not used elsewhere meanwhile.
pub(crate) unsafe fn with<P, T>(
    handle: *mut P,
    inner: impl FnOnce(&mut P) -> &mut Handle<T>,
    call: impl FnOnce(&mut T) -> Result<SeawayStatus, Failure>,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    guard(|| match unsafe { handle.as_mut() } {
        Some(handle) => inner(handle).call(call),
        None => Err(null("the handle")),
    })
}

/// Ends what a handle points to. Null is allowed.
///
/// # Safety
/// As for [`with`]; it is not used again.
pub(crate) unsafe fn free<P>(handle: *mut P) {
    guard(|| {
        if !handle.is_null() {
            // SAFETY: as the caller promises: it came from a `Box`.
            drop(unsafe { Box::from_raw(handle) });
        }
        Ok(SeawayStatus::Ok)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic inside spoils the handle, and it alone.
    #[test]
    fn a_spoilt_handle_answers_nothing_else() {
        let mut handle = Handle { value: Some(1_u8) };
        let mut call = |act: fn(&mut u8) -> Result<SeawayStatus, Failure>| guard(|| handle.call(act));
        assert_eq!(call(|_| Ok(SeawayStatus::Ok)), SeawayStatus::Ok);
        assert_eq!(call(|_| panic!("on purpose")), SeawayStatus::Panicked);
        assert_eq!(call(|_| Ok(SeawayStatus::Ok)), SeawayStatus::Panicked);
    }

    #[test]
    fn texts_are_cut_and_end_with_a_zero() {
        let member = text_member(&"x".repeat(100));
        assert_eq!((member[SEAWAY_TEXT - 2], member[SEAWAY_TEXT - 1]), (b'x' as c_char, 0));
    }
}
