//! The modes of a cell and the choice of a mode for data (`docs/models/wlan.md`, sections "Frame sizes and response
//! rates" and "Rate adaptation").

use crate::cell::CellError;
use crate::wlan::config::{RateChoice, WlanConfig};
use crate::wlan::medium::{DeviceId, Medium, ModeId};
use crate::wlan::minstrel::Minstrel;
use crate::wlan::mode::Mode;
use crate::wlan::rate_adaptation::RateAdaptation;
use crate::wlan::timing::lowest_mode;
use seaway_link::RandomStream;
use std::ops::Range;

/// Which of the medium's modes are for what.
#[derive(Debug, Clone)]
pub(crate) struct Modes {
    /// Of beacons.
    pub(crate) lowest: ModeId,
    /// Of RTS frames.
    pub(crate) control: ModeId,
    /// Of the answer to each mode.
    pub(crate) response: Vec<ModeId>,
    /// Those that data may take.
    pub(crate) data: Range<ModeId>,
}

impl Modes {
    /// The modes of a cell, and the list of the medium.
    pub(super) fn of(config: &WlanConfig) -> Result<(Self, Vec<Mode>), CellError> {
        let mut list = match config.choice() {
            RateChoice::Constant(()) => vec![config.data_mode()?],
            RateChoice::Ideal | RateChoice::Minstrel => config.all_modes(),
        };
        let data = 0..list.len() as ModeId;
        let place = |list: &mut Vec<Mode>, mode: Mode| {
            let known = list.iter().position(|&known| known == mode);
            known.unwrap_or_else(|| {
                list.push(mode);
                list.len() - 1
            }) as ModeId
        };
        let lowest = place(&mut list, lowest_mode(config.band()));
        let answers: Vec<Mode> = list.iter().map(|mode| mode.response(config.short_preamble())).collect();
        let mut response: Vec<ModeId> = answers.iter().map(|answer| place(&mut list, *answer)).collect();
        // What answers is not answered.
        response.resize(list.len(), lowest);
        let control = match config.standard {
            crate::wlan::Standard::B => lowest,
            _ => place(&mut list, Mode::legacy(6_000_000)?),
        };
        let answer = list[usize::from(control)].response(config.short_preamble());
        let answer = place(&mut list, answer);
        response.resize(list.len(), lowest);
        response[usize::from(control)] = answer;
        Ok((Self { lowest, control, response, data }, list))
    }

    /// How one device chooses the mode of data to another (5).
    pub(super) fn adaptation(
        &self,
        config: &WlanConfig,
        medium: &Medium,
        (from, to): (DeviceId, DeviceId),
        rng: &mut RandomStream,
    ) -> RateAdaptation {
        let data = self.data.clone();
        match config.choice() {
            RateChoice::Constant(()) => RateAdaptation::Fixed(data.start),
            RateChoice::Ideal => RateAdaptation::Fixed(self.ideal(medium, (from, to))),
            RateChoice::Minstrel => {
                let modes = &medium.modes[usize::from(data.start)..usize::from(data.end)];
                RateAdaptation::Trial(data.start, Box::new(Minstrel::new(modes, rng)))
            }
        }
    }

    /// The fastest mode that loses at most one frame of 1500 octets in a thousand.
    pub(super) fn ideal(&self, medium: &Medium, (from, to): (DeviceId, DeviceId)) -> ModeId {
        const BOUND: f64 = 1e-3;
        let good = |mode: &ModeId| medium.frame_error(from, to, *mode, 1_500.0) <= BOUND;
        self.data.clone().rev().find(good).unwrap_or(self.data.start)
    }
}
