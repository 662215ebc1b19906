//! Readers of the formats that share no code with the crate.

use std::collections::BTreeMap;

/// The fields of a transport packet.
pub(crate) struct Packet<'a> {
    pub(crate) pid: u16,
    pub(crate) start: bool,
    pub(crate) counter: u8,
    pub(crate) adaptation: &'a [u8],
    pub(crate) payload: &'a [u8],
}

pub(crate) fn packets(stream: &[u8]) -> Vec<Packet<'_>> {
    let packets = stream.chunks_exact(188).map(|bytes| {
        assert_eq!(bytes[0], 0x47);
        let field = if bytes[3] & 0x20 != 0 { 1 + usize::from(bytes[4]) } else { 0 };
        let payload = if bytes[3] & 0x10 != 0 { &bytes[4 + field..] } else { &[] };
        assert!(bytes[3] & 0x10 == 0 || !payload.is_empty(), "a payload of no bytes");
        assert!(bytes[3] & 0x10 != 0 || field == 184, "an adaptation field alone fills its packet");
        Packet {
            pid: u16::from(bytes[1] & 0x1f) << 8 | u16::from(bytes[2]),
            start: bytes[1] & 0x40 != 0,
            counter: bytes[3] & 15,
            adaptation: if field > 1 { &bytes[5..4 + field] } else { &[] },
            payload,
        }
    });
    packets.collect()
}

/// The PES payload of a PID, and the time stamps of each PES header with the start of its payload.
pub(crate) fn elementary(stream: &[u8], pid: u16) -> (Vec<u8>, Vec<(Vec<u8>, usize)>) {
    let (mut video, mut stamps) = (Vec::new(), Vec::new());
    for packet in packets(stream).iter().filter(|packet| packet.pid == pid) {
        let mut payload = packet.payload;
        if packet.start {
            assert_eq!(payload[..3], [0, 0, 1]);
            let header = 9 + usize::from(payload[8]);
            stamps.push((payload[7..header].to_vec(), video.len()));
            payload = &payload[header..];
        }
        video.extend_from_slice(payload);
    }
    (video, stamps)
}

pub(crate) fn check_continuity(stream: &[u8]) {
    let mut last = BTreeMap::new();
    for packet in packets(stream).iter().filter(|packet| packet.pid != 0x1fff) {
        let step = u8::from(!packet.payload.is_empty());
        if let Some(last) = last.insert(packet.pid, packet.counter) {
            assert_eq!(packet.counter, (last + step) & 15, "continuity of PID {:#x}", packet.pid);
        }
    }
}

/// The PCR fields, each with the index and PID of its packet.
pub(crate) fn clock_references(stream: &[u8]) -> Vec<(usize, u16, Vec<u8>)> {
    let packets = packets(stream).into_iter().enumerate();
    let with_reference =
        packets.filter(|(_, packet)| packet.adaptation.first().is_some_and(|f| f & 0x10 != 0));
    with_reference.map(|(at, packet)| (at, packet.pid, packet.adaptation[1..7].to_vec())).collect()
}

/// The value of a PCR field, 27 MHz.
pub(crate) fn clock(field: &[u8]) -> i64 {
    let base = field[..4].iter().fold(0i64, |base, byte| base << 8 | i64::from(*byte)) << 1
        | i64::from(field[4] >> 7);
    base * 300 + (i64::from(field[4] & 1) << 8 | i64::from(field[5]))
}

/// The longest time, in periods of 27 MHz, from the arrival of a PES packet's first octet to its decoding, in a stream of this
/// rate in bit/s.
pub(crate) fn longest_stay(stream: &[u8], pid: u16, rate: i64) -> i64 {
    let references = clock_references(stream);
    let (first, _, field) =
        references.iter().find(|reference| reference.1 == pid).expect("a clock reference");
    let arrival = |index: usize| clock(field) + (index as i64 - *first as i64) * 188 * 8 * 27_000_000 / rate;
    let decoding = |header: &[u8]| {
        let stamp = if header[7] & 0x40 != 0 { &header[14..19] } else { &header[9..14] };
        let part = |index: usize| i64::from(stamp[index]);
        300 * ((part(0) >> 1 & 7) << 30 | part(1) << 22 | (part(2) >> 1) << 15 | part(3) << 7 | part(4) >> 1)
    };
    let packets = packets(stream).into_iter().enumerate();
    let starts =
        packets.filter(|(_, packet)| packet.pid == pid && packet.start && packet.payload[7] & 0x80 != 0);
    starts.map(|(index, packet)| decoding(packet.payload) - arrival(index)).max().expect("a picture")
}

/// The packets of a program or system stream as (code, whole bytes, payload of video).
pub(crate) fn program_packets(stream: &[u8]) -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let (mut at, mut packets) = (0, Vec::new());
    while at + 4 <= stream.len() {
        assert_eq!(stream[at..at + 3], [0, 0, 1], "at {at}");
        let code = stream[at + 3];
        let len = match code {
            0xb9 => 4,
            0xba if stream[at + 4] >> 6 == 1 => 14 + usize::from(stream[at + 13] & 7),
            0xba => 12,
            _ => 6 + usize::from(u16::from_be_bytes([stream[at + 4], stream[at + 5]])),
        };
        let bytes = stream[at..at + len].to_vec();
        let payload = if code == 0xe0 { bytes[program_header(&bytes)..].to_vec() } else { Vec::new() };
        packets.push((code, bytes, payload));
        at += len;
    }
    assert_eq!(at, stream.len());
    packets
}

pub(crate) fn program_header(packet: &[u8]) -> usize {
    if packet[6] >> 6 == 2 {
        return 9 + usize::from(packet[8]);
    }
    let mut at = 6 + packet[6..].iter().take_while(|&&byte| byte == 0xff).count();
    at += if packet[at] >> 6 == 1 { 2 } else { 0 };
    at + match packet[at] >> 4 {
        2 => 5,
        3 => 10,
        _ => 1,
    }
}
