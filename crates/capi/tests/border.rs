//! What a caller may get wrong is refused and changes nothing.

#![expect(unsafe_code, reason = "calls as a C program makes them")]

mod exercise;

use proptest::prelude::*;
use seaway::SeawayStatus as Status;
use seaway::controller::*;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

proptest! {
    #[test]
    fn any_calls_are_answered(octets in prop::collection::vec(any::<u8>(), 0..3000)) {
        exercise::calls(&octets);
    }
}

const FLOW: SeawayFlow = SeawayFlow {
    struct_size: size_of::<SeawayFlow>() as u32,
    ecn: 0,
    packet_bytes: 1200,
    min_bps: 100_000,
    start_bps: 300_000,
    max_bps: 3_000_000,
};

/// What making a controller answers, and why.
fn refusal(spec: &CStr, flow: &SeawayFlow) -> (Status, String) {
    let mut controller = null_mut();
    // SAFETY: pointers point to an object of their type.
    unsafe {
        let status = seaway_controller_new(spec.as_ptr(), flow, &raw mut controller);
        assert!(status == Status::Ok || controller.is_null());
        seaway_controller_free(controller);
        (status, CStr::from_ptr(seaway::seaway_last_error()).to_str().unwrap().to_owned())
    }
}

#[test]
fn wrong_names_and_numbers_are_refused_in_words() {
    assert_eq!(refusal(c"nada", &FLOW).0, Status::Ok);
    for (spec, said) in
        [(c"ndaa", "did you mean lda or nada?"), (c"nada(x=1)", "no such option"), (c"", "expected a name")]
    {
        let (status, why) = refusal(spec, &FLOW);
        assert!(status == Status::InvalidArgument && why.contains(said), "{why}");
    }
    assert_eq!(refusal(c"nad\xE4", &FLOW).0, Status::InvalidArgument);
    let (status, why) = refusal(c"nada", &SeawayFlow { struct_size: 8, ..FLOW });
    assert_eq!((status, why.as_str()), (Status::StructSize, "flow states a size of 8; here it has 40"));
    for flow in [
        SeawayFlow { min_bps: 0, ..FLOW },
        SeawayFlow { start_bps: 1, ..FLOW },
        SeawayFlow { max_bps: u64::MAX, ..FLOW },
        SeawayFlow { packet_bytes: 0, ..FLOW },
        SeawayFlow { packet_bytes: 65_536, ..FLOW },
        SeawayFlow { ecn: 4, ..FLOW },
    ] {
        assert_eq!(refusal(c"nada", &flow).0, Status::InvalidArgument, "{flow:?}");
    }
}

#[test]
fn null_is_refused() {
    let mut controller = null_mut();
    // SAFETY: pointers point to an object of their type or are null.
    unsafe {
        assert_eq!(seaway_controller_new(null(), &FLOW, &raw mut controller), Status::NullPointer);
        assert_eq!(seaway_controller_new(c"nada".as_ptr(), null(), &raw mut controller), Status::NullPointer);
        assert_eq!(seaway_controller_new(c"nada".as_ptr(), &FLOW, null_mut()), Status::NullPointer);
        assert_eq!(seaway_controller_poll_timeout(null_mut(), null_mut()), Status::NullPointer);
        seaway_controller_free(null_mut());
        assert_eq!(seaway_controller_new(c"nada".as_ptr(), &FLOW, &raw mut controller), Status::Ok);
        assert_eq!(seaway_controller_on_report(controller, 0, null(), 1, 0), Status::NullPointer);
        assert_eq!(seaway_controller_on_report(controller, 0, null(), 0, 0), Status::Ok);
        assert_eq!(
            seaway_controller_on_report(controller, 0, null(), usize::MAX, 0),
            Status::InvalidArgument
        );
        assert_eq!(seaway_controller_inspect(controller, None, null_mut()), Status::NullPointer);
        assert_eq!(seaway_controller_target(controller, null_mut()), Status::NullPointer);
        seaway_controller_free(controller);
    }
}

#[test]
fn time_does_not_run_back() {
    let mut controller = null_mut();
    // SAFETY: as above.
    unsafe {
        assert_eq!(seaway_controller_new(c"gcc".as_ptr(), &FLOW, &raw mut controller), Status::Ok);
        assert_eq!(seaway_controller_handle_timeout(controller, 1_000), Status::Ok);
        assert_eq!(seaway_controller_handle_timeout(controller, 999), Status::TimeRanBack);
        assert_eq!(seaway_controller_handle_timeout(controller, u64::MAX), Status::InvalidArgument);
        assert_eq!(seaway_controller_handle_timeout(controller, 1_000), Status::Ok);
        seaway_controller_free(controller);
    }
}

