//! The emulator between real sockets.

use seaway_link::{
    DropTailConfig, Link, LinkConfig, LinkStatistics, LossConfig, Node, Outbox, Packet, Port, QueueConfig,
    Wake,
};
use seaway_net::{Clock, Emulator, Frame, Machine, Outlet, Reactor, Socket, Waker};
use seaway_units::{Bitrate, Ecn, TimeDelta, Timestamp};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

fn link(delay_ms: i64, loss: f64) -> Link<Frame> {
    let config = LinkConfig {
        rate: Some(Bitrate::from_mbps(100)),
        delay: TimeDelta::from_millis(delay_ms),
        queue: Some(QueueConfig::DropTail(DropTailConfig::packets(1000))),
        loss: (loss > 0.0).then(|| LossConfig::Independent { rate: loss, at: Default::default() }),
        ..LinkConfig::default()
    };
    Link::new(&config.plan().unwrap(), 7, "link").unwrap()
}

struct Running {
    near: SocketAddr,
    waker: Waker,
    thread: JoinHandle<Box<dyn Machine>>,
}

/// A link there and one back: the least of networks.
#[derive(Debug)]
struct Pair([Link<Frame>; 2]);

impl Pair {
    fn forth(&self, now: Timestamp) -> LinkStatistics {
        self.0[0].statistics(now)
    }
}

impl Node<Frame> for Pair {
    fn on_packet(
        &mut self,
        now: Timestamp,
        port: Port,
        packet: Packet<Frame>,
        out: &mut Outbox<Frame>,
    ) -> Wake {
        let mut left = Outbox::default();
        let wake = self.0[usize::from(port.0)].on_packet(now, Link::<Frame>::IN, packet, &mut left);
        assert_eq!(wake, None, "both links are closed-form");
        while let Some(departure) = left.pop_departure(Timestamp::from_nanos(u64::MAX)) {
            out.send(departure.at, Port(1 - port.0), departure.packet);
        }
        while let Some(dropped) = left.pop_dropped() {
            out.drop(dropped);
        }
        None
    }

    fn run(&mut self, _now: Timestamp, _until: Timestamp, _out: &mut Outbox<Frame>) -> Wake {
        None
    }
}

fn emulator(far: SocketAddr, network: Pair) -> Emulator<Pair> {
    let outlets = [Outlet::Udp { peer: None }, Outlet::Udp { peer: Some(far) }];
    Emulator::new(Timestamp::ZERO, network, &outlets, channel().1)
}

/// A network towards `far` on a thread of its own.
fn start(far: SocketAddr, network: Pair) -> Running {
    let sockets: Vec<_> = (0..2).map(|_| Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap()).collect();
    let near = sockets[0].local_address().unwrap();
    let mut reactor = Reactor::new(Clock::start()).unwrap();
    let waker = reactor.waker();
    reactor.add(Box::new(emulator(far, network)), sockets).unwrap();
    let thread = std::thread::spawn(move || reactor.run(None).unwrap().remove(0).machine);
    Running { near, waker, thread }
}

fn peer() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 100];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    (buffer[..length].to_vec(), from)
}

#[test]
fn datagrams_cross_in_order_and_come_back() {
    let (near, far, unknown) = (peer(), peer(), peer());
    let running = start(far.local_addr().unwrap(), Pair([link(1, 0.0), link(1, 0.0)]));
    for index in 0..50u8 {
        near.send_to(&[index], running.near).unwrap();
    }
    let mut near_address = None;
    for index in 0..50u8 {
        let (data, from) = receive(&far);
        assert_eq!(data, [index]);
        near_address = Some(from);
    }
    unknown.send_to(b"let me in", near_address.unwrap()).unwrap();
    far.send_to(b"answer", near_address.unwrap()).unwrap();
    assert_eq!(receive(&near), (b"answer".to_vec(), running.near));
    running.waker.stop();
    running.thread.join().unwrap();
}

#[test]
fn a_channel_that_loses_everything_delivers_nothing() {
    let (near, far) = (peer(), peer());
    let running = start(far.local_addr().unwrap(), Pair([link(0, 1.0), link(0, 0.0)]));
    near.send_to(b"lost", running.near).unwrap();
    far.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(far.recv_from(&mut [0; 10]).is_err());
    running.waker.stop();
    running.thread.join().unwrap();
}

#[test]
fn the_statistics_are_kept() {
    let far: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let mut emulator = emulator(far, Pair([link(10, 0.3), link(10, 0.0)]));
    let from = "127.0.0.1:5000".parse().unwrap();
    let at = |millis| Timestamp::ZERO + TimeDelta::from_millis(millis);
    let mut delivered = 0;
    for millis in 0..1000 {
        let datagram = seaway_net::Incoming { from, at: at(millis), ecn: Ecn::Ect1, data: &[1; 100] };
        emulator.handle_datagram(at(millis), 0, &datagram);
        emulator.handle_timeout(at(millis));
        while let Some(outgoing) = emulator.poll_datagram(at(millis), &mut Vec::new()) {
            assert_eq!((outgoing.socket, outgoing.to, outgoing.ecn), (1, far, Ecn::Ect1));
            delivered += 1;
        }
    }
    let statistics = emulator.network().forth(emulator.now());
    assert_eq!(statistics.arrivals.packets, 1000);
    assert_eq!(statistics.delivered.packets, delivered);
    assert_eq!(statistics.arrivals.packets, delivered + statistics.drops.channel + statistics.inside);
    assert_eq!(emulator.inside(), statistics.inside);
    let unknown = seaway_net::Incoming { from: far, at: at(1000), ecn: Ecn::NotEct, data: &[2] };
    emulator.handle_datagram(at(1000), 0, &unknown);
    assert_eq!(emulator.counts().next().unwrap().refused, 1);
}
