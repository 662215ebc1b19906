//! Whether `auto` codes a window in a closed loop: better pictures, in many times the time.

use super::config::{ClosedLoop, Config, Target};
use super::picture::PictureShaper;
use crate::header::{PictureContext, PictureKind};

/// Chooses for one window after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct LoopChoice {
    share_of_b: ShareOfB,
}

impl LoopChoice {
    /// True where the next window is coded in a closed loop to take `budget` bits.
    pub(super) fn is_closed(&mut self, config: &Config, pictures: &[PictureShaper], budget: f64) -> bool {
        let mut contexts = pictures.iter().filter_map(|picture| picture.context.as_ref());
        let with_fields = contexts.any(PictureContext::has_field_motion);
        let closed_below = config.closed_below(self.share_of_b.pass(pictures), with_fields);
        let whole: f64 = pictures.iter().map(|picture| picture.bits_in() as f64).sum();
        let share = budget / whole;
        let planned = pictures.first().and_then(|picture| Some((picture.planned?, picture.target)));
        let gains = match (config.closed_loop, planned) {
            (ClosedLoop::Never, _) => false,
            // A share is mostly of the whole stream, which takes little time then where its loop stays open.
            (_, Some((planned, Target::Ratio(_)))) => planned.closed,
            (ClosedLoop::WhereItGains, _) => {
                share < closed_below || planned.is_some_and(|(planned, _)| planned.closed)
            }
            (ClosedLoop::Always, _) => share < 1.0,
        };
        gains && pictures.iter().all(|picture| picture.may_be_closed)
    }
}

/// How many pictures are B pictures. A window may be short, so those before it count too, each half as much as the one behind it.
#[derive(Debug, Clone, Copy, Default)]
struct ShareOfB {
    b_pictures: f64,
    pictures: f64,
}

impl ShareOfB {
    /// Counts a window; returns the share with it.
    fn pass(&mut self, pictures: &[PictureShaper]) -> f64 {
        let is_b = |picture: &&PictureShaper| picture.report.kind == Some(PictureKind::B);
        self.b_pictures = self.b_pictures / 2.0 + pictures.iter().filter(is_b).count() as f64;
        self.pictures = self.pictures / 2.0 + pictures.len() as f64;
        self.b_pictures / self.pictures.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Method;
    use crate::shape::rate_control::Planned;

    fn window(kinds: &str) -> Vec<PictureShaper> {
        let kind = |letter| match letter {
            'I' => PictureKind::I,
            'P' => PictureKind::P,
            _ => PictureKind::B,
        };
        let picture = |letter| {
            let mut picture = PictureShaper::default();
            picture.report.kind = Some(kind(letter));
            picture
        };
        kinds.chars().map(picture).collect()
    }

    #[test]
    fn a_short_window_is_judged_with_those_before_it() {
        let mut share = ShareOfB::default();
        assert_eq!(share.pass(&window("IBBPBBPBBPBB")), 8.0 / 12.0);
        // Alone it would have one B picture in three.
        assert_eq!(share.pass(&window("IPB")), (4.0 + 1.0) / (6.0 + 3.0));
    }

    #[test]
    fn who_asks_for_a_loop_gets_it() {
        // Of a window of 1000 bits that is to keep a share of them, without a plan and with one.
        let is_closed = |closed_loop, target, (share, planned): (f64, Option<bool>), may_be_closed| {
            let config = Config { closed_loop, ..Config::new(Method::Auto, target) };
            let mut pictures = window("IBBPBBPBB");
            pictures[0].unit.data = vec![0; 125];
            for picture in &mut pictures {
                (picture.target, picture.may_be_closed) = (target, may_be_closed);
                picture.planned =
                    planned.map(|closed| Planned { ratio: share, bits_behind: 0.0, closed, segment: 0 });
            }
            LoopChoice::default().is_closed(&config, &pictures, 1000.0 * share)
        };
        use ClosedLoop::{Always, Never, WhereItGains};
        let windows = [(0.5, None), (0.9, None), (1.0, None), (0.5, Some(false)), (0.9, Some(true))];
        let all = |target, may_be_closed| {
            [WhereItGains, Never, Always]
                .map(|choice| windows.map(|window| is_closed(choice, target, window, may_be_closed)))
        };
        let (share, rate) = (Target::Ratio(0.7), Target::Rate(seaway_units::Bitrate::from_mbps(1)));
        let never = [false; 5];
        assert_eq!(
            all(share, true),
            [[true, false, false, false, true], never, [true, true, false, false, true]]
        );
        assert_eq!(
            all(rate, true),
            [[true, false, false, true, true], never, [true, true, false, true, true]]
        );
        assert_eq!([share, rate].map(|target| all(target, false)), [[never; 3]; 2]);
    }

    #[test]
    fn the_loop_is_closed_earlier_where_b_pictures_are_few() {
        let config = Config::new(Method::Auto, Target::Ratio(0.8));
        let live = Config { new_motion: false, ..config.clone() };
        let of = |config: &Config, with_fields| {
            ["IBBPBBPBB", "IBPBPBPB", "IPPPPPPP"]
                .map(|kinds| config.closed_below(ShareOfB::default().pass(&window(kinds)), with_fields))
        };
        assert_eq!(of(&config, false), [0.65, 0.92, 0.92]);
        assert_eq!(of(&config, true), [0.75, 0.92, 0.92]);
        assert_eq!([of(&live, false), of(&live, true)], [[0.65, 0.65, 0.9]; 2]);
    }
}
