//! Frame exchange sequences of a device that has access to the medium (`docs/models/wlan.md`, sections "A-MPDU and
//! acknowledgement", "Retries and lifetime" and "RTS/CTS").

use crate::cell::Addressed;
use crate::wlan::cell::{Exit, Reply, Wlan, pair_number};
use crate::wlan::event_list::Event;
use crate::wlan::medium::{DeviceId, Frame, ModeId, PpduId};
use crate::wlan::mode::{Format, Nanos, octets};
use crate::wlan::timing::{AFTER_RESPONSE, LONGEST};
use seaway_units::TimeDelta;

/// An exchange that a device has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    pub(crate) contender: usize,
    pub(crate) recipient: usize,
    pub(crate) step: FrameExchange,
    /// When the access began.
    pub(crate) began: Nanos,
    /// Its frames are longer than the RTS threshold.
    pub(crate) is_long: bool,
    /// Its frames reserve the medium up to the limit of the access, and a CF-End ends that.
    pub(crate) reserves: bool,
}

/// What was sent last, or is to be sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameExchange {
    /// RTS; data follow the CTS.
    Rts,
    /// One frame, which is acknowledged alone.
    Single,
    /// An A-MPDU.
    Aggregate,
    /// A request for block acknowledgement.
    Request,
    /// The next frame of the same access.
    Next,
    /// A beacon, which has no response.
    Beacon,
    /// A management frame, which is acknowledged alone.
    Management,
    /// A CF-End, which has no response.
    End,
}

impl<P: Addressed + std::fmt::Debug + Send> Wlan<P> {
    /// A contender has access.
    pub(crate) fn access(&mut self, index: usize) {
        for loser in self.losers(index) {
            if self.is_due(loser) {
                self.collide_inside(loser);
            }
        }
        let began = self.now;
        let sends = self.contenders[index].urgent && self.send_urgent(index, began);
        if !sends && !self.send_next(index, began) {
            // Nothing left to send: counting goes on from here.
            self.redraw(index);
            self.refresh(index);
        }
    }

    /// A beacon or a management frame goes first. False where none is left.
    fn send_urgent(&mut self, index: usize, began: Nanos) -> bool {
        if index == 0 {
            self.send_beacon(index);
            return true;
        }
        self.send_management(index, began)
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
        contender.backoff.draw(self.now, &mut self.devices[contender.device].rng);
    }

    /// The oldest of the recipient whose turn it is leaves the queue after too many failures.
    fn give_up_first(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        contender.short_failures = 0;
        contender.long_failures = 0;
        contender.backoff.reset();
        if contender.urgent {
            return self.give_up_management(index);
        }
        let Some(recipient) = contender.queue.choose() else { return };
        if let Some(discarded) = contender.queue.discard_first(recipient) {
            self.discard(index, recipient, discarded);
        }
    }

    fn send_beacon(&mut self, index: usize) {
        self.contenders[index].urgent = false;
        self.sizes.clear();
        self.sizes.push(self.timing.beacon_octets);
        let exchange = self.exchange(index, 0, FrameExchange::Beacon, self.now);
        self.devices[0].exchange = Some(exchange);
        self.association.beacon();
        self.transmit((0, None, Frame::Beacon, self.modes.lowest), |end| end);
    }

    pub(crate) const fn exchange(
        &self,
        contender: usize,
        recipient: usize,
        step: FrameExchange,
        began: Nanos,
    ) -> Exchange {
        Exchange { contender, recipient, step, began, is_long: false, reserves: false }
    }

    /// Sends what comes first: a request for block acknowledgement, or data. False where there is nothing.
    fn send_next(&mut self, index: usize, began: Nanos) -> bool {
        self.expire(index);
        let queue = &mut self.contenders[index].queue;
        if let Some(recipient) = queue.take_request() {
            self.send_request(index, recipient, began);
            return true;
        }
        let Some(recipient) = queue.choose() else { return false };
        self.send_data(index, recipient, began, false)
    }

