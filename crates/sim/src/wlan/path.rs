//! Stations that walk (`docs/models/wlan.md`, section "Moving stations").

use crate::wlan::Position;
use crate::wlan::config::Station;
use crate::wlan::medium::DeviceId;
use crate::wlan::mode::Nanos;
use seaway_units::TimeDelta;

/// A place on the path of a station: it walks there in a straight line and at one speed, from where it was before.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waypoint {
    /// When it is there.
    pub time: TimeDelta,
    /// Where that is.
    pub at: Position,
}

/// Points of a path.
const MOST_POINTS: usize = 1_000;
/// Metres after which powers are computed anew: 0.03 dB at 45 m.
const STEP: f64 = 0.1;

/// Whether a path runs forward, from the start of the run.
pub(super) fn in_order(path: &[Waypoint]) -> bool {
    let starts = path.first().is_none_or(|first| first.time > TimeDelta::ZERO);
    starts && path.len() <= MOST_POINTS && path.windows(2).all(|pair| pair[0].time < pair[1].time)
}

/// Where the stations are that walk.
#[derive(Debug, Clone)]
pub(crate) struct Walks {
    walks: Vec<Walk>,
    /// None of them has gone a step before.
    due: Nanos,
}

#[derive(Debug, Clone)]
struct Walk {
    device: DeviceId,
    /// Instants and places, the start included.
    points: Vec<(Nanos, Position)>,
    /// The leg it is on ends at that point.
    next: usize,
    /// When it has gone a step.
    due: Nanos,
}

impl Walks {
    pub(crate) fn of(stations: &[Station]) -> Self {
        let walk = |(index, station): (usize, &Station)| {
            let path = station.path.iter().map(|point| (point.time.as_nanos().max(0) as Nanos, point.at));
            let points: Vec<_> = std::iter::once((0, station.at)).chain(path).collect();
            let mut walk = Walk { device: index + 1, points, next: 1, due: 0 };
            walk.due = walk.after_a_step(0);
            walk
        };
        let moving = stations.iter().enumerate().filter(|(_, station)| !station.path.is_empty());
        let mut walks = Self { walks: moving.map(walk).collect(), due: 0 };
        walks.find_due();
        walks
    }

    /// When the first of them has gone a step.
    #[inline]
    pub(crate) const fn due(&self) -> Nanos {
        self.due
    }

    /// Calls `place` with every device that has gone a step by `now`, and where it is.
    pub(crate) fn go(&mut self, now: Nanos, mut place: impl FnMut(DeviceId, Position)) {
        for walk in self.walks.iter_mut().filter(|walk| walk.due <= now) {
            place(walk.device, walk.at(now));
            walk.due = walk.after_a_step(now);
        }
        self.find_due();
    }

    fn find_due(&mut self) {
        self.due = self.walks.iter().map(|walk| walk.due).min().unwrap_or(Nanos::MAX);
    }
}

impl Walk {
    fn at(&mut self, now: Nanos) -> Position {
        while self.points.get(self.next).is_some_and(|&(end, _)| end <= now) {
            self.next += 1;
        }
        let (start, from) = self.points[self.next - 1];
        let Some(&(end, to)) = self.points.get(self.next) else { return from };
        let part = (now - start) as f64 / (end - start) as f64;
        Position { x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) }
    }

    /// When it will have gone a step from where it was at `now`; at the end of the leg at the latest.
    fn after_a_step(&self, now: Nanos) -> Nanos {
        let (start, from) = self.points[self.next - 1];
        let Some(&(end, to)) = self.points.get(self.next) else { return Nanos::MAX };
        let step = (end - start) as f64 * STEP / from.distance(to);
        end.min((now + 1).saturating_add(step as Nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(seconds: i64, x: f64) -> Waypoint {
        Waypoint { time: TimeDelta::from_secs(seconds), at: Position { x, y: 0.0 } }
    }

    /// Ten metres in ten seconds, five seconds' rest, and back at twice the speed.
    #[test]
    fn a_station_walks_in_straight_lines_and_rests() {
        let path = vec![point(10, 10.0), point(15, 10.0), point(20, 0.0)];
        assert!(in_order(&path));
        let station = Station { path, ..Station::at("sta0", Position::default()) };
        let mut walks = Walks::of(&[Station::at("fixed", Position::default()), station]);
        let (mut places, mut steps) = (Vec::new(), 0);
        while walks.due() < Nanos::MAX {
            let now = walks.due();
            walks.go(now, |device, at| {
                assert_eq!(device, 2);
                steps += 1;
                places.push((now as f64 / 1e9, at.x));
            });
        }
        let at =
            |seconds: f64| places.iter().rev().find(|(time, _)| *time <= seconds).map_or(0.0, |&(_, x)| x);
        for (seconds, x) in [(1.05, 1.0), (5.05, 5.0), (10.0, 10.0), (14.9, 10.0), (17.55, 5.0), (30.0, 0.0)]
        {
            assert!((at(seconds) - x).abs() <= STEP, "{seconds} s: {} m", at(seconds));
        }
        assert!((195..=210).contains(&steps), "{steps} steps of {STEP} m in 20 m");
    }

    #[test]
    fn paths_run_forward() {
        assert!(in_order(&[]));
        assert!(!in_order(&[point(0, 1.0)]) && !in_order(&[point(2, 1.0), point(2, 2.0)]));
    }

    /// A cell without moving stations has nothing to do.
    #[test]
    fn fixed_stations_need_no_steps() {
        assert_eq!(Walks::of(&[Station::at("fixed", Position::default())]).due(), Nanos::MAX);
    }
}
