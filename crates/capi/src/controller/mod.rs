//! Controllers without clock and socket.

#![expect(
    unsafe_code,
    reason = "functions of the header follow a caller's pointers, by crate::pointer alone"
)]

mod values;

pub use values::*;

use crate::SeawayStatus;
use crate::pointer::{self, Handle, text_member};
use crate::status::Failure;
use seaway_control::{BufferLevel, LocalSignal, Registry};
use seaway_session::BandwidthEstimator;
use seaway_units::Timestamp;
use std::ffi::{CString, c_char, c_void};
use std::sync::LazyLock;

/// A controller with both its halves. Times are nanoseconds of one clock of the caller's, which never runs back.
#[derive(Debug)]
pub struct SeawayController(Handle<BandwidthEstimator>);

/// Receives an internal value of a controller: its name, the value and its unit. The texts are valid during the call.
pub type SeawayGauge =
    Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, value: f64, unit: *const c_char)>;

/// The name of a controller; null beyond the last. It is valid for ever.
// SAFETY: the names of this file are of this library's own prefix.
#[unsafe(no_mangle)]
pub extern "C" fn seaway_controller_name(index: usize) -> *const c_char {
    static NAMES: LazyLock<Vec<CString>> = LazyLock::new(|| {
        let registry = Registry::builtin();
        registry.controllers().iter().filter_map(|info| CString::new(info.name).ok()).collect()
    });
    NAMES.get(index).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Makes the controller that `spec` names, such as "nada" or "tfrc(count=4)".
///
/// # Safety
/// Pointers that are not null point to an object of their type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_new(
    spec: *const c_char,
    flow: *const SeawayFlow,
    controller: *mut *mut SeawayController,
) -> SeawayStatus {
    let make = || {
        // SAFETY: as the caller promises.
        let (spec, flow) = unsafe { (pointer::required(spec, "spec")?, pointer::read(flow, "flow")?) };
        let (flow, limits) = flow.checked()?;
        let pair = Registry::builtin().build(&spec.parse().map_err(Failure::invalid)?, flow);
        Ok(BandwidthEstimator::new(pair.map_err(Failure::invalid)?, limits))
    };
    // SAFETY: as the caller promises.
    unsafe { Handle::give(controller, make, SeawayController) }
}

/// Frees a controller. Null is allowed.
///
/// # Safety
/// It is a handle that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_free(controller: *mut SeawayController) {
    // SAFETY: as the caller promises.
    unsafe { pointer::free(controller) };
}

/// A packet leaves now. Writes its marking to `marking` and the id that identifies it in reports to `id`; each may be null.
///
/// # Safety
/// Pointers that are not null point to an object of their type, and the handle is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_on_sent(
    controller: *mut SeawayController,
    now_ns: u64,
    packet: *const SeawayPacket,
    id: *mut u64,
    marking: *mut SeawayMarking,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        at(controller, now_ns, |estimator, now| {
            let departure = pointer::read(packet, "packet")?.checked()?;
            if !marking.is_null() {
                pointer::read(marking, "marking")?;
            }
            let mark = estimator.marking(now, &departure);
            let packet = estimator.on_sent(now, &departure, mark);
            if !marking.is_null() {
                pointer::write(marking, "marking", mark.into())?;
            }
            if !id.is_null() {
                pointer::write_number(id, "id", packet.0)?;
            }
            Ok(SeawayStatus::Ok)
        })
    }
}

/// A report arrived, with `count` results. `held_ns` is how long the receiver held its newest packet before it sent the report, in
/// nanoseconds. Unknown ids are ignored. A report without results counts as a report.
///
/// # Safety
/// As for `seaway_controller_on_sent`; `results` points to `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_on_report(
    controller: *mut SeawayController,
    now_ns: u64,
    results: *const SeawayPacketResult,
    count: usize,
    held_ns: u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        at(controller, now_ns, |estimator, now| {
            let held = span("held_ns", held_ns)?;
            let results = pointer::read_all(results, count, "results")?;
            let results =
                results.iter().map(SeawayPacketResult::checked).collect::<Result<Vec<_>, Failure>>()?;
            estimator.on_report(now, &results, held);
            Ok(SeawayStatus::Ok)
        })
    }
}

