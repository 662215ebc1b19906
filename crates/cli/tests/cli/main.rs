//! The binary as a user meets it: one module a command.

mod documents;
mod generate;
mod list;
mod reproduce;
#[path = "../schema/mod.rs"]
mod schema;
mod score;
mod shape;
mod sim;
mod sweep;
mod tutorial;
mod util;
