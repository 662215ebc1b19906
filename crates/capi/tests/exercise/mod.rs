//! Calls of a controller's functions in any order, with any numbers; what they promise holds after each.

use seaway::SeawayStatus;
use seaway::controller::*;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};

/// Octets as the numbers of calls; zeros after the end.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Any number, small ones more often.
    fn number(&mut self) -> u64 {
        let digits = self.next() % 9;
        (0..digits).fold(0, |number, _| number << 8 | u64::from(self.next()))
    }

    fn word(&mut self) -> u32 {
        self.number() as u32
    }

    /// Mostly a switch or an ECN codepoint, seldom anything.
    fn choice(&mut self) -> u32 {
        match self.next() {
            255 => self.word(),
            small => u32::from(small % 4),
        }
    }

    /// Mostly right, seldom any.
    fn size_of<T>(&mut self) -> u32 {
        match self.next() {
            250.. => self.word(),
            _ => size_of::<T>() as u32,
        }
    }

    fn pointer_to<T>(&mut self, value: &mut T) -> *mut T {
        if self.next() == 255 { null_mut() } else { value }
    }
}

const SPECS: [&str; 8] =
    ["seaway", "gcc", "nada", "scream", "tfrc(count=3)", "window", "buffer-type1", "multfrc"];

/// Makes a controller and calls its functions as `octets` say.
pub(crate) fn calls(octets: &[u8]) {
    let mut numbers = Numbers(octets);
    let spec = match numbers.next() {
        255 => {
            let text: Vec<u8> = (0..numbers.next()).map(|_| numbers.next().max(1)).collect();
            CString::new(text).unwrap_or_default()
        }
        known => CString::new(SPECS[usize::from(known) % SPECS.len()]).unwrap(),
    };
    let mut flow = SeawayFlow {
        struct_size: numbers.size_of::<SeawayFlow>(),
        ecn: numbers.choice(),
        packet_bytes: 1200,
        min_bps: 100_000,
        start_bps: 300_000,
        max_bps: 3_000_000,
    };
    if numbers.next() == 255 {
        (flow.packet_bytes, flow.min_bps) = (numbers.number(), numbers.number());
        (flow.start_bps, flow.max_bps) = (numbers.number(), numbers.number());
    }
    let (flow, mut controller) = (numbers.pointer_to(&mut flow), null_mut());
    // SAFETY: the texts end with a zero, pointers point to an object of their type or are null, and the handle is freed once, at the end.
    unsafe {
        let made = seaway_controller_new(spec.as_ptr(), flow, &raw mut controller);
        assert_ne!(made, SeawayStatus::Panicked);
        assert_eq!(made == SeawayStatus::Ok, !controller.is_null());
        let mut now: u64 = 0;
        while !numbers.0.is_empty() {
            // Null is refused as anything else is.
            let handle = if numbers.next() == 255 { null_mut() } else { controller };
            let step = if numbers.next() == 255 { numbers.number() } else { u64::from(numbers.next()) << 18 };
            now = now.saturating_add(step).min(1 << 61);
            let status = call(&mut numbers, handle, now);
            assert_ne!(status, SeawayStatus::Panicked);
            assert!(!handle.is_null() || status != SeawayStatus::Ok);
        }
        check(controller);
        seaway_controller_free(controller);
    }
}

/// One call.
///
/// # Safety
/// The controller is null or a handle.
unsafe fn call(numbers: &mut Numbers<'_>, controller: *mut SeawayController, now: u64) -> SeawayStatus {
    let at = if numbers.next() == 255 { numbers.number() } else { now };
    // SAFETY: pointers point to an object of their type or are null.
    unsafe {
        match numbers.next() % 16 {
            0..=4 => on_sent(numbers, controller, at),
            5..=7 => on_report(numbers, controller, at),
            8 => seaway_controller_handle_timeout(controller, at),
            9 => {
                let mut due = 0;
                let due_at = numbers.pointer_to(&mut due);
                match seaway_controller_poll_timeout(controller, due_at) {
                    SeawayStatus::Ok if due < 1 << 61 => {
                        seaway_controller_handle_timeout(controller, due.max(now))
                    }
                    status => status,
                }
            }
            10 => seaway_controller_set_limits(
                controller,
                at,
                numbers.number(),
                numbers.number(),
                numbers.number(),
            ),
            11 => seaway_controller_on_backlog(controller, at, numbers.number(), numbers.number()),
            12 => {
                let (stream, size, target) = (numbers.word(), numbers.number(), numbers.number());
                seaway_controller_on_frame(controller, at, stream, size, target, numbers.number())
            }
            13 => seaway_controller_set_paused(controller, at, numbers.choice()),
            14 => {
                seaway_controller_on_buffer(controller, numbers.choice(), numbers.number(), numbers.number())
            }
            _ => match numbers.next() % 4 {
                0 => seaway_controller_on_route_changed(controller, at),
                1 => poll_probe(numbers, controller, at),
                2 => poll_decision(numbers, controller),
                _ => check(controller),
            },
        }
    }
}

