//! Frame exchange sequences of a device that has access to the medium (`docs/models/wlan.md`, sections "A-MPDU and
//! acknowledgement", "Retries and lifetime" and "RTS/CTS").

use crate::cell::Addressed;
use crate::wlan::agenda::Event;
use crate::wlan::cell::{Exit, Reply, Wlan, lane_number};
use crate::wlan::medium::{DeviceId, Frame, ModeId, PpduId};
use crate::wlan::mode::{Format, Nanos, octets};
use crate::wlan::timing::{AFTER_RESPONSE, LONGEST};
use seaway_units::TimeDelta;

/// An exchange that a device has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    pub(crate) contender: usize,
    lane: usize,
    step: Step,
    /// When the access began.
    began: Nanos,
    /// Its frames are longer than the RTS threshold.
    is_long: bool,
}

/// What was sent last, or is to be sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// RTS; data follow the CTS.
    Ask,
    /// One frame, which is acknowledged alone.
    Single,
    /// An A-MPDU.
    Aggregate,
    /// A request for block acknowledgement.
    Request,
    /// Whatever comes next in the same access.
    Next,
    /// A beacon, which nobody answers.
    Beacon,
}

impl<P: Addressed + std::fmt::Debug + Send> Wlan<P> {
    /// It is the turn of a contender.
    pub(crate) fn access(&mut self, index: usize) {
        for loser in self.losers(index) {
            if self.is_due(loser) {
                self.collide_inside(loser);
            }
        }
        let began = self.now;
        if self.contenders[index].beacon {
            self.send_beacon(index);
        } else if !self.send_next(index, began) {
            // Nothing left to send: counting goes on from here.
            self.redraw(index);
            self.refresh(index);
        }
    }

    /// Lost to a queue of higher priority in the same device (3.2, rule 8).
    fn collide_inside(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        contender.short_failures += 1;
        contender.backoff.widen();
        if contender.short_failures >= self.config.retries {
            self.give_up_first(index);
        }
        self.redraw(index);
    }

    fn redraw(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        contender.backoff.draw(self.now, &mut self.devices[contender.device].luck);
    }

    /// The oldest of the lane whose turn it is leaves the queue after too many failures.
    fn give_up_first(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        contender.short_failures = 0;
        contender.long_failures = 0;
        contender.backoff.reset();
        let Some(lane) = contender.queue.choose() else { return };
        if let Some(discarded) = contender.queue.discard_first(lane) {
            self.discard(index, lane, discarded);
        }
    }

    fn send_beacon(&mut self, index: usize) {
        self.contenders[index].beacon = false;
        self.sizes.clear();
        self.sizes.push(self.timing.beacon_octets);
        let exchange = self.exchange(index, 0, Step::Beacon, self.now);
        self.devices[0].exchange = Some(exchange);
        self.association.beacon();
        self.transmit((0, None, Frame::Beacon, self.modes.lowest), |end| end);
    }

    const fn exchange(&self, contender: usize, lane: usize, step: Step, began: Nanos) -> Exchange {
        Exchange { contender, lane, step, began, is_long: false }
    }

    /// Sends what comes first: a request for block acknowledgement, or data. False where there is nothing.
    fn send_next(&mut self, index: usize, began: Nanos) -> bool {
        self.expire(index);
        let queue = &mut self.contenders[index].queue;
        if let Some(lane) = queue.take_request() {
            self.send_request(index, lane, began);
            return true;
        }
        let Some(lane) = queue.choose() else { return false };
        self.send_data(index, lane, began, false)
    }

