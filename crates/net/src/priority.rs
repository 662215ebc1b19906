//! Real-time priority for the media thread.

/// Requests real-time scheduling (SCHED_FIFO) of the calling thread, so that timers on a busy machine are late by less than
/// a millisecond rather than by tens.
///
/// # Errors
/// The system does not grant it; a sentence for the user.
pub fn make_real_time() -> Result<(), String> {
    grant()
        .map_err(|error| format!("no real-time priority ({error:?}): a busy machine may make this run late"))
}

#[cfg(unix)]
fn grant() -> Result<(), thread_priority::Error> {
    use thread_priority::{
        RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };
    let priority = 10_u8.try_into().map_err(|_| thread_priority::Error::Priority("10"))?;
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(priority), policy)
}

/// The highest of a thread that others can still interrupt.
#[cfg(not(unix))]
fn grant() -> Result<(), thread_priority::Error> {
    thread_priority::set_current_thread_priority(thread_priority::ThreadPriority::Max)
}
