//! Sends packets, each at its time, on a thread of its own.

use super::address::{Address, Transport};
use super::metrics::Histograms;
use super::source::PAYLOAD_TYPE;
use super::srt::{Link, SrtReport};
use crate::failure::{Failure, note};
use seaway_mpeg::live::{Departure, Departures};
use seaway_net::{Clock, Lateness, make_real_time};
use seaway_quality::histogram::Histogram;
use seaway_units::{TimeDelta, Timestamp};
use seaway_wire::rtp;
use std::net::UdpSocket;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Packets that may wait: 19 MB.
const WAITING: usize = 100_000;
/// A silent input is looked at so often.
const POLL: TimeDelta = TimeDelta::from_millis(100);

/// Counts of the output.
#[derive(Debug, Clone)]
pub(super) struct SinkReport {
    pub(super) datagrams: u64,
    pub(super) octets: u64,
    /// Datagrams that the kernel refused.
    pub(super) refused: u64,
    /// From the arrival of a packet to its departure.
    pub(super) delay: Histogram,
    /// Behind the instant at which it was due.
    pub(super) lateness: Lateness,
    pub(super) srt: Option<SrtReport>,
}

/// The way to the sending thread.
#[derive(Debug)]
pub(super) struct Sink {
    packets: SyncSender<Departure>,
    report: Arc<Mutex<SinkReport>>,
    link: Option<Arc<Link>>,
}

impl Sink {
    /// Sends datagrams.
    pub(super) fn open(
        name: &str,
        address: &Address,
        clock: Clock,
        observed: Option<Histograms>,
    ) -> Result<Sink, Failure> {
        let socket = address.connect().map_err(|error| Failure::input(&format!("{name}: {error}")))?;
        let framing = Framing { transport: address.transport, sequence: 0 };
        Ok(Self::start(Way::Datagrams { socket, framing }, clock, observed, None))
    }

    /// Sends by SRT.
    pub(super) fn drive(link: Arc<Link>, clock: Clock, observed: Option<Histograms>) -> Sink {
        let driven = link.clone();
        thread::spawn(move || driven.run(|_| true));
        Self::start(Way::Srt(link.clone()), clock, observed, Some(link))
    }

    fn start(way: Way, clock: Clock, observed: Option<Histograms>, link: Option<Arc<Link>>) -> Sink {
        let (packets, waiting) = sync_channel(WAITING);
        let report = Arc::new(Mutex::new(SinkReport {
            datagrams: 0,
            octets: 0,
            refused: 0,
            delay: Histogram::default(),
            lateness: Lateness::new(),
            srt: None,
        }));
        let sender = Sender { way, clock, report: report.clone(), observed };
        thread::spawn(move || sender.run(&waiting));
        Sink { packets, report, link }
    }

    pub(super) fn push(&self, packet: Departure) -> Result<(), Failure> {
        self.packets.send(packet).map_err(|_| Failure::running(&"the sending thread has ended"))
    }

    pub(super) fn report(&self) -> SinkReport {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        SinkReport { srt: self.link.as_ref().map(|link| link.report()), ..report }
    }
}

/// How datagrams leave.
enum Way {
    Datagrams { socket: UdpSocket, framing: Framing },
    Srt(Arc<Link>),
}

impl Way {
    /// Sends packets together. Octets that left, and whether the kernel took them.
    fn send(&mut self, now: Timestamp, packets: &[Departure]) -> (usize, bool) {
        match self {
            Way::Datagrams { socket, framing } => {
                let data = framing.frame(packets);
                (data.len(), socket.send(&data).is_ok())
            }
            Way::Srt(link) => {
                let data: Vec<u8> = packets.iter().flat_map(|packet| packet.bytes).collect();
                (data.len(), link.push(now, &data))
            }
        }
    }
}

struct Sender {
    way: Way,
    clock: Clock,
    report: Arc<Mutex<SinkReport>>,
    /// For the metrics.
    observed: Option<Histograms>,
}

impl Sender {
    fn run(mut self, waiting: &Receiver<Departure>) {
        if let Err(refusal) = make_real_time() {
            note(&refusal);
        }
        let mut departures = Departures::default();
        loop {
            let wait = departures.poll_timeout().map_or(POLL, |due| due.since(self.clock.now()));
            match waiting.recv_timeout(Duration::from_nanos(wait.as_nanos().max(0) as u64)) {
                Ok(packet) => {
                    departures.push(packet);
                    waiting.try_iter().for_each(|packet| departures.push(packet));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = self.clock.now();
            loop {
                let datagram = departures.poll_datagram(now);
                if datagram.is_empty() {
                    break;
                }
                self.send(now, &datagram);
            }
        }
    }

    fn send(&mut self, now: Timestamp, packets: &[Departure]) {
        let (octets, is_sent) = self.way.send(now, packets);
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.datagrams += 1;
        report.octets += octets as u64;
        // A datagram that the kernel refuses is lost, as on any network.
        report.refused += u64::from(!is_sent);
        for packet in packets {
            report.delay.add(now.since(packet.arrival));
            report.lateness.note(packet.due, now);
            if let Some(observed) = &self.observed {
                observed.observe(now.since(packet.arrival), now.since(packet.due));
            }
        }
    }
}

/// Puts packets into datagrams.
#[derive(Debug)]
struct Framing {
    transport: Transport,
    sequence: u16,
}

impl Framing {
    fn frame(&mut self, packets: &[Departure]) -> Vec<u8> {
        let mut data = Vec::with_capacity(rtp::HEADER_LEN + 188 * packets.len());
        if self.transport == Transport::Rtp {
            let due = packets.first().map_or(Timestamp::ZERO, |packet| packet.due);
            // 90 kHz, when the first octet leaves (RFC 2250, 2).
            let timestamp = (u128::from(due.as_nanos()) * 9 / 100_000) as u32;
            let header = rtp::Header {
                payload_type: PAYLOAD_TYPE,
                sequence_number: self.sequence,
                timestamp,
                ssrc: SSRC,
                ..rtp::Header::default()
            };
            self.sequence = self.sequence.wrapping_add(1);
            data.resize(rtp::HEADER_LEN, 0);
            header.emit(&mut data).expect("a plain header always fits");
        }
        packets.iter().for_each(|packet| data.extend_from_slice(&packet.bytes));
        data
    }
}

/// Our only source.
const SSRC: u32 = 0x5ea_3a9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtp_packets_count_and_have_the_time_of_their_departure() {
        let mut framing = Framing { transport: Transport::Rtp, sequence: u16::MAX };
        let due = Timestamp::ZERO + TimeDelta::from_secs(2);
        let packet = Departure { arrival: Timestamp::ZERO, due, bytes: [0x47; 188] };
        for sequence in [u16::MAX, 0] {
            let data = framing.frame(&[packet.clone(), packet.clone()]);
            let parsed = rtp::Packet::parse(&data).unwrap();
            assert_eq!((parsed.header.sequence_number, parsed.header.timestamp), (sequence, 180_000));
            assert_eq!((parsed.header.payload_type, parsed.payload.len()), (33, 376));
        }
    }
}
