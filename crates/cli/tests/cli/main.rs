//! The binary as a user meets it: one module a command.

mod list;
mod reproduce;
mod score;
mod shape;
mod sim;
mod tutorial;
mod util;
