//! The live commands as a user meets them: real processes, real sockets.

mod breaker;
mod browser;
mod changing_link;
mod client_buffer;
mod compare;
mod configuration;
mod confined;
mod console;
mod copy;
mod emulate;
mod encoder;
mod endings;
mod estimate;
mod export;
mod hostile;
mod keyed;
mod lane;
mod namespaces;
mod plain_rtp;
mod player;
mod process;
mod recordings;
mod relay;
#[path = "../schema/mod.rs"]
mod schema;
mod scorecard;
mod shape;
mod sound;
mod stamp;
mod stream;
mod subflows;
mod tls;
mod usage;
mod web;
mod whip;
mod window;
