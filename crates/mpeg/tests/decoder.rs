//! The decoder on real streams. The sums were recorded when its frames agreed with those of FFmpeg 5.1 and
//! libmpeg2 0.5.1 within the tolerance of the inverse transform (compared again by `crates/mpeg/tests/peers`).

use seaway_mpeg::decode::{Decoder, DecoderStats};
use seaway_testkit::shared;

/// FNV-1a of all frames, and the statistics.
fn decode(name: &str, piece: usize) -> Option<(u64, DecoderStats)> {
    let data = std::fs::read(shared(name)?).unwrap();
    let mut decoder = Decoder::new();
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    let mut samples = Vec::new();
    let mut pull = |decoder: &mut Decoder| {
        while let Some(decoded) = decoder.pull() {
            samples.clear();
            decoded.frame.write_planar(&mut samples);
            for &sample in &samples {
                sum = (sum ^ u64::from(sample)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    };
    for bytes in data.chunks(piece) {
        decoder.push(bytes);
        pull(&mut decoder);
    }
    decoder.finish();
    pull(&mut decoder);
    Some((sum, decoder.stats()))
}

#[test]
fn frames_are_those_that_were_checked() {
    let known = [
        ("es/akiyo_cif.mpeg2.intra_only.q3.intravlc.m2v", 60, 0x017d_d343_a723_f118),
        ("es/crew_704x576i25.mpeg2.ibbp.6000k.tff.altscan.m2v", 75, 0x93c4_8c21_4e64_17d7),
        ("es/foreman_cif.mpeg1.mpeg2enc.vcd.m1v", 300, 0xd576_774a_9f5d_8d5b),
        ("es/galleon_720x480i.mpeg2.mpeg2enc.dvd.6000k.bff.m2v", 75, 0x3451_4f47_6486_1110),
        ("es/mobile_cif.mpeg1.ibbp.1150k.m1v", 300, 0x0ac2_d9a8_bd0d_1529),
        ("es/mobile_cif.mpeg2.ibbp.4000k.m2v", 150, 0x3bc5_a369_de9f_1696),
        ("es/paris_cif.mpeg2.ipp.1500k.m2v", 300, 0xa43c_cc7e_fa9d_e522),
        ("real/flower_352x240.mpeg1.berkeley.mpg", 10, 0x0ad0_f45a_ada4_c44c),
        ("real/itct_i_only_320x240.m1v", 120, 0x9958_bf59_6df3_0c3d),
        ("real/sony_422_intra_720x608.m2v", 4, 0xc9eb_3fac_6429_09d3),
    ];
    for (name, frames, sum) in known {
        let Some((found, stats)) = decode(&format!("media/{name}"), 1 << 20) else { return };
        assert_eq!(stats, DecoderStats { frames, skipped_pictures: 0, damaged_slices: 0 }, "{name}");
        assert_eq!(found, sum, "{name}: {found:#x}");
    }
}

#[test]
fn a_stream_that_was_cut_off_is_decoded_to_its_end() {
    let Some((_, stats)) = decode("media/real/roundup1414_160x120.m2v", 1000) else { return };
    assert_eq!(stats, DecoderStats { frames: 79, skipped_pictures: 0, damaged_slices: 1 });
}

#[test]
fn pieces_change_nothing() {
    let name = "media/es/akiyo_cif.mpeg2.intra_only.q3.intravlc.m2v";
    assert_eq!(decode(name, 777), decode(name, 1 << 20));
}
