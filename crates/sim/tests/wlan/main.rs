//! The cell against `docs/models/wlan.md`, section "Acceptance". What compares with ns-3 itself stands under
//! `validation/ns3`.

mod association;
mod bench;
mod contention;
mod order;
mod range;
mod retries;
mod saturation;