    fn send_request(&mut self, index: usize, lane: usize, began: Nanos) {
        let contender = &mut self.contenders[index];
        let (device, lanes) = (contender.device, &mut contender.queue.lanes);
        let data = lanes[lane].adaptation.current();
        let to = lanes[lane].to;
        let mode = self.modes.response[usize::from(data)];
        let answer = self.timing.sifs + self.duration(mode, u64::from(octets::BLOCK_ACK));
        self.sizes.clear();
        self.sizes.push(octets::BLOCK_ACK_REQUEST);
        self.devices[device].exchange = Some(self.exchange(index, lane, Step::Request, began));
        let frame = Frame::Request { contender: index as u16, lane: lane as u16 };
        let end = self.transmit((device, Some(to), frame, mode), |end| end + answer);
        let span = end + answer - self.now;
        self.meter(device, to).occupy(span);
    }

    /// Builds a PPDU for a lane and sends it, behind an RTS where it is long and no CTS has come. False where nothing
    /// fits into what is left of the access.
    fn send_data(&mut self, index: usize, lane: usize, began: Nanos, is_cleared: bool) -> bool {
        let contender = &mut self.contenders[index];
        let device = contender.device;
        let mode = contender.queue.lanes[lane].adaptation.choose();
        let limit = contender.backoff.access.limit;
        let left = if limit > 0 { (began + limit).saturating_sub(self.now) } else { Nanos::MAX };
        let count = self.build(index, lane, mode, left);
        if count == 0 {
            return false;
        }
        let psdu: u64 = self.sizes.iter().map(|&size| u64::from(size)).sum();
        let answer_mode = self.modes.response[usize::from(mode)];
        let answer = if count > 1 { octets::BLOCK_ACK } else { octets::ACK };
        let answer = self.timing.sifs + self.duration(answer_mode, u64::from(answer));
        // The first exchange of an access may be longer than its limit, those behind may not.
        if began < self.now && !is_cleared && self.duration(mode, psdu) + answer > left {
            return false;
        }
        let is_long = psdu > self.config.rts.as_bytes();
        let step = if count > 1 { Step::Aggregate } else { Step::Single };
        let mut exchange = self.exchange(index, lane, step, began);
        exchange.is_long = is_long;
        let to = self.contenders[index].queue.lanes[lane].to;
        if is_long && !is_cleared {
            self.send_rts(device, to, exchange, self.duration(mode, psdu) + answer);
            return true;
        }
        self.contenders[index].queue.launch(lane, count);
        self.air.attempt(count as u64);
        self.devices[device].exchange = Some(exchange);
        let frame = Frame::Data { contender: index as u16, lane: lane as u16 };
        let end = self.transmit((device, Some(to), frame, mode), |end| end + answer);
        let span = end + answer - self.now;
        self.meter(device, to).occupy(span);
        true
    }

    /// Puts into `sizes` the subframes of the next PPDU for a lane (3.6, rule 1); how many.
    fn build(&mut self, index: usize, lane: usize, mode: ModeId, left: Nanos) -> usize {
        let config = &self.config;
        let contender = &self.contenders[index];
        let is_vht = self.medium.modes[usize::from(mode)].format == Format::Vht;
        let aggregates = contender.backoff.access.aggregates && config.largest_aggregate() > 0;
        let delimiter = if is_vht { octets::DELIMITER } else { 0 };
        self.sizes.clear();
        let mut waiting = contender.queue.lanes[lane].sendable();
        let Some(mut last) = waiting.next() else { return 0 };
        let waits = waiting.next();
        if aggregates && waits.is_some() {
            let span = LONGEST.min(left).saturating_sub(self.timing.extension);
            let fits = self.medium.modes[usize::from(mode)].octets_in(span);
            let most = fits.min(config.largest_aggregate()) as u32;
            let mut sum = 0;
            for next in waits.into_iter().chain(waiting) {
                let padded = octets::subframe(last);
                if sum + padded + octets::DELIMITER + next > most {
                    break;
                }
                sum += padded;
                self.sizes.push(padded);
                last = next;
            }
        }
        let is_alone = self.sizes.is_empty();
        self.sizes.push(last + if is_alone { delimiter } else { octets::DELIMITER });
        self.sizes.len()
    }

