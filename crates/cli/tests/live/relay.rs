//! Somebody on the path between sender and receiver.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is done to the datagrams to the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attack {
    /// Each tenth has a bit flipped.
    Flip,
    /// Each comes again, at once and when 300 others have passed.
    Replay,
    /// From the 100th on they come from another port, as behind a NAT that forgot.
    Rebind,
}

/// Forwards datagrams both ways until it is dropped.
pub(crate) struct Relay {
    port: u16,
    attacks: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    pub(crate) fn start(receiver: u16, attack: Attack) -> Self {
        let socket = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            socket
        };
        let (near, far) = (socket(), [socket(), socket()]);
        let port = near.local_addr().unwrap().port();
        let (attacks, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, end) = (attacks.clone(), stop.clone());
        let receiver = SocketAddr::from(([127, 0, 0, 1], receiver));
        let thread = std::thread::spawn(move || forward(&near, &far, receiver, attack, &count, &end));
        Self { port, attacks, stop, thread: Some(thread) }
    }

    /// Where the sender sends to.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Datagrams that were changed, repeated or moved so far.
    pub(crate) fn attacks(&self) -> u64 {
        self.attacks.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn forward(
    near: &UdpSocket,
    far: &[UdpSocket; 2],
    receiver: SocketAddr,
    attack: Attack,
    attacks: &AtomicU64,
    stop: &AtomicBool,
) {
    let (mut buffer, mut sender, mut seen) = ([0; 2048], None, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        while let Ok((len, from)) = near.recv_from(&mut buffer) {
            sender = Some(from);
            seen.push(buffer[..len].to_vec());
            let count = seen.len();
            let mut out = &far[0];
            match attack {
                Attack::Flip if count.is_multiple_of(10) => buffer[count * 7 % len] ^= 1 << (count % 8),
                Attack::Rebind if count > 100 => out = &far[1],
                _ => {}
            }
            let _ = out.send_to(&buffer[..len], receiver);
            if attack == Attack::Replay {
                let _ = out.send_to(&seen[count - 1], receiver);
                let old = count.saturating_sub(300);
                let _ = out.send_to(&seen[old], receiver);
            }
            let is_attack = match attack {
                Attack::Flip => count.is_multiple_of(10),
                Attack::Replay => true,
                Attack::Rebind => count > 100,
            };
            attacks.fetch_add(u64::from(is_attack), Ordering::Relaxed);
        }
        for socket in far {
            while let (Ok((len, _)), Some(sender)) = (socket.recv_from(&mut buffer), sender) {
                let _ = near.send_to(&buffer[..len], sender);
            }
        }
    }
}
