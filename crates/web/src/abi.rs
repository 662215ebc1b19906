//! The functions that JavaScript calls. One request is answered at a time.

#![expect(unsafe_code, reason = "exported names are not checked for being unique")]

use std::sync::{Mutex, PoisonError};

/// The request, then its answer.
static EXCHANGE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Makes room for a request of so many octets and returns its address.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn seaway_request(length: usize) -> *mut u8 {
    let mut exchange = EXCHANGE.lock().unwrap_or_else(PoisonError::into_inner);
    *exchange = vec![0; length];
    exchange.as_mut_ptr()
}

/// Answers the request. Returns the length of the answer in octets.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn seaway_answer() -> usize {
    let mut exchange = EXCHANGE.lock().unwrap_or_else(PoisonError::into_inner);
    *exchange = crate::answer(&String::from_utf8_lossy(&exchange)).into_bytes();
    exchange.len()
}

/// The address of the answer, until the next request.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn seaway_answer_at() -> *const u8 {
    EXCHANGE.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}
