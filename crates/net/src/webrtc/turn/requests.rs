//! Requests to a TURN server that wait for an answer, and what makes an answer authentic (RFC 8489 section 9.2).
//!
//! The client of crate `rtc` gives up what a request was for where its nonce is stale, and so loses a channel that the server goes on
//! using. Here such a request is signed again with the new nonce, and the client sees its answer alone.

use rtc::crypto::RTCCrypto;
use rtc::stun::attributes::{
    ATTR_FINGERPRINT, ATTR_MESSAGE_INTEGRITY, ATTR_NONCE, ATTR_XOR_PEER_ADDRESS, RawAttribute,
};
use rtc::stun::fingerprint::FINGERPRINT;
use rtc::stun::integrity::MessageIntegrity;
use rtc::stun::message::{
    CLASS_REQUEST, Message, Setter, TRANSACTION_ID_SIZE, TransactionId, is_stun_message,
};
use rtc::stun::textattrs::Nonce;
use std::collections::BTreeMap;

/// Requests at once: permissions and channels of each peer, and one that refreshes.
const MOST: usize = 256;
/// A server that calls one nonce after the other stale is not asked for ever.
const SIGNED_AT_MOST: u8 = 16;
/// Octets of an address of IPv6 in an attribute, and where in them the number of the transaction is a mask.
const ADDRESS_IPV6: usize = 20;
const MASKED_FROM: usize = 8;

/// The number of a transaction, in an order.
pub(super) type Number = [u8; TRANSACTION_ID_SIZE];

#[derive(Debug)]
struct Request {
    message: Message,
    /// The number under which it leaves where it was signed again.
    again: TransactionId,
    signed: u8,
    is_refused: bool,
}

/// The requests, by the number that the client gave them.
#[derive(Debug, Default)]
pub(super) struct Requests(BTreeMap<Number, Request>);

impl Requests {
    /// A datagram leaves; a request waits from now on.
    pub(super) fn on_sent(&mut self, datagram: &[u8]) {
        let Some(message) = decoded(datagram).filter(|message| message.typ.class == CLASS_REQUEST) else {
            return;
        };
        if self.0.len() < MOST {
            let again = TransactionId::new();
            let request = || Request { message, again, signed: 0, is_refused: false };
            self.0.entry(transaction(datagram).0).or_insert_with(request);
        }
    }

    /// The client's number of the request that an answer of this number belongs to.
    pub(super) fn of_answer(&self, id: TransactionId) -> Option<TransactionId> {
        if self.0.contains_key(&id.0) {
            return Some(id);
        }
        let mut all = self.0.iter();
        all.find(|(_, request)| request.again == id).map(|(own, _)| TransactionId(*own))
    }

    /// Whether a request is signed with the password.
    pub(super) fn is_signed(&self, own: TransactionId) -> bool {
        self.0.get(&own.0).is_some_and(|request| request.message.contains(ATTR_MESSAGE_INTEGRITY))
    }

    /// The server has refused a request, which is no matter: the client goes on waiting in vain.
    pub(super) fn on_refused(&mut self, own: TransactionId) {
        self.0.get_mut(&own.0).into_iter().for_each(|request| request.is_refused = true);
    }

    /// A request waits no longer. Whether it was refused.
    pub(super) fn remove(&mut self, own: TransactionId) -> bool {
        self.0.remove(&own.0).is_some_and(|request| request.is_refused)
    }

    /// A request with another nonce.
    pub(super) fn sign_again(
        &mut self,
        own: TransactionId,
        nonce: &Nonce,
        key: &[u8],
        crypto: &dyn RTCCrypto,
    ) -> Option<Vec<u8>> {
        let request = self.0.get_mut(&own.0).filter(|request| request.signed < SIGNED_AT_MOST)?;
        request.signed += 1;
        let mut message = Message::new();
        message.build(&[Box::new(request.again), Box::new(request.message.typ)]).ok()?;
        let renewed = [ATTR_NONCE, ATTR_MESSAGE_INTEGRITY, ATTR_FINGERPRINT];
        for attribute in request.message.attributes.0.iter().filter(|one| !renewed.contains(&one.typ)) {
            message.add(attribute.typ, &masked(attribute, own, request.again));
        }
        nonce.add_to(&mut message).ok()?;
        MessageIntegrity::new_raw_integrity_with_provider(key, crypto).add_to(&mut message).ok()?;
        FINGERPRINT.add_to(&mut message).ok()?;
        Some(message.raw)
    }
}

/// The value of an attribute in a message of another number (RFC 8489 section 14.2).
fn masked(attribute: &RawAttribute, from: TransactionId, to: TransactionId) -> Vec<u8> {
    let mut value = attribute.value.clone();
    if attribute.typ == ATTR_XOR_PEER_ADDRESS && value.len() == ADDRESS_IPV6 {
        let masks = from.0.iter().zip(to.0).map(|(from, to)| from ^ to);
        value[MASKED_FROM..].iter_mut().zip(masks).for_each(|(octet, mask)| *octet ^= mask);
    }
    value
}

/// A message of STUN; `None` where it is malformed.
pub(super) fn decoded(datagram: &[u8]) -> Option<Message> {
    if !is_stun_message(datagram) {
        return None;
    }
    let mut message = Message { raw: datagram.to_vec(), ..Message::default() };
    message.decode().ok().map(|()| message)
}

/// The number in the head of a message.
pub(super) fn transaction(message: &[u8]) -> TransactionId {
    const AT: usize = 8;
    let number = message.get(AT..AT + TRANSACTION_ID_SIZE);
    TransactionId(number.and_then(|number| number.try_into().ok()).unwrap_or_default())
}
