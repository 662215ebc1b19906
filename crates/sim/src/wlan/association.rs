//! Association of stations with the access point (`docs/models/wlan.md`, section "Beacons and association").

use crate::wlan::config::{AssociationModel, WlanConfig};
use crate::wlan::medium::{DeviceId, Medium, ModeId};
use crate::wlan::mode::{MICRO, Nanos};
use crate::wlan::statistics::{AssociationMeter, AssociationStatistics};

/// The state of associations, at each station and at the access point.
#[derive(Debug, Clone)]
pub(crate) struct Association {
    model: AssociationModel,
    /// By device; the access point's own is not used.
    states: Vec<State>,
    /// So long without a beacon, and a station is no longer associated.
    watchdog_time: Nanos,
}

#[derive(Debug, Clone)]
struct State {
    /// At the access point.
    member: Member,
    /// At the station.
    phase: Phase,
    /// Without a beacon it is associated, or waits for an answer, until then.
    watchdog: Nanos,
    /// Beacons missed in a row; [`AssociationModel::Geometric`].
    missed: u32,
    meter: AssociationMeter,
}

/// A station's state at the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    /// Packets for it, and from it, are dropped.
    No,
    /// It is being answered; until its acknowledgement it is as if it did not belong.
    Answering,
    Yes,
}

/// A station's own state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It listens for beacons until then, and has found one or not.
    Scanning {
        until: Nanos,
        found: bool,
    },
    /// It has requested its association, and requests it again then.
    Asking {
        again: Nanos,
    },
    Associated,
}

/// Beacons that a station may miss.
const MISSES: u32 = 10;
/// Octets of a beacon, about.
const BEACON: f64 = 163.0;
/// How long a station listens for beacons.
const SCAN: Nanos = 120_000 * MICRO;
/// When a request without an answer is repeated.
const REPEAT: Nanos = 500_000 * MICRO;

impl Association {
    /// At the start all stations are associated that can receive beacons; with frames none is, and all listen.
    pub(crate) fn new(config: &WlanConfig, medium: &Medium, lowest: ModeId, devices: usize) -> Self {
        let model = config.assoc;
        let receives = |device: DeviceId| {
            medium.notices(0, device, lowest) && medium.frame_error(0, device, lowest, BEACON) < 0.5
        };
        let state = |device: DeviceId| {
            let associated = model == AssociationModel::Geometric && (device == 0 || receives(device));
            let (member, phase) = if associated {
                (Member::Yes, Phase::Associated)
            } else {
                (Member::No, Phase::Scanning { until: SCAN, found: false })
            };
            let meter = AssociationMeter::default();
            State { member, phase, watchdog: 0, missed: 0, meter }
        };
        let watchdog_time = Nanos::from(MISSES) * config.beacon_interval.as_nanos() as Nanos;
        Self { model, states: (0..devices).map(state).collect(), watchdog_time }
    }

    /// Whether stations associate by frames.
    pub(crate) fn has_frames(&self) -> bool {
        self.model == AssociationModel::Frames
    }

    /// Whether a packet from one device to another goes into a queue.
    pub(crate) fn carries(&self, from: DeviceId, to: DeviceId) -> bool {
        if from == 0 { self.states[to].member == Member::Yes } else { self.is_associated(from) }
    }

    /// Whether a packet that one device has received from another is handed up. It was acknowledged all the same.
    #[inline]
    pub(crate) fn accepts(&self, from: DeviceId, to: DeviceId) -> bool {
        !self.has_frames()
            || if to == 0 { self.states[from].member == Member::Yes } else { self.is_associated(to) }
    }

    fn is_associated(&self, station: DeviceId) -> bool {
        self.states[station].phase == Phase::Associated
    }

    /// A beacon is sent: a station that does not receive it has missed one more.
    pub(crate) fn beacon(&mut self) {
        let has_frames = self.has_frames();
        for state in self.states.iter_mut().skip(1) {
            if has_frames {
                state.meter.expect_beacon(state.phase == Phase::Associated);
                continue;
            }
            state.missed += 1;
            if state.missed > MISSES {
                state.phase = Phase::Scanning { until: 0, found: false };
            }
        }
    }

    /// A station has received a beacon, or failed to.
    pub(crate) fn on_beacon(&mut self, device: DeviceId, ok: bool, now: Nanos) {
        if !ok {
            return;
        }
        let watchdog = now + self.watchdog_time;
        let state = &mut self.states[device];
        if self.model == AssociationModel::Geometric {
            (state.member, state.phase, state.missed) = (Member::Yes, Phase::Associated, 0);
            return;
        }
        match &mut state.phase {
            Phase::Scanning { found, .. } => *found = true,
            Phase::Asking { .. } => {}
            Phase::Associated => {
                state.meter.receive_beacon();
                state.watchdog = watchdog;
            }
        }
    }

    /// When a station has something to do next; [`AssociationModel::Frames`].
    pub(crate) fn due(&self, station: DeviceId) -> Nanos {
        let state = &self.states[station];
        match state.phase {
            Phase::Scanning { until, .. } => until,
            Phase::Asking { again } => again.min(state.watchdog),
            Phase::Associated => state.watchdog,
        }
    }

    /// A station does what is due at `now`. True where it requests its association.
    pub(crate) fn step(&mut self, station: DeviceId, now: Nanos) -> bool {
        let state = &mut self.states[station];
        let rescan = Phase::Scanning { until: now + SCAN, found: false };
        match state.phase {
            Phase::Scanning { found: true, .. } => {
                // The answer must come before as many beacons have passed as it may miss.
                state.watchdog = now + self.watchdog_time;
                state.phase = Phase::Asking { again: now + REPEAT };
                true
            }
            Phase::Scanning { .. } => {
                state.phase = rescan;
                false
            }
            Phase::Asking { again } if state.watchdog > now => {
                state.phase = Phase::Asking { again: again + REPEAT };
                true
            }
            Phase::Asking { .. } => {
                state.phase = rescan;
                false
            }
            Phase::Associated => {
                state.meter.leave(now);
                state.phase = rescan;
                false
            }
        }
    }

    /// The access point has received a request, and answers.
    pub(crate) fn on_request(&mut self, station: DeviceId) {
        self.states[station].member = Member::Answering;
    }

    /// Its answer was acknowledged, or given up.
    pub(crate) fn on_answered(&mut self, station: DeviceId, ok: bool) {
        let member = &mut self.states[station].member;
        if *member == Member::Answering {
            *member = if ok { Member::Yes } else { Member::No };
        }
    }

    /// A station has received an answer.
    pub(crate) fn on_response(&mut self, station: DeviceId, now: Nanos) {
        let state = &mut self.states[station];
        if let Phase::Asking { .. } = state.phase {
            state.phase = Phase::Associated;
            state.meter.join(now);
        }
    }

    pub(crate) fn statistics(&self, station: DeviceId, now: Nanos) -> Option<AssociationStatistics> {
        self.has_frames().then(|| self.states[station].meter.statistics(now))
    }

    pub(crate) fn restart(&mut self, now: Nanos) {
        self.states.iter_mut().for_each(|state| state.meter.restart(now));
    }
}
