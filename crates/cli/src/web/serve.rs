//! The routes.

use super::assets;
use super::connections::Connection;
use super::ice::IceServers;
use super::live::{Hub, Live};
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Extension, Router};
use seaway_net::webrtc::{Broadcast, Error, SlotId};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// The type of offers and answers.
const SDP: &str = "application/sdp";
/// An offer is a few kilobytes.
const LONGEST_OFFER: usize = 64 * 1024;
const LONGEST_REQUEST: usize = 4 * 1024;
/// The least time from one request of a browser to the next; more wait in its connection.
const REQUEST_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Clone)]
struct Shared {
    hub: Arc<Hub>,
    broadcast: Broadcast,
    ice: IceServers,
}

pub(super) fn router(hub: Arc<Hub>, broadcast: Broadcast, ice: IceServers) -> Router {
    Router::new()
        .route("/api/live", get(live))
        .route("/whep", post(watch).options(offers).layer(DefaultBodyLimit::max(LONGEST_OFFER)))
        .route("/whep/{slot}", delete(leave))
        .route("/", get(assets::page))
        .with_state(Shared { hub, broadcast, ice })
}

/// WHEP (draft-ietf-wish-whep-02): an offer of a player, all its candidates inside. The session has a URL of its own.
async fn watch(
    Extension(connection): Extension<Connection>,
    State(shared): State<Shared>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    offer: String,
) -> Response {
    let Some(local) = connection.local else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.to_ascii_lowercase().starts_with(SDP) {
        let why = format!("expected an offer of the type {SDP}");
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, why).into_response();
    }
    match shared.broadcast.answer(local, offer).await {
        Ok((answer, SlotId(slot))) => {
            // A client with the token in the URL has no other place for it.
            let query = query.map_or_else(String::new, |query| format!("?{query}"));
            let place = format!("/whep/{slot}{query}");
            let headers = [(header::CONTENT_TYPE, SDP.to_owned()), (header::LOCATION, place)];
            let mut response = (StatusCode::CREATED, headers, answer).into_response();
            shared.ice.add_to(response.headers_mut());
            response
        }
        Err(error) => (status(&error), error.to_string()).into_response(),
    }
}

const fn status(error: &Error) -> StatusCode {
    match error {
        Error::Full { .. } => StatusCode::SERVICE_UNAVAILABLE,
        Error::Offer(_) => StatusCode::BAD_REQUEST,
        Error::Socket(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// What may be posted, and the servers of ICE: a player that gathers all candidates before its offer needs them first.
async fn offers(State(shared): State<Shared>) -> Response {
    let mut response = (StatusCode::NO_CONTENT, [("accept-post", SDP)]).into_response();
    shared.ice.add_to(response.headers_mut());
    response
}

/// The player ends its session. Another request to its URL, such as trickle ICE by PATCH, is not supported (405).
async fn leave(State(shared): State<Shared>, Path(slot): Path<u64>) -> StatusCode {
    if shared.broadcast.release(SlotId(slot)) { StatusCode::OK } else { StatusCode::NOT_FOUND }
}

async fn live(State(shared): State<Shared>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.max_message_size(LONGEST_REQUEST).on_upgrade(move |socket| serve_messages(shared.hub, socket))
}

/// Serves one browser until it leaves.
async fn serve_messages(hub: Arc<Hub>, mut socket: WebSocket) {
    let mut messages = hub.subscribe();
    let Some(hello) = hub.hello() else { return };
    if socket.send(Message::Text(hello.into())).await.is_err() {
        return;
    }
    loop {
        let reply = tokio::select! {
            message = messages.recv() => match message {
                Ok(text) => Some(text),
                // A browser that was away for a while goes on with what is new.
                Err(RecvError::Lagged(_)) => None,
                Err(RecvError::Closed) => return,
            },
            request = socket.recv() => match request {
                Some(Ok(Message::Text(text))) => {
                    tokio::time::sleep(REQUEST_INTERVAL).await;
                    refusal(hub.request(&text))
                }
                Some(Ok(_)) => None,
                Some(Err(_)) | None => return,
            },
        };
        if let Some(text) = reply
            && socket.send(Message::Text(text.into())).await.is_err()
        {
            return;
        }
    }
}

fn refusal(outcome: Result<(), String>) -> Option<String> {
    outcome.err().and_then(|text| serde_json::to_string(&Live::Error { text }).ok())
}
