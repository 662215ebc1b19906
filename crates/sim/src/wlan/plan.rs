//! Where stations stand around their access point.

use crate::wlan::Position;
use seaway_link::RandomStream;

/// A plan of stations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Plan {
    /// On a circle, at equal distances.
    Circle {
        /// In metres.
        radius: f64,
    },
    /// On the points of a square grid, nearest to the access point first; of equal ones from the east to the left.
    Grid {
        /// In metres.
        spacing: f64,
    },
    /// Anywhere on a disc, uniformly.
    Random {
        /// In metres.
        radius: f64,
        /// Chooses one of the plans.
        draw: u64,
    },
}

impl Plan {
    /// The places of `count` stations around `origin`.
    pub fn places(self, count: usize, origin: Position) -> Vec<Position> {
        let around: Vec<Position> = match self {
            Self::Circle { radius } => {
                (0..count).map(|index| polar(radius, index as f64 / count as f64)).collect()
            }
            Self::Grid { spacing } => grid(count, spacing),
            Self::Random { radius, draw } => {
                let mut stream = RandomStream::new(draw, "plan");
                // Equal areas are equally likely.
                (0..count).map(|_| polar(radius * stream.uniform().sqrt(), stream.uniform())).collect()
            }
        };
        around.into_iter().map(|at| Position { x: origin.x + at.x, y: origin.y + at.y }).collect()
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
    fn plans_are_what_they_say() {
        let origin = Position { x: 10.0, y: 20.0 };
        let circle = Plan::Circle { radius: 5.0 }.places(4, origin);
        assert!(circle.iter().all(|at| (at.distance(origin) - 5.0).abs() < 1e-9));
        let grid = Plan::Grid { spacing: 30.0 }.places(5, origin);
        let distances: Vec<i32> = grid.iter().map(|at| at.distance(origin).round() as i32).collect();
        assert_eq!(distances, [30, 30, 30, 30, 42]);
        assert_eq!(grid[0], Position { x: 40.0, y: 20.0 });
        let random = |draw| Plan::Random { radius: 20.0, draw }.places(50, origin);
        assert!(random(1).iter().all(|at| at.distance(origin) <= 20.0));
        assert_eq!(random(1), random(1));
        assert_ne!(random(1), random(2));
    }
}
