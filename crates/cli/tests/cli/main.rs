//! The binary as a user meets it: one module a command.

mod generate;
mod list;
mod reproduce;
mod score;
mod shape;
mod sim;
mod sweep;
mod tutorial;
mod util;
