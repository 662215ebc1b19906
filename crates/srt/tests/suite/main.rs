//! Two ends over a path in virtual time.

mod exercise;
mod hostile;
mod path;
mod streams;