    fn send_rts(&mut self, device: DeviceId, to: DeviceId, mut exchange: Exchange, rest: Nanos) {
        exchange.step = Step::Ask;
        self.devices[device].exchange = Some(exchange);
        let control = self.modes.control;
        let answer = self.modes.response[usize::from(control)];
        let rest = rest + 2 * self.timing.sifs + self.duration(answer, u64::from(octets::CTS));
        self.sizes.clear();
        self.sizes.push(octets::RTS);
        self.transmit((device, Some(to), Frame::Rts, control), |end| end + rest);
    }

    /// A device has sent its PPDU to the end.
    pub(crate) fn sent(&mut self, device: DeviceId, frame: Frame) {
        match frame {
            Frame::Beacon => self.finish(device),
            Frame::Rts | Frame::Data { .. } | Frame::Request { .. } => {
                let missed = self.now + self.timing.response_timeout;
                self.devices[device].timeout_end = missed;
                self.agenda.put(missed, Event::Timeout(device));
            }
            Frame::Cts | Frame::Ack | Frame::BlockAck => {}
        }
    }

    /// A device has understood a PPDU that was meant for it.
    pub(crate) fn understood(&mut self, device: DeviceId, ppdu: PpduId) {
        let sent = self.medium.ppdu(ppdu);
        let (from, frame, mode, reserved) = (sent.sender, sent.frame, sent.mode, sent.reserved);
        let is_alone = sent.subframes() == 1;
        match frame {
            Frame::Beacon => {}
            Frame::Rts if self.is_reserved(device) => {}
            Frame::Rts => self.reply(device, from, Frame::Cts, mode, reserved),
            Frame::Data { .. } if is_alone => self.reply(device, from, Frame::Ack, mode, 0),
            Frame::Data { .. } => self.reply(device, from, Frame::BlockAck, mode, 0),
            Frame::Request { contender, lane } => {
                self.skip(device, usize::from(contender), usize::from(lane));
                self.reply(device, from, Frame::BlockAck, mode, 0);
            }
            Frame::Cts | Frame::Ack | Frame::BlockAck => self.succeed(device),
        }
    }

    /// Somebody else has reserved the medium.
    fn is_reserved(&mut self, device: DeviceId) -> bool {
        self.tell(device);
        self.devices[device].nav > self.now
    }

    fn reply(&mut self, device: DeviceId, to: DeviceId, frame: Frame, heard: ModeId, reserved: Nanos) {
        // A request is answered in its own mode, which is that of responses already.
        let mode = match frame {
            Frame::BlockAck if self.modes.data.end <= heard => heard,
            _ => self.modes.response[usize::from(heard)],
        };
        self.devices[device].reply = Some(Reply { to, frame, mode, reserved });
        self.agenda.put(self.now + self.timing.sifs, Event::Reply(device));
    }

    /// SIFS is over: a device answers.
    pub(crate) fn answer(&mut self, device: DeviceId) {
        let Some(Reply { to, frame, mode, reserved }) = self.devices[device].reply.take() else { return };
        if self.medium.sends(device) {
            return;
        }
        let size = match frame {
            Frame::BlockAck => octets::BLOCK_ACK,
            Frame::Cts => octets::CTS,
            _ => octets::ACK,
        };
        self.sizes.clear();
        self.sizes.push(size);
        let hears = !self.medium.sends(to) && !self.medium.listens(to);
        let end = self.transmit((device, Some(to), frame, mode), |end| reserved.max(end));
        if hears && self.devices[to].exchange.is_some() {
            // The header is read before the response would be missed (3.2, rule 9).
            self.agenda.cancel(Event::Timeout(to));
            self.agenda.put(end + AFTER_RESPONSE, Event::Timeout(to));
            self.devices[to].timeout_end = end + AFTER_RESPONSE;
        }
    }

