//! The lab for a page: requests and answers as JSON, over three functions that need no generated glue.
//!
//! A page writes a request to the memory that [`seaway_request`] gives it, calls [`seaway_answer`] and reads the answer at
//! [`seaway_answer_at`]. `page/lab.js` does so. In Rust it is one function:
//!
//! ```
//! let answer = seaway_web::answer(r#"{"do": "describe", "file": "squeeze.toml", "library": "squeeze"}"#);
//! assert!(answer.contains(r#""duration_s":30.0"#), "{answer}");
//! ```
//!
//! The module imports nothing: it has no clock, no randomness and no files but those of the library.

mod abi;
mod describe;
mod papers;
mod request;
mod run;

pub use abi::{seaway_answer, seaway_answer_at, seaway_request};
pub use request::answer;
