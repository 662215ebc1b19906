//! The page: a web server on a thread of its own.
//!
//! `GET /` and the files beside it are the page (`page/` in this crate); `POST /api/watch` answers a browser's
//! WebRTC offer; `/api/live` is a WebSocket of JSON, [`Live`] to the browser and [`Request`] back.

mod assets;
mod live;
mod metrics;
mod serve;

pub(crate) use live::{ControlName, Hello, Live, Request};

pub(crate) use metrics::Metrics;

use axum::Router;
use live::Stage;
use seaway_net::webrtc::Broadcast;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// The running page. It ends with the process.
#[derive(Debug)]
pub(crate) struct Page {
    address: SocketAddr,
    stage: Arc<Stage>,
    broadcast: Broadcast,
    requests: Receiver<Request>,
}

impl Page {
    /// Serves the page at `listen`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is in use, not ours, or the thread cannot be had.
    pub(crate) fn open(listen: SocketAddr, hello: Hello) -> io::Result<Self> {
        let (to_us, requests) = channel();
        let broadcast = Broadcast::new(hello.pictures.clone());
        let stage = Arc::new(Stage::new(hello, to_us));
        let address = spawn_server("page", listen, serve::router(stage.clone(), broadcast.clone()))?;
        Ok(Self { address, stage, broadcast, requests })
    }

    /// Where it is.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives a message to everyone who looks on. Never waits.
    pub(crate) fn tell(&self, message: &Live) {
        self.stage.tell(message);
    }

    /// Notes what is in force, for those who come later too.
    pub(crate) fn set_settings(&self, settings: BTreeMap<&'static str, String>) {
        self.stage.set_settings(settings);
    }

    /// Where pictures are published; tracks are counted as in [`Hello::pictures`].
    pub(crate) fn broadcast(&self) -> Broadcast {
        self.broadcast.clone()
    }

    /// Whether a viewer needs a key frame. Asking takes the wish back.
    pub(crate) fn take_key_frame_wish(&self) -> bool {
        self.broadcast.take_key_frame_wish()
    }

    /// What a viewer asked for, if anything. Never waits.
    pub(crate) fn poll_request(&self) -> Option<Request> {
        self.requests.try_recv().ok()
    }
}

/// Serves `router` at `listen` on a thread of its own; tells where it is.
fn spawn_server(name: &str, listen: SocketAddr, router: Router) -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name(name.into()).spawn(move || {
        runtime.block_on(async move {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                // It only returns when the process ends.
                let _ = axum::serve(listener, serve::service(router)).await;
            }
        });
    })?;
    Ok(address)
}
