//! The scale of each macroblock of a closed loop: the usual one, or another one with which it costs less.

use super::super::coder::Coder;
use super::super::drift::{ErrorSink, PredictedError};
use super::ClosedLoop;
use super::forms::{Moving, Trials};
use crate::picture::{Macroblock, Picture};
use crate::vlc::coefficients;
use crate::write::rewrite::code_bits;

/// A predicted macroblock whose codes take fewer bits keeps the usual scale: another one would gain nothing.
const LEAST_CODES: u32 = 16;

impl ClosedLoop {
    /// Codes a macroblock in the form of the input at the scale with which it costs least.
    pub(super) fn push_at_cheapest_scale(
        &mut self,
        coder: &mut Coder<'_>,
        parsed: &Picture,
        macroblock: &Macroblock,
        error: Option<&PredictedError>,
        sink: Option<&mut ErrorSink<'_, '_>>,
    ) {
        if self.chooses_scales && macroblock.blocks > 0 {
            let usual = coder.quantiser;
            let mut cost = |coder: &mut Coder<'_>, quantiser| {
                coder.quantiser = quantiser;
                let before = self.mark();
                self.push(coder, parsed, macroblock, error, None);
                let cost = coder.weighted + self.last_code_bits(coder) as f32 + coder.scale_bits(macroblock);
                self.return_to(&before);
                cost
            };
            let mut best = (cost(coder, usual), usual);
            for quantiser in coder.other_scales(macroblock, usual) {
                let cost = cost(coder, quantiser);
                if cost < best.0 {
                    best = (cost, quantiser);
                }
            }
            coder.quantiser = best.1;
        }
        self.push(coder, parsed, macroblock, error, sink);
        coder.take_scale(macroblock, self.last_blocks().coded);
    }

    /// Tries other scales for a macroblock whose form is chosen.
    pub(super) fn try_scales(&mut self, moving: &mut Moving<'_, '_>, trials: &mut Trials<'_, '_>) {
        let usual = moving.coder.quantiser;
        if self.chooses_scales && self.last_code_bits(moving.coder) >= LEAST_CODES {
            let mut best = usual;
            for quantiser in moving.coder.other_scales(trials.macroblock, usual) {
                moving.coder.quantiser = quantiser;
                if self.try_form(moving, trials, trials.form) {
                    best = quantiser;
                }
            }
            moving.coder.quantiser = best;
        }
        moving.coder.take_scale(trials.macroblock, self.last_blocks().coded);
    }

    /// Bits of the codes of the macroblock that was coded last, with the ends of its blocks.
    fn last_code_bits(&self, coder: &Coder<'_>) -> u32 {
        let blocks = self.last_blocks();
        code_bits(coefficients(coder.context, !blocks.dc.is_empty()), blocks)
    }
}
