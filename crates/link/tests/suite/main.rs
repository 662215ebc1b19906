//! Links and queues driven through their public interface.

mod host;
mod link;
mod properties;
mod queueing;
mod trace;
