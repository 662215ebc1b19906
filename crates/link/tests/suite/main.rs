//! Links and queues driven through their public interface.

mod host;
mod link;
mod trace;
