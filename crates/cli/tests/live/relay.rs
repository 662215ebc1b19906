//! An attacker on the path between sender and receiver.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
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
    /// From the 100th on nothing of the receiver's goes back.
    Mute,
}

/// Forwards datagrams both ways until it is dropped, each way by a thread of its own: neither waits for the other.
pub(crate) struct Relay {
    port: u16,
    attacks: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Where the sender's datagrams come from, once there was one.
type Sender = Arc<Mutex<Option<SocketAddr>>>;

impl Relay {
    pub(crate) fn start(receiver: u16, attack: Attack) -> Self {
        let near = socket();
        let port = near.local_addr().unwrap().port();
        let (attacks, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (sender, receiver) = (Sender::default(), SocketAddr::from(([127, 0, 0, 1], receiver)));
        let far = [socket(), socket()];
        let mut threads = Vec::new();
        for far in &far {
            let (far, near) = (far.try_clone().unwrap(), near.try_clone().unwrap());
            let (sender, count, end) = (sender.clone(), attacks.clone(), stop.clone());
            threads.push(std::thread::spawn(move || {
                let is_muted = || attack == Attack::Mute && count.load(Ordering::Relaxed) > 0;
                backward(&far, &near, &sender, &is_muted, &end);
            }));
        }
        let (count, end) = (attacks.clone(), stop.clone());
        threads.push(std::thread::spawn(move || {
            forward(&near, &far, receiver, attack, &sender, &count, &end);
        }));
        Self { port, attacks, stop, threads }
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
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A socket that looks up now and then whether the relay ends.
fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    socket
}

/// Everything that the receiver sends goes to the sender as it is, until it is muted.
fn backward(
    far: &UdpSocket,
    near: &UdpSocket,
    sender: &Sender,
    is_muted: &impl Fn() -> bool,
    stop: &AtomicBool,
) {
    let mut buffer = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        let Ok((len, _)) = far.recv_from(&mut buffer) else { continue };
        if is_muted() {
            continue;
        }
        let sender = *sender.lock().unwrap();
        let _ = sender.map(|sender| near.send_to(&buffer[..len], sender));
    }
}

fn forward(
    near: &UdpSocket,
    far: &[UdpSocket; 2],
    receiver: SocketAddr,
    attack: Attack,
    sender: &Sender,
    attacks: &AtomicU64,
    stop: &AtomicBool,
) {
    let (mut buffer, mut seen) = ([0; 2048], Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let Ok((len, from)) = near.recv_from(&mut buffer) else { continue };
        *sender.lock().unwrap() = Some(from);
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
            Attack::Rebind | Attack::Mute => count > 100,
        };
        attacks.fetch_add(u64::from(is_attack), Ordering::Relaxed);
    }
}
