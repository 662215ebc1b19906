//! The routes.

use super::assets;
use super::connections::Connection;
use super::live::{Hub, Live};
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use seaway_net::webrtc::Broadcast;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// An offer is a few kilobytes.
const LONGEST_OFFER: usize = 64 * 1024;
const LONGEST_REQUEST: usize = 4 * 1024;
/// The least time from one request of a browser to the next; more wait in its connection.
const REQUEST_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Clone)]
struct Shared {
    hub: Arc<Hub>,
    broadcast: Broadcast,
}

pub(super) fn router(hub: Arc<Hub>, broadcast: Broadcast) -> Router {
    Router::new()
        .route("/api/live", get(live))
        .route("/api/watch", post(watch).layer(DefaultBodyLimit::max(LONGEST_OFFER)))
        .route("/", get(assets::page))
        .with_state(Shared { hub, broadcast })
}

async fn watch(
    Extension(connection): Extension<Connection>,
    State(shared): State<Shared>,
    offer: String,
) -> Response {
    let Some(local) = connection.local else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    match shared.broadcast.answer(local, offer).await {
        Ok(answer) => ([(header::CONTENT_TYPE, "application/sdp")], answer).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
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