    fn send_request(&mut self, index: usize, recipient: usize, began: Nanos) {
        let contender = &mut self.contenders[index];
        let (device, recipients) = (contender.device, &mut contender.queue.recipients);
        let data = recipients[recipient].adaptation.current();
        let to = recipients[recipient].to;
        let mode = self.modes.response[usize::from(data)];
        let answer = self.timing.sifs + self.duration(mode, u64::from(octets::BLOCK_ACK));
        self.sizes.clear();
        self.sizes.push(octets::BLOCK_ACK_REQUEST);
        self.devices[device].exchange = Some(self.exchange(index, recipient, FrameExchange::Request, began));
        let frame = Frame::Request { contender: index as u16, recipient: recipient as u16 };
        let end = self.transmit((device, Some(to), frame, mode), |end| end + answer);
        let span = end + answer - self.now;
        self.meter(device, to).occupy(span);
    }

    /// Builds a PPDU for a recipient and sends it, behind an RTS where it is long and no CTS has come. False where nothing
    /// fits into what is left of the access.
    fn send_data(&mut self, index: usize, recipient: usize, began: Nanos, is_cleared: bool) -> bool {
        let contender = &mut self.contenders[index];
        let device = contender.device;
        let mode = contender.queue.recipients[recipient].adaptation.choose();
        let limit = contender.backoff.access.limit;
        let left = if limit > 0 { (began + limit).saturating_sub(self.now) } else { Nanos::MAX };
        let count = self.build(index, recipient, mode, left);
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
        let step = if count > 1 { FrameExchange::Aggregate } else { FrameExchange::Single };
        let mut exchange = self.exchange(index, recipient, step, began);
        exchange.is_long = is_long;
        let to = self.contenders[index].queue.recipients[recipient].to;
        if is_long && !is_cleared {
            self.send_rts(device, to, exchange, self.duration(mode, psdu) + answer);
            return true;
        }
        self.contenders[index].queue.launch(recipient, count);
        self.air.attempt(count as u64);
        self.devices[device].exchange = Some(exchange);
        let frame = Frame::Data { contender: index as u16, recipient: recipient as u16 };
        let end = self.transmit((device, Some(to), frame, mode), |end| end + answer);
        let span = end + answer - self.now;
        self.meter(device, to).occupy(span);
        true
    }