// SAFETY: for the caller to keep: `controller` is null or of `seaway_controller_new`, and not freed.
unsafe fn on_sent(numbers: &mut Numbers<'_>, controller: *mut SeawayController, at: u64) -> SeawayStatus {
    let mut packet = SeawayPacket {
        struct_size: numbers.size_of::<SeawayPacket>(),
        subflow: numbers.choice(),
        bytes: if numbers.next() == 255 { numbers.number() } else { 1200 },
        backlog_bytes: numbers.number(),
        content: numbers.choice(),
        stream: numbers.choice(),
        is_probe: numbers.choice() / 2,
        probe: numbers.choice(),
        ends_frame: numbers.choice() / 2,
        reserved: 0,
    };
    let struct_size = numbers.size_of::<SeawayMarking>();
    let mut marking = SeawayMarking { struct_size, ecn: 0, has_tag: 0, tag: 0 };
    let (packet, marking) = (numbers.pointer_to(&mut packet), numbers.pointer_to(&mut marking));
    let mut id = 0;
    // SAFETY: pointers point to an object of their type or are null.
    unsafe { seaway_controller_on_sent(controller, at, packet, numbers.pointer_to(&mut id), marking) }
}

// SAFETY: for the caller to keep: `controller` is null or of `seaway_controller_new`, and not freed.
unsafe fn on_report(numbers: &mut Numbers<'_>, controller: *mut SeawayController, at: u64) -> SeawayStatus {
    let first = numbers.number();
    let results: Vec<_> = (0..u64::from(numbers.next() % 32))
        .map(|index| SeawayPacketResult {
            struct_size: numbers.size_of::<SeawayPacketResult>(),
            received: numbers.choice() % 2,
            id: first.wrapping_add(index),
            arrival_ns: at.saturating_add(numbers.number() & 0xFFF_FFFF),
            has_arrival: numbers.choice() % 2,
            ecn: numbers.choice(),
        })
        .collect();
    let pointer = if numbers.next() == 255 { null() } else { results.as_ptr() };
    let count = if numbers.next() == 255 && pointer.is_null() { usize::MAX } else { results.len() };
    // SAFETY: the pointer is null, or points to so many.
    unsafe { seaway_controller_on_report(controller, at, pointer, count, numbers.number()) }
}

// SAFETY: for the caller to keep: `controller` is null or of `seaway_controller_new`, and not freed.
unsafe fn poll_probe(numbers: &mut Numbers<'_>, controller: *mut SeawayController, at: u64) -> SeawayStatus {
    let struct_size = numbers.size_of::<SeawayProbe>();
    let mut probe = SeawayProbe { struct_size, id: 0, rate_bps: 0, bytes: 0, packets: 0, reserved: 0 };
    // SAFETY: the pointer points to one or is null.
    unsafe { seaway_controller_poll_probe(controller, at, numbers.pointer_to(&mut probe)) }
}

// SAFETY: for the caller to keep: `controller` is null or of `seaway_controller_new`, and not freed.
unsafe fn poll_decision(numbers: &mut Numbers<'_>, controller: *mut SeawayController) -> SeawayStatus {
    // SAFETY: all zero is a value of it.
    let mut decision: SeawayDecision = unsafe { std::mem::zeroed() };
    decision.struct_size = numbers.size_of::<SeawayDecision>();
    // SAFETY: the pointer points to one or is null.
    let status = unsafe { seaway_controller_poll_decision(controller, numbers.pointer_to(&mut decision)) };
    for text in [decision.cause, decision.signal, decision.unit, decision.phase] {
        assert_eq!(text[text.len() - 1], 0, "a text ends with a zero");
    }
    status
}

/// What a controller says can be: rates inside what was set, a share of 0 to 1, numbers that are numbers.
///
/// # Safety
/// `controller` is null or of `seaway_controller_new`, and not freed.
unsafe fn check(controller: *mut SeawayController) -> SeawayStatus {
    // SAFETY: for the caller to keep: `user` is the counter below.
    unsafe extern "C" fn visit(user: *mut c_void, name: *const c_char, value: f64, _unit: *const c_char) {
        // SAFETY: it is what `seaway_controller_inspect` was given below.
        unsafe { *user.cast::<u32>() += 1 };
        assert!(!name.is_null() && !value.is_nan());
    }
    // SAFETY: each type is valid with all bits zero; pointers point to an object of their type.
    unsafe {
        let mut target: SeawayTarget = std::mem::zeroed();
        target.struct_size = size_of::<SeawayTarget>() as u32;
        let status = seaway_controller_target(controller, &raw mut target);
        if status != SeawayStatus::Ok {
            assert!(controller.is_null());
            return status;
        }
        assert!((0.0..=1.0).contains(&target.channel_loss), "{target:?}");
        let (mut subflows, mut visited) = (0, 0_u32);
        assert_eq!(seaway_controller_subflows(controller, &raw mut subflows), SeawayStatus::Ok);
        assert!(subflows >= 1);
        let mut allowance: SeawayAllowance = std::mem::zeroed();
        allowance.struct_size = size_of::<SeawayAllowance>() as u32;
        for subflow in 0..subflows as u32 {
            assert_eq!(
                seaway_controller_allowance(controller, subflow, &raw mut allowance),
                SeawayStatus::Ok
            );
        }
        let user = (&raw mut visited).cast();
        assert_eq!(seaway_controller_inspect(controller, Some(visit), user), SeawayStatus::Ok);
        assert!(visited > 0);
        status
    }
}
