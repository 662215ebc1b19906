//! The medium: received powers, transmissions on the air, and which of them a receiver locks to
//! (`docs/models/wlan.md`, sections "Link budget" and "Reception and carrier sense").

mod ppdu;
mod reception;

pub(crate) use ppdu::{DeviceId, Frame, ModeId, Ppdu, PpduId};

use crate::wlan::config::{PathLoss, WlanConfig};
use crate::wlan::mode::{Mode, Nanos};
use crate::wlan::timing::NOTICE;
use crate::wlan::{ErrorModel, Position};
use ppdu::PpduState;

/// What a receiver is doing.
#[derive(Debug, Clone, Default)]
struct Receiver {
    /// The sum of all signals, in mW.
    level: f64,
    signals: u32,
    sends: bool,
    /// The PPDU it follows.
    locked: Option<PpduId>,
    /// Whether the header of that was understood, once known.
    header: Option<bool>,
    /// The strongest signal of the window that opened then.
    window: Option<(Nanos, PpduId)>,
}

/// The air of a cell.
#[derive(Debug, Clone)]
pub(crate) struct Medium {
    devices: usize,
    pub(crate) modes: Vec<Mode>,
    error: ErrorModel,
    /// Of a frame whatever its signal, see [`WlanConfig::frame_loss`]; logarithm.
    spared: f64,
    antennas: f64,
    detects: bool,
    noise_per_mhz: f64,
    /// Received power in mW, sender by receiver.
    powers: Vec<f64>,
    /// [`Clean`] by sender, receiver and mode.
    links: Vec<Clean>,
    receivers: Vec<Receiver>,
    ppdus: Vec<Ppdu>,
    in_the_air: u32,
    /// By sender and mode: devices that detect a frame and may all the same not receive it to the end while no other
    /// sends. With none of them a frame is plain.
    doubtful: Vec<u32>,
    /// A plain PPDU that is alone in the air: the receivers know nothing of it until another comes.
    alone: Option<PpduId>,
    /// What interference has made of a mode before: [`Self::octet`] by the ratio's bits and the mode.
    octets: Vec<Option<(u64, ModeId, f64)>>,
    /// Pieces of a PPDU, for the moment: length and ratio.
    scratch: Vec<(Nanos, f64)>,
    /// Pairs, each direction, in which one device does not find the medium busy when the other sends.
    hidden: usize,
    path_loss: PathLoss,
    places: Vec<Position>,
    /// Above this sum a medium is busy, in mW.
    busy_above: f64,
    /// Below this a signal does not exist, in mW.
    audible: f64,
}

/// What a link does to a mode while no other device sends.
#[derive(Debug, Clone, Copy)]
struct Clean {
    snr: f64,
    /// See [`ErrorModel::log_success`], streams included.
    octet: f64,
    /// How likely the header is understood.
    header: f64,
    /// Nothing is ever lost.
    is_sure: bool,
    /// Its preamble is noticed.
    is_noticed: bool,
}

/// −82 dBm: a preamble below is not noticed, and the medium counts as free.
const NOTICED: f64 = -82.0;
/// −101 dBm over 20 MHz: what is below does not exist.
const SENSITIVITY: f64 = -101.0;
/// Transmit power, dBm.
const POWER: f64 = 16.0206;
/// Noise figure of a receiver, dB.
const NOISE_FIGURE: f64 = 7.0;
/// 4 dB: a preamble nearer to the noise is not noticed.
const PREAMBLE_SNR: f64 = 2.511_886_431_509_58;
/// 8 dB: above, headers are free of error.
const HEADER_SNR: f64 = 6.309_573_444_801_933;
/// Bits of the header.
const HEADER_BITS: f64 = 24.0 + 48.0;
/// Octets of the largest PPDU.
const LARGEST: f64 = 1_048_575.0;
/// Ratios under interference that are remembered: there are few of them, of few combinations of senders.
const KNOWN_OCTETS: usize = 256;
/// Less likely losses are not drawn.
const CERTAIN: f64 = -1e-12;

