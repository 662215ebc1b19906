//! The packets of a live stream, in order, each with its arrival.

use super::address::{Address, Transport};
use super::srt::{Link, SrtReport};
use crate::failure::{Failure, note};
use seaway_mpeg::container::PacketView;
use seaway_net::{Clock, make_real_time};
use seaway_units::Timestamp;
use seaway_wire::rtp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Datagrams that may wait for the shaper.
const WAITING: usize = 16_384;
/// RTP packets that wait for one before them.
const REORDERED: usize = 16;
/// A sequence number that is further off begins a new stream.
const FARTHEST: i64 = 1000;

/// A datagram.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) at: Timestamp,
    pub(super) data: Vec<u8>,
}

/// Receives on a thread of its own, so that arrivals are stamped whatever the shaper does.
pub(super) fn listen(name: &str, address: &Address, clock: Clock) -> Result<Receiver<Arrival>, Failure> {
    let socket = address.listen().map_err(|error| Failure::input(&format!("{name}: {error}")))?;
    let (sender, arrivals) = sync_channel(WAITING);
    let name = name.to_owned();
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        // The thread that sends reports a refusal.
        let _ = make_real_time();
        loop {
            match socket.recv(&mut buffer) {
                Ok(length) => {
                    if !forward(&sender, Arrival { at: clock.now(), data: buffer[..length].to_vec() }) {
                        return;
                    }
                }
                Err(error) if is_passing(error.kind()) => {}
                Err(error) => return note(&format!("{name}: {error}")),
            }
        }
    });
    Ok(arrivals)
}

/// Receives by SRT: packets arrive when they are due, in order, with the distances that the sender gave them.
pub(super) fn drive(link: Arc<Link>) -> Receiver<Arrival> {
    let (sender, arrivals) = sync_channel(WAITING);
    thread::spawn(move || {
        link.run(|delivery| forward(&sender, Arrival { at: delivery.at, data: delivery.payload }));
    });
    arrivals
}

/// False once the receiving end of the channel is gone. A shaper that is too slow loses nothing here, but in the kernel.
fn forward(sender: &SyncSender<Arrival>, arrival: Arrival) -> bool {
    sender.send(arrival).is_ok()
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Interrupted | ErrorKind::ConnectionRefused | ErrorKind::WouldBlock)
}

/// Counts of the input.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct SourceReport {
    pub(super) datagrams: u64,
    pub(super) octets: u64,
    /// Datagrams that are no RTP packet with MPEG-2 TS, or hold no whole transport packets.
    pub(super) malformed: u64,
    /// RTP packets that did not come, ...
    pub(super) lost: u64,
    /// ... and those that came twice or too late.
    pub(super) late: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) srt: Option<SrtReport>,
}

/// Takes transport packets out of datagrams.
#[derive(Debug)]
pub(super) struct Unpacker {
    transport: Transport,
    /// The sequence number that is next, extended beyond 16 bits.
    next: Option<i64>,
    held: BTreeMap<i64, Arrival>,
    report: SourceReport,
    link: Option<Arc<Link>>,
}

/// `MP2T` (RFC 3551, 6).
pub(super) const PAYLOAD_TYPE: u8 = 33;

impl Unpacker {
    pub(super) fn new(transport: Transport) -> Unpacker {
        Unpacker { transport, next: None, held: BTreeMap::new(), report: SourceReport::default(), link: None }
    }

    /// Each payload of SRT is as a datagram.
    pub(super) fn of_link(link: Arc<Link>) -> Unpacker {
        Unpacker { link: Some(link), ..Self::new(Transport::Udp) }
    }