    /// An MPDU has reached its receiver (3.8).
    pub(crate) fn arrive(&mut self, ppdu: PpduId, index: usize) {
        let sent = self.medium.ppdu(ppdu);
        let (from, start) = (sent.sender, sent.start);
        let (Frame::Data { contender, lane }, Some(to)) = (sent.frame, sent.to) else {
            return;
        };
        let contender = &mut self.contenders[usize::from(contender)];
        let is_ordered = contender.backoff.access.is_qos;
        let lane = &mut contender.queue.lanes[usize::from(lane)];
        let Some(mpdu) = lane.flying(index) else { return };
        let Some(mut packet) = mpdu.packet.take() else { return };
        packet.waited += TimeDelta::from_nanos(start.saturating_sub(mpdu.since) as i64);
        let sequence = mpdu.sequence.unwrap_or_default();
        let mut exit = Exit { meter: &mut self.meters[lane_number(from, to)], out: &mut self.out };
        if is_ordered {
            lane.peer.take(sequence, packet, |packet| exit.deliver(packet));
        } else {
            exit.deliver(packet);
        }
    }

    /// A request tells the receiver that nothing older will come (3.8, rule 3).
    fn skip(&mut self, device: DeviceId, contender: usize, lane: usize) {
        let from = self.contenders[contender].device;
        let lane = &mut self.contenders[contender].queue.lanes[lane];
        let start = lane.window_start();
        let mut exit = Exit { meter: &mut self.meters[lane_number(from, device)], out: &mut self.out };
        lane.peer.skip_to(start, |packet| exit.deliver(packet));
    }

    /// The response has come.
    fn succeed(&mut self, device: DeviceId) {
        let Some(exchange) = self.devices[device].exchange else { return };
        self.agenda.cancel(Event::Timeout(device));
        self.devices[device].timeout_end = self.now;
        let Exchange { contender: index, lane, step, .. } = exchange;
        if step == Step::Ask {
            self.agenda.put(self.now + self.timing.sifs, Event::Continue(device));
            return;
        }
        let contender = &mut self.contenders[index];
        let to = contender.queue.lanes[lane].to;
        let sent = contender.queue.lanes[lane].in_flight();
        let (acknowledged, octets) = contender.queue.acknowledge(lane);
        if step != Step::Request {
            contender.queue.lanes[lane].adaptation.report(self.now, acknowledged, sent - acknowledged);
        }
        contender.backoff.reset();
        if step == Step::Single {
            contender.short_failures = 0;
            contender.long_failures = 0;
        }
        self.air.acknowledge(acknowledged as u64);
        let now = self.now;
        let meter = self.meter(device, to);
        meter.pop(now, acknowledged as u64, octets);
        self.expire(index);
        self.go_on(device, exchange);
    }

    /// After a success: a pending request goes out in the same access, and so do more data where its limit allows.
    fn go_on(&mut self, device: DeviceId, mut exchange: Exchange) {
        let contender = &self.contenders[exchange.contender];
        if contender.queue.has_request() || contender.backoff.access.limit > 0 {
            exchange.step = Step::Next;
            self.devices[device].exchange = Some(exchange);
            self.agenda.put(self.now + self.timing.sifs, Event::Continue(device));
            return;
        }
        self.finish(device);
    }

    /// The access is over (3.2, rule 5).
    fn finish(&mut self, device: DeviceId) {
        if let Some(exchange) = self.devices[device].exchange.take() {
            self.redraw(exchange.contender);
        }
    }

    /// SIFS is over: a device goes on with its exchange.
    pub(crate) fn carry_on(&mut self, device: DeviceId) {
        let Some(exchange) = self.devices[device].exchange else { return };
        let Exchange { contender: index, lane, step, began, .. } = exchange;
        let sends = match step {
            Step::Ask => {
                self.expire(index);
                self.contenders[index].queue.lanes[lane].waiting() > 0
                    && self.send_data(index, lane, began, true)
            }
            _ => self.next_within(index, began),
        };
        if !sends {
            self.finish(device);
            if !self.medium.is_busy(device) {
                self.resume(device);
            }
        }
    }