fn milliwatts(dbm: f64) -> f64 {
    libm::pow(10.0, dbm / 10.0)
}

impl Medium {
    /// The air between devices at `places`; `modes` are those that are used in the cell.
    pub(crate) fn new(config: &WlanConfig, places: &[Position], modes: Vec<Mode>) -> Self {
        let devices = places.len();
        let widened =
            |dbm: f64| milliwatts(dbm + 10.0 * libm::log10(f64::from(config.width().max(20)) / 20.0));
        let audible = widened(SENSITIVITY);
        let mut medium = Self {
            devices,
            modes,
            error: config.error,
            spared: libm::log1p(-config.frame_loss),
            antennas: f64::from(config.antennas()),
            detects: config.preamble_detection,
            noise_per_mhz: 1.3803e-23 * 290.0 * 1e6 * 1e3 * milliwatts(NOISE_FIGURE),
            powers: vec![0.0; devices * devices],
            links: Vec::new(),
            receivers: vec![Receiver::default(); devices],
            ppdus: Vec::new(),
            in_the_air: 0,
            doubtful: Vec::new(),
            alone: None,
            octets: vec![None; KNOWN_OCTETS],
            scratch: Vec::with_capacity(16),
            hidden: 0,
            path_loss: config.path_loss,
            places: places.to_vec(),
            busy_above: if config.preamble_detection { milliwatts(NOTICED) } else { audible },
            audible,
        };
        let pairs = || (0..devices).flat_map(|from| (0..devices).map(move |to| (from, to)));
        for (from, to) in pairs() {
            medium.powers[from * devices + to] = medium.power_over(medium.places[from], medium.places[to]);
        }
        let links = medium.powers.iter().flat_map(|power| {
            let medium = &medium;
            medium.modes.iter().map(move |mode| medium.clean_link(*power, mode))
        });
        medium.links = links.collect();
        medium.doubtful = vec![0; devices * medium.modes.len()];
        pairs().filter(|(from, to)| from != to).for_each(|(from, to)| medium.count_in(from, to));
        medium
    }

    /// A device is somewhere else now.
    ///
    /// Nothing may be in the air.
    pub(crate) fn place(&mut self, device: DeviceId, at: Position) {
        debug_assert_eq!(self.in_the_air, 0);
        self.places[device] = at;
        for other in (0..self.devices).filter(|other| *other != device) {
            for (from, to) in [(device, other), (other, device)] {
                self.count_out(from, to);
                let power = self.power_over(self.places[from], self.places[to]);
                let link = from * self.devices + to;
                self.powers[link] = power;
                for mode in 0..self.modes.len() {
                    self.links[link * self.modes.len() + mode] = self.clean_link(power, &self.modes[mode]);
                }
                self.count_in(from, to);
            }
        }
    }

    /// In mW.
    fn power_over(&self, from: Position, to: Position) -> f64 {
        let PathLoss { exponent, at_1m } = self.path_loss;
        let distance = from.distance(to).max(1.0);
        let loss = at_1m.get() + 10.0 * exponent * libm::log10(distance);
        milliwatts(POWER - loss)
    }

    fn clean_link(&self, power: f64, mode: &Mode) -> Clean {
        let snr = power / self.noise(mode);
        let octet = self.octet(mode, snr);
        let header = self.header(snr);
        let is_sure = header >= 1.0 && octet * LARGEST + self.spared > CERTAIN;
        let is_noticed = !self.detects || (power >= self.busy_above && snr >= PREAMBLE_SNR);
        Clean { snr, octet, header, is_sure, is_noticed }
    }

    fn count_in(&mut self, from: DeviceId, to: DeviceId) {
        self.hidden += usize::from(self.is_hidden(from, to));
        for mode in 0..self.modes.len() {
            self.doubtful[from * self.modes.len() + mode] +=
                u32::from(self.is_doubtful(from, to, mode as ModeId));
        }
    }

