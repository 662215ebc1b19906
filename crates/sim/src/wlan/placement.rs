//! Placement of stations around their access point.

use crate::wlan::Position;
use crate::wlan::config::{Station, metres};
use seaway_link::RandomStream;
use serde::Deserialize;

/// Stations `sta0`, `sta1` … placed by a rule.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    deny_unknown_fields,
    expecting = "a plan such as { kind = \"circle\", count = 5, radius = \"5 m\" }"
)]
pub enum Placement {
    /// On a circle, at equal distances.
    Circle {
        /// How many.
        count: usize,
        /// In metres.
        #[serde(deserialize_with = "metres")]
        radius: f64,
    },
    /// On the points of a square grid, nearest to the access point first; of equal ones from the east to the left.
    Grid {
        /// How many.
        count: usize,
        /// In metres.
        #[serde(deserialize_with = "metres")]
        spacing: f64,
    },
    /// Anywhere on a disc, uniformly.
    Random {
        /// How many.
        count: usize,
        /// In metres.
        #[serde(deserialize_with = "metres")]
        radius: f64,
        /// Chooses one of the random placements.
        #[serde(default)]
        draw: u64,
    },
}

impl Placement {
    pub(super) const fn count(self) -> usize {
        match self {
            Self::Circle { count, .. } | Self::Grid { count, .. } | Self::Random { count, .. } => count,
        }
    }

    /// The stations around `origin`.
    pub(super) fn stations(self, origin: Position) -> Vec<Station> {
        let around: Vec<Position> = match self {
            Self::Circle { count, radius } => {
                (0..count).map(|index| polar(radius, index as f64 / count as f64)).collect()
            }
            Self::Grid { count, spacing } => grid(count, spacing),
            Self::Random { count, radius, draw } => {
                let mut stream = RandomStream::new(draw, "plan");
                // Equal areas are equally likely.
                (0..count).map(|_| polar(radius * stream.uniform().sqrt(), stream.uniform())).collect()
            }
        };
        let station = |(index, at): (usize, Position)| {
            Station::at(format!("sta{index}"), Position { x: origin.x + at.x, y: origin.y + at.y })
        };
        around.into_iter().enumerate().map(station).collect()
    }
}

/// A point `turn` turns from east.
fn polar(radius: f64, turn: f64) -> Position {
    let angle = std::f64::consts::TAU * turn;
    Position { x: radius * libm::cos(angle), y: radius * libm::sin(angle) }
}

fn grid(count: usize, spacing: f64) -> Vec<Position> {
    let side = (count as f64).sqrt() as i32 + 1;
    let points = (-side..=side).flat_map(|x| (-side..=side).map(move |y| (x, y)));
    let mut points: Vec<(i32, i32)> = points.filter(|&point| point != (0, 0)).collect();
    let turn = |(x, y): (i32, i32)| {
        let angle = libm::atan2(f64::from(y), f64::from(x));
        if angle < 0.0 { angle + std::f64::consts::TAU } else { angle }
    };
    let distance = |(x, y): (i32, i32)| x * x + y * y;
    points.sort_by(|&a, &b| distance(a).cmp(&distance(b)).then(turn(a).total_cmp(&turn(b))));
    points.truncate(count);
    points
        .into_iter()
        .map(|(x, y)| Position { x: f64::from(x) * spacing, y: f64::from(y) * spacing })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_have_their_distances() {
        let origin = Position { x: 10.0, y: 20.0 };
        let places =
            |plan: Placement| plan.stations(origin).into_iter().map(|station| station.at).collect::<Vec<_>>();
        let circle = places(Placement::Circle { count: 4, radius: 5.0 });
        assert!(circle.iter().all(|at| (at.distance(origin) - 5.0).abs() < 1e-9));
        let grid = places(Placement::Grid { count: 5, spacing: 30.0 });
        let distances: Vec<i32> = grid.iter().map(|at| at.distance(origin).round() as i32).collect();
        assert_eq!(distances, [30, 30, 30, 30, 42]);
        assert_eq!(grid[0], Position { x: 40.0, y: 20.0 });
        let random = |draw| places(Placement::Random { count: 50, radius: 20.0, draw });
        assert!(random(1).iter().all(|at| at.distance(origin) <= 20.0));
        assert_eq!(random(1), random(1));
        assert_ne!(random(1), random(2));
    }
}