    /// Puts into `sizes` the subframes of the next PPDU for a recipient (3.6, rule 1); how many.
    fn build(&mut self, index: usize, recipient: usize, mode: ModeId, left: Nanos) -> usize {
        let config = &self.config;
        let contender = &self.contenders[index];
        let is_vht = self.medium.modes[usize::from(mode)].format == Format::Vht;
        let aggregates = contender.backoff.access.aggregates && config.largest_aggregate() > 0;
        let delimiter = if is_vht { octets::DELIMITER } else { 0 };
        self.sizes.clear();
        let mut waiting = contender.queue.recipients[recipient].sendable();
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
        exchange.step = FrameExchange::Rts;
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
            Frame::Beacon | Frame::End => self.finish(device),
            Frame::Rts | Frame::Data { .. } | Frame::Request { .. } | Frame::Management(_) => {
                let missed = self.now + self.timing.response_timeout;
                self.devices[device].timeout_end = missed;
                self.events.put(missed, Event::Timeout(device));
            }
            Frame::Cts | Frame::Ack | Frame::BlockAck => {}
        }
    }

    /// A device has received a PPDU addressed to it.
    pub(crate) fn on_received(&mut self, device: DeviceId, ppdu: PpduId) {
        let sent = self.medium.ppdu(ppdu);
        let (from, frame, mode, reserved) = (sent.sender, sent.frame, sent.mode, sent.reserved);
        let is_alone = sent.subframes() == 1;
        match frame {
            Frame::Beacon | Frame::End => {}
            Frame::Rts if self.is_reserved(device) => {}
            Frame::Rts => self.reply(device, from, Frame::Cts, mode, reserved),
            Frame::Data { .. } if is_alone => self.reply(device, from, Frame::Ack, mode, 0),
            Frame::Data { .. } => self.reply(device, from, Frame::BlockAck, mode, 0),
            Frame::Request { contender, recipient } => {
                self.skip(device, usize::from(contender), usize::from(recipient));
                self.reply(device, from, Frame::BlockAck, mode, 0);
            }
            Frame::Management(kind) => {
                self.reply(device, from, Frame::Ack, mode, reserved);
                self.on_management(device, from, kind);
            }
            Frame::Cts | Frame::Ack | Frame::BlockAck => self.succeed(device),
        }
    }

    /// Another device has reserved the medium.
    fn is_reserved(&mut self, device: DeviceId) -> bool {
        self.catch_up(device);
        self.devices[device].nav > self.now
    }

    fn reply(&mut self, device: DeviceId, to: DeviceId, frame: Frame, received: ModeId, reserved: Nanos) {
        // The response to a request has its mode, which is a response mode already.
        let mode = match frame {
            Frame::BlockAck if self.modes.data.end <= received => received,
            _ => self.modes.response[usize::from(received)],
        };
        self.devices[device].reply = Some(Reply { to, frame, mode, reserved });
        self.events.put(self.now + self.timing.sifs, Event::Reply(device));
    }

    /// SIFS is over: a device responds.
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
        let receives = !self.medium.sends(to) && !self.medium.listens(to);
        let end = self.transmit((device, Some(to), frame, mode), |end| reserved.max(end));
        if receives && self.devices[to].exchange.is_some() {
            // The header is read before the response would be missed (3.2, rule 9).
            self.events.cancel(Event::Timeout(to));
            self.events.put(end + AFTER_RESPONSE, Event::Timeout(to));
            self.devices[to].timeout_end = end + AFTER_RESPONSE;
        }
    }

    /// An MPDU has reached its receiver (3.8).
    pub(crate) fn arrive(&mut self, ppdu: PpduId, index: usize) {
        let sent = self.medium.ppdu(ppdu);
        let (from, start) = (sent.sender, sent.start);
        let (Frame::Data { contender, recipient }, Some(to)) = (sent.frame, sent.to) else {
            return;
        };
        let contender = &mut self.contenders[usize::from(contender)];
        let is_ordered = contender.backoff.access.is_qos;
        let recipient = &mut contender.queue.recipients[usize::from(recipient)];
        let Some(mpdu) = recipient.in_flight_mut(index) else { return };
        let Some(mut packet) = mpdu.packet.take() else { return };
        packet.waited += TimeDelta::from_nanos(start.saturating_sub(mpdu.since) as i64);
        let sequence = mpdu.sequence.unwrap_or_default();
        let accepts = self.association.accepts(from, to);
        let meter = &mut self.meters[pair_number(from, to)];
        let mut exit = Exit { meter, out: &mut self.out, now: self.now, accepts };
        if is_ordered {
            recipient.peer.take(sequence, packet, |packet| exit.deliver(packet));
        } else {
            exit.deliver(packet);
        }
    }

    /// A block acknowledgement request: the receiver gets nothing older (3.8, rule 3).
    fn skip(&mut self, device: DeviceId, contender: usize, recipient: usize) {
        let from = self.contenders[contender].device;
        let recipient = &mut self.contenders[contender].queue.recipients[recipient];
        let start = recipient.window_start();
        let accepts = self.association.accepts(from, device);
        let meter = &mut self.meters[pair_number(from, device)];
        let mut exit = Exit { meter, out: &mut self.out, now: self.now, accepts };
        recipient.peer.skip_to(start, |packet| exit.deliver(packet));
    }

    /// The response has come.
    fn succeed(&mut self, device: DeviceId) {
        let Some(exchange) = self.devices[device].exchange else { return };
        self.events.cancel(Event::Timeout(device));
        self.devices[device].timeout_end = self.now;
        let Exchange { contender: index, recipient, step, .. } = exchange;
        if step == FrameExchange::Rts {
            self.events.put(self.now + self.timing.sifs, Event::Continue(device));
            return;
        }
        if step == FrameExchange::Management {
            self.end_management(index);
            return self.go_on(device, exchange);
        }
        let contender = &mut self.contenders[index];
        let to = contender.queue.recipients[recipient].to;
        let sent = contender.queue.recipients[recipient].in_flight();
        let (acknowledged, octets) = contender.queue.acknowledge(recipient);
        if step != FrameExchange::Request {
            contender.queue.recipients[recipient].adaptation.report(
                self.now,
                acknowledged,
                sent - acknowledged,
            );
        }
        contender.backoff.reset();
        if step == FrameExchange::Single {
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
            exchange.step = FrameExchange::Next;
            self.devices[device].exchange = Some(exchange);
            self.events.put(self.now + self.timing.sifs, Event::Continue(device));
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
        let Exchange { contender: index, recipient, step, began, .. } = exchange;
        let sends = match step {
            FrameExchange::Rts => {
                self.expire(index);
                self.contenders[index].queue.recipients[recipient].waiting() > 0
                    && self.send_data(index, recipient, began, true)
            }
            _ if exchange.reserves => {
                if !self.send_management(index, began) {
                    self.send_end(exchange);
                }
                true
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
        if self.contenders[index].urgent && self.send_management(index, began) {
            return true;
        }
        let queue = &mut self.contenders[index].queue;
        if let Some(recipient) = queue.take_request() {
            self.send_request(index, recipient, began);
            return true;
        }
        if self.contenders[index].backoff.access.limit == 0 {
            return false;
        }
        let Some(recipient) = self.contenders[index].queue.choose() else { return false };
        self.send_data(index, recipient, began, false)
    }

    /// The response was missed.
    pub(crate) fn miss(&mut self, device: DeviceId) {
        let Some(exchange) = self.devices[device].exchange else { return };
        self.devices[device].timeout_end = self.now;
        match exchange.step {
            FrameExchange::Rts => {
                let contender = &mut self.contenders[exchange.contender];
                contender.short_failures += 1;
                contender.backoff.widen();
            }
            FrameExchange::Single => self.miss_ack(exchange),
            FrameExchange::Management => self.miss_management(exchange.contender),
            FrameExchange::Aggregate => self.miss_block_ack(exchange, false),
            FrameExchange::Request => self.miss_block_ack(exchange, true),
            FrameExchange::Next | FrameExchange::Beacon | FrameExchange::End => {}
        }
        self.finish(device);
        if !self.medium.is_busy(device) {
            self.resume(device);
        }
    }

    /// One frame was not acknowledged (3.7, rules 2 and 3).
    fn miss_ack(&mut self, exchange: Exchange) {
        const LONG_RETRIES: u32 = 4;
        let Exchange { contender: index, recipient, is_long, .. } = exchange;
        let contender = &mut self.contenders[index];
        contender.short_failures += 1;
        let give_up = if is_long {
            contender.long_failures += 1;
            contender.long_failures >= LONG_RETRIES
        } else {
            contender.short_failures >= self.config.retries
        };
        contender.queue.recipients[recipient].adaptation.report(self.now, 0, 1);
        contender.queue.recall(recipient);
        if !give_up {
            contender.backoff.widen();
            return;
        }
        contender.short_failures = 0;
        contender.long_failures = 0;
        contender.backoff.reset();
        if let Some(discarded) = contender.queue.discard_first(recipient) {
            self.discard(index, recipient, discarded);
        }
    }

    /// No block acknowledgement came, for data or for a request (3.6, rule 5).
    fn miss_block_ack(&mut self, exchange: Exchange, was_request: bool) {
        let Exchange { contender: index, recipient, .. } = exchange;
        let contender = &mut self.contenders[index];
        contender.short_failures += 1;
        if !was_request {
            let sent = contender.queue.recipients[recipient].in_flight();
            contender.queue.recipients[recipient].adaptation.report(self.now, 0, sent);
        }
        while let Some(discarded) = self.contenders[index].queue.expire_flying(recipient, self.now) {
            self.discard(index, recipient, discarded);
        }
        let contender = &mut self.contenders[index];
        if contender.queue.recipients[recipient].in_flight() > 0 {
            contender.queue.request(recipient, false, was_request);
            contender.backoff.widen();
        } else {
            contender.queue.request(recipient, true, was_request);
            contender.backoff.reset();
            contender.short_failures = 0;
        }
    }

    /// A third party has received an RTS: the reservation ends unless a frame follows.
    pub(crate) fn expect_use(&mut self, device: DeviceId) {
        let answer = self.modes.response[usize::from(self.modes.control)];
        let cts = self.duration(answer, u64::from(octets::CTS));
        let header = self.medium.modes[usize::from(answer)].preamble;
        let at = self.now + 2 * self.timing.sifs + cts + header + 2 * self.timing.slot;
        self.events.put(at, Event::Unreserve(device, self.now));
    }

    pub(crate) fn unreserve(&mut self, device: DeviceId, made: Nanos) {
        self.catch_up(device);
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
