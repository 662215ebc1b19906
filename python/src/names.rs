//! Texts that live as long as the process: a controller's names and causes are such in Rust.

use crate::error;
use pyo3::PyResult;
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

/// More different texts than these are no names.
const MOST: usize = 65_536;
/// A name is not longer, in octets.
const LONGEST: usize = 256;

static NAMES: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);

/// The one copy of `text`. Each text is kept once and for ever, so their number is bounded.
pub(crate) fn intern(text: &str) -> PyResult<&'static str> {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = names.get(text) {
        return Ok(name);
    }
    if text.len() > LONGEST {
        return Err(error::input(format!("{text:.40}…: a name has at most {LONGEST} octets")));
    }
    if names.len() >= MOST {
        return Err(error::input(format!("more than {MOST} different names and causes")));
    }
    let name: &'static str = Box::leak(text.into());
    names.insert(name);
    Ok(name)
}