    /// What else fits into the access.
    fn next_within(&mut self, index: usize, began: Nanos) -> bool {
        self.expire(index);
        let queue = &mut self.contenders[index].queue;
        if let Some(lane) = queue.take_request() {
            self.send_request(index, lane, began);
            return true;
        }
        if self.contenders[index].backoff.access.limit == 0 {
            return false;
        }
        let Some(lane) = self.contenders[index].queue.choose() else { return false };
        self.send_data(index, lane, began, false)
    }

    /// The response was missed.
    pub(crate) fn miss(&mut self, device: DeviceId) {
        let Some(exchange) = self.devices[device].exchange else { return };
        self.devices[device].timeout_end = self.now;
        match exchange.step {
            Step::Ask => {
                let contender = &mut self.contenders[exchange.contender];
                contender.short_failures += 1;
                contender.backoff.widen();
            }
            Step::Single => self.miss_ack(exchange),
            Step::Aggregate => self.miss_block_ack(exchange, false),
            Step::Request => self.miss_block_ack(exchange, true),
            Step::Next | Step::Beacon => {}
        }
        self.finish(device);
        if !self.medium.is_busy(device) {
            self.resume(device);
        }
    }

    /// One frame was not acknowledged (3.7, rules 2 and 3).
    fn miss_ack(&mut self, exchange: Exchange) {
        const LONG_RETRIES: u32 = 4;
        let Exchange { contender: index, lane, is_long, .. } = exchange;
        let contender = &mut self.contenders[index];
        contender.short_failures += 1;
        let give_up = if is_long {
            contender.long_failures += 1;
            contender.long_failures >= LONG_RETRIES
        } else {
            contender.short_failures >= self.config.retries
        };
        contender.queue.lanes[lane].adaptation.report(self.now, 0, 1);
        contender.queue.recall(lane);
        if !give_up {
            contender.backoff.widen();
            return;
        }
        contender.short_failures = 0;
        contender.long_failures = 0;
        contender.backoff.reset();
        if let Some(discarded) = contender.queue.discard_first(lane) {
            self.discard(index, lane, discarded);
        }
    }

    /// No block acknowledgement came, for data or for a request (3.6, rule 5).
    fn miss_block_ack(&mut self, exchange: Exchange, was_request: bool) {
        let Exchange { contender: index, lane, .. } = exchange;
        let contender = &mut self.contenders[index];
        contender.short_failures += 1;
        if !was_request {
            let sent = contender.queue.lanes[lane].in_flight();
            contender.queue.lanes[lane].adaptation.report(self.now, 0, sent);
        }
        while let Some(discarded) = self.contenders[index].queue.expire_flying(lane, self.now) {
            self.discard(index, lane, discarded);
        }
        let contender = &mut self.contenders[index];
        if contender.queue.lanes[lane].in_flight() > 0 {
            contender.queue.request(lane, false, was_request);
            contender.backoff.widen();
        } else {
            contender.queue.request(lane, true, was_request);
            contender.backoff.reset();
            contender.short_failures = 0;
        }
    }

    /// A bystander has read an RTS: unless something follows, the reservation is void.
    pub(crate) fn expect_use(&mut self, device: DeviceId) {
        let answer = self.modes.response[usize::from(self.modes.control)];
        let cts = self.duration(answer, u64::from(octets::CTS));
        let header = self.medium.modes[usize::from(answer)].preamble;
        let at = self.now + 2 * self.timing.sifs + cts + header + 2 * self.timing.slot;
        self.agenda.put(at, Event::Unreserve(device, self.now));
    }

    pub(crate) fn unreserve(&mut self, device: DeviceId, made: Nanos) {
        self.tell(device);
        let state = &mut self.devices[device];
        if state.rx_end > made || self.medium.listens(device) || state.nav <= self.now {
            return;
        }
        state.nav = self.now;
        if !self.medium.is_busy(device) {
            self.resume(device);
        }
    }
}