    fn count_out(&mut self, from: DeviceId, to: DeviceId) {
        self.hidden -= usize::from(self.is_hidden(from, to));
        for mode in 0..self.modes.len() {
            self.doubtful[from * self.modes.len() + mode] -=
                u32::from(self.is_doubtful(from, to, mode as ModeId));
        }
    }

    /// `to` does not find the medium busy when `from` sends.
    fn is_hidden(&self, from: DeviceId, to: DeviceId) -> bool {
        self.power(from, to) < self.busy_above
    }

    /// `to` detects what `from` sends, and may all the same not receive it.
    fn is_doubtful(&self, from: DeviceId, to: DeviceId, mode: ModeId) -> bool {
        let clean = self.clean(from, to, mode);
        self.power(from, to) >= self.audible && !(clean.is_sure && clean.is_noticed)
    }

    /// Every device finds the medium busy when another sends.
    const fn is_common(&self) -> bool {
        self.hidden == 0
    }

    /// Nothing is in the air.
    pub(crate) const fn is_silent(&self) -> bool {
        self.in_the_air == 0
    }

    fn noise(&self, mode: &Mode) -> f64 {
        self.noise_per_mhz * f64::from(mode.width)
    }

    fn power(&self, from: DeviceId, to: DeviceId) -> f64 {
        self.powers[from * self.devices + to]
    }

    fn octet(&self, mode: &Mode, snr: f64) -> f64 {
        let streams = f64::from(mode.streams);
        self.error.log_success(mode, snr * self.antennas / streams) * 8.0 / streams
    }

    /// The same from a cache: error functions and powers are expensive.
    fn known_octet(&mut self, mode: ModeId, snr: f64) -> f64 {
        let bits = snr.to_bits();
        let place = (bits ^ (bits >> 20) ^ (bits >> 40)) as usize % KNOWN_OCTETS;
        if let Some((known, known_mode, octet)) = self.octets[place]
            && known == bits
            && known_mode == mode
        {
            return octet;
        }
        let octet = self.octet(&self.modes[usize::from(mode)], snr);
        self.octets[place] = Some((bits, mode, octet));
        octet
    }

    fn header(&self, snr: f64) -> f64 {
        if snr > HEADER_SNR {
            return 1.0;
        }
        let lowest = Mode::legacy(6_000_000).expect("a rate of 802.11a");
        libm::exp(self.error.log_success(&lowest, snr * self.antennas) * HEADER_BITS)
    }

    fn clean(&self, from: DeviceId, to: DeviceId, mode: ModeId) -> Clean {
        self.links[(from * self.devices + to) * self.modes.len() + usize::from(mode)]
    }

    /// The ratio of a link in `mode`, linear, while no other device sends.
    pub(crate) fn snr(&self, from: DeviceId, to: DeviceId, mode: ModeId) -> f64 {
        self.clean(from, to, mode).snr
    }

    /// The probability that a frame of `octets` is lost while no other device sends.
    pub(crate) fn frame_error(&self, from: DeviceId, to: DeviceId, mode: ModeId, octets: f64) -> f64 {
        -libm::expm1(self.clean(from, to, mode).octet * octets)
    }

    /// Whether `to` notices what `from` sends in `mode` while no other does.
    pub(crate) fn notices(&self, from: DeviceId, to: DeviceId, mode: ModeId) -> bool {
        let power = self.power(from, to);
        power >= self.audible
            && (!self.detects || (power >= self.busy_above && self.snr(from, to, mode) >= PREAMBLE_SNR))
    }

    /// The medium is busy for `device`: it sends, or detects energy.
    pub(crate) fn is_busy(&self, device: DeviceId) -> bool {
        let receiver = &self.receivers[device];
        receiver.sends || self.level(device) >= self.busy_above
    }