/// The level and the size of the receiver's playout buffer, in octets. Call it before the report in which they arrived. For the
/// controllers "buffer-type1" and "buffer-type2".
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_on_buffer(
    controller: *mut SeawayController,
    subflow: u32,
    held_bytes: u64,
    capacity_bytes: u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(controller, |estimator| {
            let subflow = values::subflow(subflow)?;
            let (held, capacity) = (size("held_bytes", held_bytes)?, size("capacity_bytes", capacity_bytes)?);
            estimator.on_buffer(subflow, BufferLevel { held, capacity });
            Ok(SeawayStatus::Ok)
        })
    }
}

/// Changes the range of the rate, in bits per second; as in `SeawayFlow`.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_set_limits(
    controller: *mut SeawayController,
    now_ns: u64,
    min_bps: u64,
    start_bps: u64,
    max_bps: u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        signal(controller, now_ns, || {
            let seaway_session::Limits { min, start, max } = limits(min_bps, start_bps, max_bps)?;
            Ok(LocalSignal::Limits { min, start, max })
        })
    }
}

/// The size of the send queue, in octets, and how long the oldest packet has waited, in nanoseconds.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_on_backlog(
    controller: *mut SeawayController,
    now_ns: u64,
    waiting_bytes: u64,
    oldest_ns: u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        signal(controller, now_ns, || {
            let (waiting, oldest) = (size("waiting_bytes", waiting_bytes)?, span("oldest_ns", oldest_ns)?);
            Ok(LocalSignal::Backlog { waiting, oldest })
        })
    }
}

/// The encoder `stream` made a frame: its octets, its target in octets, and the nanoseconds to the next frame, above 0.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_on_frame(
    controller: *mut SeawayController,
    now_ns: u64,
    stream: u32,
    bytes: u64,
    target_bytes: u64,
    interval_ns: u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        signal(controller, now_ns, || {
            if interval_ns == 0 {
                return Err(Failure::invalid("interval_ns is 0"));
            }
            let (stream, interval) = (values::stream(stream)?, span("interval_ns", interval_ns)?);
            let (size, target) = (size("bytes", bytes)?, size("target_bytes", target_bytes)?);
            Ok(LocalSignal::Frame { stream, size, target, interval })
        })
    }
}

/// The source paused, or resumed where `paused` is 0.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_set_paused(
    controller: *mut SeawayController,
    now_ns: u64,
    paused: u32,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe { signal(controller, now_ns, || Ok(LocalSignal::Paused(paused != 0))) }
}

/// The network path changed: base delays are measured anew.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_on_route_changed(
    controller: *mut SeawayController,
    now_ns: u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe { signal(controller, now_ns, || Ok(LocalSignal::RouteChanged)) }
}

/// The instant of `seaway_controller_poll_timeout` has come. An early call changes nothing.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_handle_timeout(
    controller: *mut SeawayController,
    now_ns: u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        at(controller, now_ns, |estimator, now| {
            estimator.handle_timeout(now);
            Ok(SeawayStatus::Ok)
        })
    }
}

/// When `seaway_controller_handle_timeout` is due, in nanoseconds; `SEAWAY_STATUS_NONE` where no timer runs. Any other call may change it.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_poll_timeout(
    controller: *mut SeawayController,
    due_ns: *mut u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(controller, |estimator| match estimator.poll_timeout() {
            Some(due) => pointer::write_number(due_ns, "due_ns", due.as_nanos()).map(|()| SeawayStatus::Ok),
            None => Ok(SeawayStatus::None),
        })
    }
}

/// The next probe to send. Call it until it returns `SEAWAY_STATUS_NONE`.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_poll_probe(
    controller: *mut SeawayController,
    now_ns: u64,
    probe: *mut SeawayProbe,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        at(controller, now_ns, |estimator, now| {
            give(probe, "probe", || estimator.controller_mut().poll_probe(now).map(Into::into))
        })
    }
}

/// The next change of the rate that was not read yet, oldest first. Call it until it returns `SEAWAY_STATUS_NONE`. If too many
/// changes wait to be read, the newest are dropped.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_poll_decision(
    controller: *mut SeawayController,
    decision: *mut SeawayDecision,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(controller, |estimator| {
            give(decision, "decision", || estimator.controller_mut().poll_decision().map(Into::into))
        })
    }
}

