//! S002's window transport on a socket: another pair of machines under the same [`Sender`](super::Sender) and
//! [`Receiver`](super::Receiver).

mod receiver;
mod sender;

pub(super) use receiver::WindowReceiverMachine;
pub(super) use sender::{SessionQueues, WindowSenderMachine};
