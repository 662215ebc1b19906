//! A link as queue, server and pipe, with loss, jitter and capacity; sans-I/O.
