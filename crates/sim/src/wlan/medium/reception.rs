//! Decoding of the PPDU that a receiver is locked to (`docs/models/wlan.md`, sections "Error models" and "Reception
//! and carrier sense").

use super::ppdu::PpduState;
use super::{CERTAIN, DeviceId, Medium, Ppdu, PpduId};
use crate::wlan::mode::{MICRO, Nanos};
use seaway_link::RandomStream;

impl Medium {
    /// Whether `device`, which follows PPDU `id`, gets its subframe number `index`.
    pub(crate) fn gets(
        &mut self,
        device: DeviceId,
        id: PpduId,
        index: usize,
        rng: &mut RandomStream,
    ) -> bool {
        self.is_sure(device, id)
            || self.header_ok(device, id, rng) && {
                let log = self.log_success(device, id, index);
                log > CERTAIN || rng.uniform() < libm::exp(log)
            }
    }

    /// Whether `device`, which follows PPDU `id`, gets anything of it.
    #[inline]
    pub(crate) fn gets_any(&mut self, device: DeviceId, id: PpduId, rng: &mut RandomStream) -> bool {
        self.is_sure(device, id) || self.happens_to_get_any(device, id, rng)
    }

    fn happens_to_get_any(&mut self, device: DeviceId, id: PpduId, rng: &mut RandomStream) -> bool {
        if !self.header_ok(device, id, rng) {
            return false;
        }
        let mut none = 1.0;
        for index in 0..self.ppdus[usize::from(id)].subframes() {
            let log = self.log_success(device, id, index);
            if log > CERTAIN {
                return true;
            }
            none *= -libm::expm1(log);
            if none < -CERTAIN {
                return true;
            }
        }
        rng.uniform() >= none
    }

    /// No other device has sent, and the link is good.
    #[inline]
    fn is_sure(&self, device: DeviceId, id: PpduId) -> bool {
        if self.alone == Some(id) {
            return true;
        }
        let ppdu = &self.ppdus[usize::from(id)];
        ppdu.clean && self.clean(ppdu.sender, device, ppdu.mode).is_sure
    }

    fn header_ok(&mut self, device: DeviceId, id: PpduId, rng: &mut RandomStream) -> bool {
        if let Some(known) = self.receivers[device].header {
            return known;
        }
        let ppdu = &self.ppdus[usize::from(id)];
        let success = if ppdu.clean {
            self.clean(ppdu.sender, device, ppdu.mode).header
        } else {
            let (start, end) = (ppdu.start, ppdu.start + self.modes[usize::from(ppdu.mode)].preamble);
            let worst = self.pieces(device, id, start, end).map(|(_, snr)| snr).fold(f64::INFINITY, f64::min);
            self.header(worst)
        };
        let ok = success >= 1.0 || rng.uniform() < success;
        self.receivers[device].header = Some(ok);
        ok
    }

    fn log_success(&mut self, device: DeviceId, id: PpduId, index: usize) -> f64 {
        let ppdu = &self.ppdus[usize::from(id)];
        // The service field counts with the first subframe.
        let octets = f64::from(ppdu.octets(index)) + if index == 0 { 22.0 / 8.0 } else { 0.0 };
        if ppdu.clean {
            return self.spared + self.clean(ppdu.sender, device, ppdu.mode).octet * octets;
        }
        let mode = ppdu.mode;
        let (from, to) = self.span(ppdu, index);
        let whole = (to - from).max(1) as f64;
        let mut pieces = std::mem::take(&mut self.scratch);
        pieces.clear();
        pieces.extend(self.pieces(device, id, from, to));
        let logs =
            pieces.iter().map(|&(length, snr)| self.known_octet(mode, snr) * octets * length as f64 / whole);
        let sum = logs.sum::<f64>();
        self.scratch = pieces;
        self.spared + sum
    }

    /// From when to when a subframe is in the air (3.8.1).
    fn span(&self, ppdu: &Ppdu, index: usize) -> (Nanos, Nanos) {
        let from = if index == 0 {
            ppdu.start + self.modes[usize::from(ppdu.mode)].preamble
        } else {
            self.subframe_end(ppdu, index - 1)
        };
        (from.min(ppdu.end), self.subframe_end(ppdu, index))
    }

    /// When a subframe has arrived: the last one with the PPDU.
    pub(crate) fn subframe_end(&self, ppdu: &Ppdu, index: usize) -> Nanos {
        if index + 1 >= ppdu.subframes() {
            return ppdu.end;
        }
        let mode = &self.modes[usize::from(ppdu.mode)];
        let bits = 22 + 8 * u64::from(ppdu.ends[index]);
        (ppdu.start + mode.preamble + (bits * 1_000_000 * MICRO).div_ceil(mode.rate)).min(ppdu.end)
    }

    /// The pieces of [`from`, `to`) in which the same PPDUs interfere with PPDU `id`: length and ratio.
    fn pieces(
        &self,
        device: DeviceId,
        id: PpduId,
        from: Nanos,
        to: Nanos,
    ) -> impl Iterator<Item = (Nanos, f64)> {
        let ppdu = &self.ppdus[usize::from(id)];
        let signal = self.power(ppdu.sender, device);
        let noise = self.noise(&self.modes[usize::from(ppdu.mode)]);
        let others = move || {
            self.ppdus.iter().enumerate().filter_map(move |(other, ppdu)| {
                let power = self.power(ppdu.sender, device);
                let counts = ppdu.state != PpduState::Free
                    && other != usize::from(id)
                    && ppdu.sender != device
                    && power >= self.audible;
                counts.then_some((ppdu.start, ppdu.end, power))
            })
        };
        let mut here = from;
        std::iter::from_fn(move || {
            if here >= to {
                return None;
            }
            let edges = others().flat_map(|(start, end, _)| [start, end]);
            let next = edges.filter(|&edge| edge > here).min().unwrap_or(to).min(to);
            let interference: f64 = others()
                .filter(|&(start, end, _)| start <= here && here < end)
                .map(|(.., power)| power)
                .sum();
            let length = next - here;
            here = next;
            Some((length, signal / (noise + interference)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::config::WlanConfig;
    use crate::wlan::medium::Frame;
    use crate::wlan::mode::Mode;
    use crate::wlan::{Position, Standard};

    /// `docs/models/wlan.md`, section "Receiver", rule 1.
    #[test]
    fn subframes_end_one_after_the_other() {
        let config = WlanConfig::new(Standard::Ac);
        let places = [0.0, 5.0].map(|x| Position { x, y: 0.0 });
        let mut medium = Medium::new(&config, &places, vec![Mode::vht(4, 20, true, 1).unwrap()]);
        let mode = medium.modes[0];
        let end = mode.duration(1544 + 1542);
        let id = medium.begin(
            0,
            (0, Some(1), Frame::Data { contender: 0, recipient: 0 }, 0),
            (end, end),
            &[1544, 1542],
            |_| {},
        );
        let first = medium.subframe_end(medium.ppdu(id), 0);
        let expected = mode.preamble as f64 + (22.0 + 8.0 * 1544.0) / mode.rate as f64 * 1e9;
        assert!((first as f64 - expected).abs() <= 1.0, "{first} {expected}");
        assert_eq!(medium.subframe_end(medium.ppdu(id), 1), end);
    }
}
