//! The lanes of a bonded sender: `--via`, and what is shown of each.

use crate::failure::Failure;
use seaway_control::{ControlSpec, FlowConfig, MOST_LANES, Registry};
use seaway_net::Via;
use seaway_report::live::LaneSample;
use seaway_stream::SenderState;
use seaway_units::{Bitrate, DataSize, Ecn, TimeDelta};

/// Whether these can be lanes under this controller.
pub(crate) fn check(via: &[Via], control: &ControlSpec) -> Result<(), Failure> {
    let refused = |text: String| Err(Failure::input(&format!("--via: {text}")));
    if via.len() > usize::from(MOST_LANES) {
        return refused(format!("{} lanes; a session has {MOST_LANES} at most", via.len()));
    }
    let twice = via.iter().enumerate().find(|(index, via_)| via[..*index].contains(via_));
    if let Some((_, twice)) = twice {
        return refused(format!("{twice} is given twice"));
    }
    if via.len() > 1 {
        let flow = FlowConfig { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };
        let built = Registry::builtin().build_lanes(control, flow, via.len() as u8);
        return built.map(drop).or_else(|error| refused(error.to_string()));
    }
    Ok(())
}

/// The present values of each lane; `None` where there are none.
pub(super) fn samples(state: &SenderState, via: &[Via]) -> Option<Vec<LaneSample>> {
    let samples = state.lanes().zip(via).map(|(lane, via)| LaneSample {
        via: via.to_string(),
        state: lane.statistics.state.name(),
        allowance_bps: lane.statistics.rate.as_bps(),
        sent_bps: lane.sent_rate.map(Bitrate::as_bps),
        rtt_ms: lane.statistics.rtt.map(TimeDelta::as_millis_f64),
        loss_ratio: lane.loss_ratio,
    });
    let samples: Vec<_> = samples.collect();
    (!samples.is_empty()).then_some(samples)
}
