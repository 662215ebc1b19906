//! Real-time priority for the media thread.

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// Asks for first-in-first-out real-time scheduling of the calling thread. A busy machine is then late by less than
/// a millisecond where it would be late by tens.
///
/// # Errors
/// A sentence for the user, where the system does not grant it.
pub fn make_real_time() -> Result<(), String> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let Ok(priority) = 10u8.try_into() else { return Err("no such priority".into()) };
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(priority), policy)
        .map_err(|error| format!("no real-time priority ({error:?}): a busy machine may make this run late"))
}