    /// Closes the connection of a listener; false where the input is none.
    pub(super) fn drop_caller(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.drop_caller())
    }

    pub(super) fn report(&self) -> SourceReport {
        SourceReport { srt: self.link.as_ref().map(|link| link.report()), ..self.report.clone() }
    }

    /// Calls `take` for the packets that are in order now.
    pub(super) fn push<E>(
        &mut self,
        arrival: &Arrival,
        mut take: impl FnMut(Timestamp, &PacketView) -> Result<(), E>,
    ) -> Result<(), E> {
        self.report.datagrams += 1;
        self.report.octets += arrival.data.len() as u64;
        if self.transport == Transport::Udp {
            return self.unpack(arrival.at, &arrival.data, &mut take);
        }
        let parsed = rtp::Packet::parse(&arrival.data).ok();
        let Some(packet) = parsed.filter(|packet| packet.header.payload_type == PAYLOAD_TYPE) else {
            self.report.malformed += 1;
            return Ok(());
        };
        let number = self.extend(packet.header.sequence_number);
        if number < self.next.unwrap_or(number) || self.held.contains_key(&number) {
            self.report.late += 1;
            return Ok(());
        }
        let data = packet.payload.to_vec();
        self.held.insert(number, Arrival { at: arrival.at, data });
        while let Some((&number, _)) = self.held.first_key_value() {
            let expected = *self.next.get_or_insert(number);
            if number != expected && self.held.len() <= REORDERED {
                break;
            }
            self.report.lost += (number - expected) as u64;
            self.next = Some(number + 1);
            if let Some(Arrival { at, data }) = self.held.remove(&number) {
                self.unpack(at, &data, &mut take)?;
            }
        }
        Ok(())
    }

    /// The sequence number beyond 16 bits. One that is far off is of another sender: it begins anew.
    fn extend(&mut self, sequence: u16) -> i64 {
        let Some(next) = self.next else { return i64::from(sequence) };
        let step = i64::from(sequence.wrapping_sub(next as u16) as i16);
        if step.abs() > FARTHEST {
            self.held.clear();
            self.next = None;
            return i64::from(sequence);
        }
        next + step
    }

    fn unpack<E>(
        &mut self,
        at: Timestamp,
        data: &[u8],
        take: &mut impl FnMut(Timestamp, &PacketView) -> Result<(), E>,
    ) -> Result<(), E> {
        let packets: Option<Vec<PacketView>> = data.chunks(PacketView::LEN).map(PacketView::new).collect();
        let Some(packets) = packets.filter(|packets| !packets.is_empty()) else {
            self.report.malformed += 1;
            return Ok(());
        };
        packets.iter().try_for_each(|packet| take(at, packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn datagram(number: u16, packets: &[u8]) -> Arrival {
        let header =
            rtp::Header { payload_type: PAYLOAD_TYPE, sequence_number: number, ..rtp::Header::default() };
        let mut data = vec![0; rtp::HEADER_LEN];
        header.emit(&mut data).unwrap();
        for &fill in packets {
            data.push(0x47);
            data.extend([fill; 187]);
        }
        Arrival { at: Timestamp::ZERO, data }
    }

    fn fills(unpacker: &mut Unpacker, arrivals: Vec<Arrival>) -> Vec<u8> {
        let mut fills = Vec::new();
        for arrival in arrivals {
            let taken: Result<(), Infallible> = unpacker.push(&arrival, |_, packet| {
                fills.push(packet.bytes()[9]);
                Ok(())
            });
            taken.unwrap();
        }
        fills
    }

    #[test]
    fn rtp_packets_come_in_order_once() {
        let mut unpacker = Unpacker::new(Transport::Rtp);
        let arrivals = [(65_534, 1), (0, 3), (65_535, 2), (0, 3), (65_534, 1), (1, 4)];
        let arrivals = arrivals.into_iter().map(|(number, fill)| datagram(number, &[fill])).collect();
        assert_eq!(fills(&mut unpacker, arrivals), [1, 2, 3, 4]);
        assert_eq!((unpacker.report.late, unpacker.report.lost), (2, 0));
    }

    #[test]
    fn what_is_lost_is_not_waited_for_long() {
        let mut unpacker = Unpacker::new(Transport::Rtp);
        let arrivals = (0..30).filter(|number| *number != 2).map(|number| datagram(number, &[number as u8]));
        let fills = fills(&mut unpacker, arrivals.collect());
        assert_eq!((fills.len(), unpacker.report.lost), (29, 1));
        assert!(fills.is_sorted());
    }

    #[test]
    fn what_is_no_transport_stream_is_counted() {
        let mut unpacker = Unpacker::new(Transport::Udp);
        let whole = [vec![0x47; 188], vec![0x47; 188]].concat();
        let wrong = [vec![], vec![0x47; 187], vec![0x46; 188], [&whole[..], &[0x47]].concat()];
        let arrivals = wrong.into_iter().chain([whole]).map(|data| Arrival { at: Timestamp::ZERO, data });
        assert_eq!(fills(&mut unpacker, arrivals.collect()).len(), 2);
        assert_eq!(unpacker.report.malformed, 4);
        let mut unpacker = Unpacker::new(Transport::Rtp);
        assert!(
            fills(&mut unpacker, vec![Arrival { at: Timestamp::ZERO, data: vec![0x47; 188] }]).is_empty()
        );
        assert_eq!(unpacker.report.malformed, 1);
    }
}