    /// The sum of all signals, in mW.
    fn level(&self, device: DeviceId) -> f64 {
        match self.alone {
            None => self.receivers[device].level,
            Some(id) if self.reaches(id, device) => self.power(self.ppdu(id).sender, device),
            Some(_) => 0.0,
        }
    }

    #[inline]
    fn reaches(&self, id: PpduId, device: DeviceId) -> bool {
        let sender = self.ppdu(id).sender;
        device != sender && self.power(sender, device) >= self.audible
    }

    pub(crate) fn sends(&self, device: DeviceId) -> bool {
        self.receivers[device].sends
    }

    pub(crate) fn ppdu(&self, id: PpduId) -> &Ppdu {
        &self.ppdus[usize::from(id)]
    }

    /// What is in the air, if anything, is the same for all: one PPDU that every device follows to the end and gets.
    #[inline]
    pub(crate) const fn is_shared(&self) -> bool {
        self.is_common() && self.alone.is_some()
    }

    /// The PPDU that `device` follows at `now`.
    #[inline]
    pub(crate) fn locked(&mut self, device: DeviceId, now: Nanos) -> Option<PpduId> {
        if let Some(id) = self.alone {
            return (now >= self.ppdu(id).start + NOTICE && self.reaches(id, device)).then_some(id);
        }
        self.resolve(device, now);
        self.receivers[device].locked
    }

    /// Whether `device` follows some PPDU or is about to.
    pub(crate) fn listens(&self, device: DeviceId) -> bool {
        let receiver = &self.receivers[device];
        match self.alone {
            Some(id) => self.reaches(id, device),
            None => receiver.locked.is_some() || receiver.window.is_some(),
        }
    }