/// The rate that media and its repair may use together.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_target(
    controller: *mut SeawayController,
    target: *mut SeawayTarget,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(controller, |estimator| {
            let controller = estimator.controller();
            let (now, phase) = (controller.target(), text_member(controller.phase()));
            let (rate_bps, channel_loss) = (now.rate.as_bps(), now.channel_loss.get());
            let struct_size = size_in::<SeawayTarget>();
            give(target, "target", || {
                Some(SeawayTarget { struct_size, reserved: 0, rate_bps, channel_loss, phase })
            })
        })
    }
}

/// The allowance of a subflow: what it may send. It changes with each packet that leaves.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_allowance(
    controller: *mut SeawayController,
    subflow: u32,
    allowance: *mut SeawayAllowance,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(controller, |estimator| {
            let subflow = values::subflow(subflow)?;
            give(allowance, "allowance", || Some(estimator.controller().allowance(subflow).into()))
        })
    }
}

/// How many connections the flow has now, at least one.
///
/// # Safety
/// As for `seaway_controller_on_sent`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_subflows(
    controller: *mut SeawayController,
    count: *mut u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(controller, |estimator| {
            pointer::write_number(count, "count", estimator.controller().subflows().into())?;
            Ok(SeawayStatus::Ok)
        })
    }
}

/// Calls `visit` with every internal value of the controller. `visit` must not call the controller.
///
/// # Safety
/// As for `seaway_controller_on_sent`; `visit` returns and allows what `user` points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_controller_inspect(
    controller: *mut SeawayController,
    visit: SeawayGauge,
    user: *mut c_void,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(controller, |estimator| {
            let visit = visit.ok_or_else(|| Failure::new(SeawayStatus::NullPointer, "visit is null"))?;
            estimator.controller().inspect(&mut |gauge| {
                let (name, unit) = (text_member(gauge.name), text_member(gauge.unit));
                visit(user, name.as_ptr(), gauge.value, unit.as_ptr());
            });
            Ok(SeawayStatus::Ok)
        })
    }
}

/// Calls a function of the estimator behind a handle.
///
/// # Safety
/// As for [`pointer::with`].
unsafe fn with(
    controller: *mut SeawayController,
    call: impl FnOnce(&mut BandwidthEstimator) -> Result<SeawayStatus, Failure>,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe { pointer::with(controller, |controller| &mut controller.0, call) }
}

/// The same, at an instant that is not before the last.
///
/// # Safety
/// As for [`pointer::with`].
unsafe fn at(
    controller: *mut SeawayController,
    now_ns: u64,
    call: impl FnOnce(&mut BandwidthEstimator, Timestamp) -> Result<SeawayStatus, Failure>,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(controller, |estimator| {
            let (now, last) = (timestamp("now_ns", now_ns)?, estimator.now());
            if now < last {
                let why = format!("{now_ns} ns after {} ns", last.as_nanos());
                return Err(Failure::new(SeawayStatus::TimeRanBack, why));
            }
            call(estimator, now)
        })
    }
}

/// The same, with a signal.
///
/// # Safety
/// As for [`pointer::with`].
unsafe fn signal(
    controller: *mut SeawayController,
    now_ns: u64,
    signal: impl FnOnce() -> Result<LocalSignal, Failure>,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        at(controller, now_ns, |estimator, now| {
            estimator.on_signal(now, signal()?);
            Ok(SeawayStatus::Ok)
        })
    }
}

/// Writes what there is, if it can be written: else nothing is taken.
///
/// # Safety
/// As for [`pointer::write`].
unsafe fn give<T: pointer::Structure>(
    to: *mut T,
    what: &str,
    value: impl FnOnce() -> Option<T>,
) -> Result<SeawayStatus, Failure> {
    // SAFETY: as the caller promises.
    unsafe {
        pointer::read(to.cast_const(), what)?;
        match value() {
            Some(value) => pointer::write(to, what, value).map(|()| SeawayStatus::Ok),
            None => Ok(SeawayStatus::None),
        }
    }
}
