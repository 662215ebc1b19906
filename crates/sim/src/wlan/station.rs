//! Association of stations (`docs/models/wlan.md`, section "Beacons and association").

use crate::wlan::medium::{DeviceId, Medium, ModeId};

/// Which stations are associated. One that misses ten beacons in a row is not, until it receives one again; the access
/// point does not notice.
#[derive(Debug, Clone)]
pub(crate) struct Association {
    states: Vec<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// The access point has known it.
    known: bool,
    associated: bool,
    missed: u32,
}

/// Beacons that a station may miss.
const MISSES: u32 = 10;
/// Octets of a beacon, about.
const BEACON: f64 = 163.0;

impl Association {
    /// At the start all stations are associated that can receive beacons.
    pub(crate) fn new(medium: &Medium, lowest: ModeId, devices: usize) -> Self {
        let receives = |device: DeviceId| {
            medium.notices(0, device, lowest) && medium.frame_error(0, device, lowest, BEACON) < 0.5
        };
        let state = |device: DeviceId| {
            let associated = device == 0 || receives(device);
            State { known: associated, associated, missed: 0 }
        };
        Self { states: (0..devices).map(state).collect() }
    }

    /// Whether a packet from one device to another can be sent.
    pub(crate) fn carries(&self, from: DeviceId, to: DeviceId) -> bool {
        if from == 0 { self.states[to].known } else { self.states[from].associated }
    }

    /// A beacon is sent: a station that does not receive it has missed one more.
    pub(crate) fn beacon(&mut self) {
        for state in self.states.iter_mut().skip(1) {
            state.missed += 1;
            if state.missed > MISSES {
                state.associated = false;
            }
        }
    }

    pub(crate) fn on_beacon(&mut self, device: DeviceId, ok: bool) {
        if ok {
            self.states[device] = State { known: true, associated: true, missed: 0 };
        }
    }
}
