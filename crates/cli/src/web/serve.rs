//! The routes.

use super::assets;
use super::live::{Hub, Live};
use axum::Router;
use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::IncomingStream;
use seaway_net::webrtc::Broadcast;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;

/// An offer is a few kilobytes.
const LONGEST_OFFER: usize = 64 * 1024;
const LONGEST_REQUEST: usize = 4 * 1024;

#[derive(Clone)]
struct Shared {
    hub: Arc<Hub>,
    broadcast: Broadcast,
}

/// Our own end of a connection: the address by which the browser reaches us.
#[derive(Clone, Copy)]
pub(super) struct LocalAddress(Option<SocketAddr>);

impl Connected<IncomingStream<'_, TcpListener>> for LocalAddress {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Self(stream.io().local_addr().ok())
    }
}

pub(super) fn router(hub: Arc<Hub>, broadcast: Broadcast) -> Router {
    Router::new()
        .route("/api/live", get(live))
        .route("/api/watch", post(watch).layer(DefaultBodyLimit::max(LONGEST_OFFER)))
        .route("/", get(assets::page))
        .layer(from_fn(own_page_only))
        .with_state(Shared { hub, broadcast })
}

pub(super) fn service(
    router: Router,
) -> axum::extract::connect_info::IntoMakeServiceWithConnectInfo<Router, LocalAddress> {
    router.into_make_service_with_connect_info::<LocalAddress>()
}

/// A page from elsewhere, open in the same browser, must not steer us: where a browser says from which page a
/// request comes, that page must be ours.
async fn own_page_only(request: Request, next: Next) -> Response {
    if is_foreign(request.headers()) {
        return (StatusCode::FORBIDDEN, "from another page").into_response();
    }
    next.run(request).await
}

fn is_foreign(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(origin) = text(header::ORIGIN) else { return false };
    let host = text(header::HOST).unwrap_or_default();
    origin.split_once("://").is_none_or(|(_, from)| from != host)
}

async fn watch(
    ConnectInfo(local): ConnectInfo<LocalAddress>,
    State(shared): State<Shared>,
    offer: String,
) -> Response {
    let Some(local) = local.0 else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    match shared.broadcast.answer(local.ip(), offer).await {
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
                Some(Ok(Message::Text(text))) => refusal(hub.request(&text)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_page_may_not_steer_us() {
        let headers = |origin: Option<&'static str>| {
            let mut headers = HeaderMap::from_iter([(header::HOST, "127.0.0.1:8080".parse().unwrap())]);
            headers.extend(origin.map(|origin| (header::ORIGIN, origin.parse().unwrap())));
            headers
        };
        assert!(!is_foreign(&headers(None)));
        assert!(!is_foreign(&headers(Some("http://127.0.0.1:8080"))));
        assert!(is_foreign(&headers(Some("http://127.0.0.1:9999"))));
        assert!(is_foreign(&headers(Some("http://example.org"))));
        assert!(is_foreign(&headers(Some("null"))));
    }
}