#[test]
fn every_controller_has_a_name() {
    // SAFETY: the names are texts that end with a zero.
    let name = |index| unsafe { CStr::from_ptr(seaway_controller_name(index)) };
    let count = (0..).take_while(|&index| !seaway_controller_name(index).is_null()).count();
    assert!(count >= 16 && (0..count).all(|index| refusal(name(index), &FLOW).0 == Status::Ok));
}

#[cfg(feature = "stream")]
mod sessions {
    use super::*;
    use seaway::receiver::*;
    use seaway::sender::*;
    use std::ffi::c_void;

    // SAFETY: it reads neither pointer.
    unsafe extern "C" fn ignore(_: *mut c_void, _: *const SeawayReceivedFrame) {}

    const RECEIVER: SeawayReceiverConfig = SeawayReceiverConfig {
        struct_size: size_of::<SeawayReceiverConfig>() as u32,
        insecure: 0,
        bind: c"127.0.0.1:0".as_ptr(),
        key: null(),
        latency_ns: 0,
        on_frame: Some(ignore),
        user: null_mut(),
    };

    const SENDER: SeawaySenderConfig = SeawaySenderConfig {
        struct_size: size_of::<SeawaySenderConfig>() as u32,
        insecure: 0,
        to: c"127.0.0.1:9".as_ptr(),
        key: null(),
        control: null(),
        min_bps: 100_000,
        start_bps: 300_000,
        max_bps: 3_000_000,
        latency_ns: 0,
    };

    #[test]
    fn receivers_refuse_what_cannot_be() {
        let start = |config: SeawayReceiverConfig| {
            let mut receiver = null_mut();
            // SAFETY: pointers point to an object of their type.
            unsafe {
                let status = seaway_receiver_new(&raw const config, &raw mut receiver);
                seaway_receiver_free(receiver);
                status
            }
        };
        assert_eq!(start(RECEIVER), Status::Ok);
        assert_eq!(start(SeawayReceiverConfig { struct_size: 0, ..RECEIVER }), Status::StructSize);
        assert_eq!(start(SeawayReceiverConfig { bind: null(), ..RECEIVER }), Status::NullPointer);
        assert_eq!(start(SeawayReceiverConfig { on_frame: None, ..RECEIVER }), Status::NullPointer);
        assert_eq!(
            start(SeawayReceiverConfig { key: c"short".as_ptr(), ..RECEIVER }),
            Status::InvalidArgument
        );
        assert_eq!(
            start(SeawayReceiverConfig { bind: c"0.0.0.0:0".as_ptr(), ..RECEIVER }),
            Status::InvalidArgument
        );
        assert_eq!(
            start(SeawayReceiverConfig { bind: c"192.0.2.7:0".as_ptr(), insecure: 1, ..RECEIVER }),
            Status::System
        );
    }

    #[test]
    fn senders_refuse_what_cannot_be() {
        let start = |config: SeawaySenderConfig| {
            let mut sender = null_mut();
            // SAFETY: pointers point to an object of their type.
            unsafe { (seaway_sender_new(&raw const config, &raw mut sender), sender) }
        };
        let status = |config| start(config).0;
        assert_eq!(status(SeawaySenderConfig { struct_size: 0, ..SENDER }), Status::StructSize);
        assert_eq!(status(SeawaySenderConfig { to: null(), ..SENDER }), Status::NullPointer);
        assert_eq!(status(SeawaySenderConfig { to: c"nowhere".as_ptr(), ..SENDER }), Status::InvalidArgument);
        assert_eq!(
            status(SeawaySenderConfig { to: c"192.0.2.7:9".as_ptr(), ..SENDER }),
            Status::InvalidArgument
        );
        assert_eq!(
            status(SeawaySenderConfig { control: c"ndaa".as_ptr(), ..SENDER }),
            Status::InvalidArgument
        );
        assert_eq!(status(SeawaySenderConfig { min_bps: 0, ..SENDER }), Status::InvalidArgument);
        let (made, sender) = start(SENDER);
        assert_eq!(made, Status::Ok);
        let octets = [0_u8; 4];
        // SAFETY: pointers point to an object of their type or are null.
        unsafe {
            assert_eq!(seaway_sender_send_frame(sender, null(), 4, 1, 0, 4, 1_000), Status::NullPointer);
            assert_eq!(
                seaway_sender_send_frame(sender, octets.as_ptr(), 0, 1, 0, 4, 1_000),
                Status::InvalidArgument
            );
            assert_eq!(
                seaway_sender_send_frame(sender, octets.as_ptr(), 4, 1, 0, 4, 0),
                Status::InvalidArgument
            );
            // No H.264: the session refuses it by itself, and goes on.
            assert_eq!(seaway_sender_send_frame(sender, octets.as_ptr(), 4, 1, 0, 4, 1_000), Status::Ok);
            assert_eq!(seaway_sender_state(sender, null_mut()), Status::NullPointer);
            assert_eq!(seaway_sender_skip_frame(sender), Status::Ok);
            seaway_sender_free(sender);
        }
    }
}