    /// A PPDU goes on the air. `sizes` are the octets of its subframes. Every device for which the medium becomes busy by
    /// `busy` is called, unless the medium [is shared](Self::is_shared): then all are concerned.
    pub(crate) fn begin(
        &mut self,
        start: Nanos,
        ppdu: (DeviceId, Option<DeviceId>, Frame, ModeId),
        (end, reserved): (Nanos, Nanos),
        sizes: &[u32],
        mut busy: impl FnMut(DeviceId),
    ) -> PpduId {
        let (sender, to, frame, mode) = ppdu;
        let id = self.vacant();
        let clean = self.in_the_air == 0;
        if !clean {
            self.disturb();
        }
        let slot = &mut self.ppdus[usize::from(id)];
        let mut ends = std::mem::take(&mut slot.ends);
        ends.clear();
        ends.extend(sizes.iter().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        }));
        let state = PpduState::InTheAir;
        *slot = Ppdu { sender, to, frame, mode, start, end, reserved, ends, clean, state };
        self.in_the_air += 1;
        if clean && self.doubtful[sender * self.modes.len() + usize::from(mode)] == 0 {
            self.alone = Some(id);
            self.receivers[sender].sends = true;
            if !self.is_common() {
                let others = (0..self.devices).filter(|device| *device != sender);
                others.filter(|to| self.power(sender, *to) >= self.busy_above).for_each(busy);
            }
            return id;
        }
        for device in 0..self.devices {
            if device == sender {
                let receiver = &mut self.receivers[device];
                receiver.sends = true;
                receiver.locked = None;
                receiver.window = None;
                continue;
            }
            let was_busy = self.is_busy(device);
            self.add(start, device, id);
            if !was_busy && self.is_busy(device) {
                busy(device);
            }
        }
        id
    }

    /// What is in the air is no longer alone.
    fn disturb(&mut self) {
        if let Some(id) = self.alone.take() {
            let &Ppdu { sender, start, .. } = self.ppdu(id);
            for device in (0..self.devices).filter(|device| *device != sender) {
                self.add(start, device, id);
            }
        }
        for other in &mut self.ppdus {
            if other.state == PpduState::InTheAir {
                other.clean = false;
            }
        }
    }

    fn vacant(&mut self) -> PpduId {
        if self.in_the_air == 0 && !self.ppdus.is_empty() {
            return 0;
        }
        if let Some(free) = self.ppdus.iter().position(|ppdu| ppdu.state == PpduState::Free) {
            return free as PpduId;
        }
        self.ppdus.push(Ppdu {
            sender: 0,
            to: None,
            frame: Frame::Beacon,
            mode: 0,
            start: 0,
            end: 0,
            reserved: 0,
            ends: Vec::with_capacity(64),
            clean: true,
            state: PpduState::Free,
        });
        (self.ppdus.len() - 1) as PpduId
    }

    fn add(&mut self, now: Nanos, device: DeviceId, id: PpduId) {
        let power = self.power(self.ppdus[usize::from(id)].sender, device);
        if power < self.audible {
            return;
        }
        self.resolve(device, now);
        let strongest = match self.receivers[device].window {
            Some((_, other)) => power > self.power(self.ppdus[usize::from(other)].sender, device),
            None => true,
        };
        let receiver = &mut self.receivers[device];
        receiver.level += power;
        receiver.signals += 1;
        if receiver.sends || receiver.locked.is_some() {
            return;
        }
        match &mut receiver.window {
            Some((_, candidate)) if strongest => *candidate = id,
            Some(_) => {}
            None => receiver.window = Some((now, id)),
        }
    }

    /// Whether the strongest signal of a window that has closed is followed (2.6, rule 2).
    fn resolve(&mut self, device: DeviceId, now: Nanos) {
        let Some((opened, candidate)) = self.receivers[device].window else { return };
        if now < opened + NOTICE {
            return;
        }
        let ppdu = &self.ppdus[usize::from(candidate)];
        let noticed = if ppdu.clean {
            self.clean(ppdu.sender, device, ppdu.mode).is_noticed
        } else {
            let power = self.power(ppdu.sender, device);
            let noise = self.noise(&self.modes[usize::from(ppdu.mode)]);
            let others = (self.receivers[device].level - power).max(0.0);
            !self.detects || (power >= self.busy_above && power / (noise + others) >= PREAMBLE_SNR)
        };
        let receiver = &mut self.receivers[device];
        receiver.window = None;
        receiver.locked = noticed.then_some(candidate);
        receiver.header = None;
    }

    /// A PPDU that [is shared](Self::is_shared) has ended.
    pub(crate) fn end_shared(&mut self, id: PpduId) {
        let ppdu = &mut self.ppdus[usize::from(id)];
        ppdu.state = PpduState::Free;
        self.receivers[ppdu.sender].sends = false;
        self.in_the_air = 0;
        self.alone = None;
    }

    /// A PPDU has ended. Calls `free` for every device whose medium is free now.
    pub(crate) fn end(&mut self, id: PpduId, mut free: impl FnMut(DeviceId)) {
        let ppdu = &mut self.ppdus[usize::from(id)];
        ppdu.state = PpduState::Remembered;
        let sender = ppdu.sender;
        self.in_the_air -= 1;
        if self.alone.take().is_some() {
            self.receivers[sender].sends = false;
            for device in 0..self.devices {
                if device == sender || self.power(sender, device) >= self.busy_above {
                    free(device);
                }
            }
            return self.forget();
        }
        for device in 0..self.devices {
            let power = self.power(sender, device);
            let receiver = &mut self.receivers[device];
            if device == sender {
                receiver.sends = false;
                if receiver.level < self.busy_above {
                    free(device);
                }
                continue;
            }
            if power < self.audible {
                continue;
            }
            let was_busy = receiver.level >= self.busy_above;
            receiver.signals -= 1;
            // Sums of differences drift; silence is silence.
            receiver.level = if receiver.signals == 0 { 0.0 } else { receiver.level - power };
            if receiver.locked == Some(id) {
                receiver.locked = None;
            }
            if receiver.window.is_some_and(|(_, candidate)| candidate == id) {
                receiver.window = None;
            }
            if was_busy && !receiver.sends && receiver.level < self.busy_above {
                free(device);
            }
        }
        self.forget();
    }

    /// Frees what overlaps nothing that is still in the air.
    fn forget(&mut self) {
        if self.in_the_air == 0 {
            self.ppdus.iter_mut().for_each(|ppdu| ppdu.state = PpduState::Free);
            return;
        }
        let on_air = |ppdu: &&Ppdu| ppdu.state == PpduState::InTheAir;
        let earliest = self.ppdus.iter().filter(on_air).map(|ppdu| ppdu.start).min().unwrap_or(Nanos::MAX);
        for ppdu in &mut self.ppdus {
            if ppdu.state == PpduState::Remembered && ppdu.end <= earliest {
                ppdu.state = PpduState::Free;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wlan::Standard;
    use seaway_link::RandomStream;

    fn medium(width: u16, places: &[f64]) -> Medium {
        let config = WlanConfig { width: Some(width), ..WlanConfig::new(Standard::Ac) };
        let places: Vec<Position> = places.iter().map(|&x| Position { x, y: 0.0 }).collect();
        Medium::new(&config, &places, vec![Mode::vht(4, width, true, 1).unwrap()])
    }

    /// `docs/models/wlan.md`, section "Worked checks", check 2.
    #[test]
    fn worked_ratio() {
        let snr = medium(80, &[0.0, 36.4]).snr(0, 1, 0);
        let decibels = 10.0 * libm::log10(snr);
        assert!((decibels - 10.455).abs() < 5e-4, "{decibels}");
    }

    /// `docs/models/wlan.md`, section "Reception and carrier sense", rule 2: nothing passes 51.455 m; 47.4 m at 160
    /// MHz.
    #[test]
    fn reach_of_the_preamble() {
        for (width, reach) in [(20, 51.455), (80, 51.455), (160, 47.4)] {
            let medium = medium(width, &[0.0, reach - 0.1, reach + 0.1]);
            assert!(medium.notices(0, 1, 0) && !medium.notices(0, 2, 0), "{width} MHz");
        }
    }

    fn data(sender: DeviceId, to: DeviceId) -> (DeviceId, Option<DeviceId>, Frame, ModeId) {
        (sender, Some(to), Frame::Data { contender: 0, recipient: 0 }, 0)
    }

    /// `docs/models/wlan.md`, section "Reception and carrier sense": equal powers lose everything; the stronger of
    /// two is followed; one that comes later is interference.
    #[test]
    fn capture_takes_the_strongest_of_the_window() {
        let mut rng = RandomStream::new(1, "rng");
        let end = 1_000_000;
        for (places, second, expected) in [
            ([0.0, 5.0, -5.0], 0, None),
            ([0.0, 5.0, -20.0], 1_000, Some(0)),
            ([0.0, 20.0, -5.0], 3_999, Some(1)),
            ([0.0, 20.0, -5.0], 4_000, Some(0)),
        ] {
            let mut medium = medium(20, &places);
            let first = medium.begin(0, data(1, 0), (end, end), &[1000], |_| {});
            let other = medium.begin(second, data(2, 0), (end, end), &[1000], |_| {});
            let followed = medium.locked(0, 10_000).map(|id| if id == first { 0 } else { 1 });
            assert_eq!(followed, expected, "{places:?}");
            assert!(medium.is_busy(0));
            if followed.is_some() && second < 4_000 {
                let id = medium.locked(0, 10_000).unwrap();
                assert!(medium.gets(0, id, 0, &mut rng), "18 dB are enough");
            }
            medium.end(first, |_| {});
            medium.end(other, |_| {});
            assert!(!medium.is_busy(0) && medium.in_the_air == 0);
        }
    }
}
