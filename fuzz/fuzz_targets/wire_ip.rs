#![no_main]
//! IP packets of any content: read, marked, read again.

use seaway_units::Ecn;
use seaway_wire::ip::{IpHeader, set_ecn};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut packet = bytes.to_vec();
    set_ecn(&mut packet, Ecn::Ce);
    match IpHeader::parse(bytes) {
        None => assert_eq!(packet, bytes),
        Some(before) => {
            let after = IpHeader::parse(&packet).expect("still a packet");
            assert_eq!(after, IpHeader { ecn: Ecn::Ce, ..before });
        }
    }
});
