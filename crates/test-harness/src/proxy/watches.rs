//! The running watches of a proxy, which tests close or silence.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use parking_lot::Mutex;
use regex::Regex;
use tokio_util::sync::CancellationToken;

use super::body::Body;

/// The running watches of a proxy.
#[derive(Default)]
pub(super) struct Watches(Mutex<Vec<(String, Weak<Control>)>>);

struct Control {
    cut: CancellationToken,
    silent: AtomicBool,
}

impl Watches {
    /// Returns the body of a watch that a test can close or silence.
    pub(super) fn pass(&self, uri: String, body: Incoming, silent: bool) -> Body {
        let control = Arc::new(Control {
            cut: CancellationToken::new(),
            silent: AtomicBool::new(silent),
        });
        let mut running = self.0.lock();
        running.retain(|(_, control)| control.strong_count() > 0);
        running.push((uri, Arc::downgrade(&control)));
        let frames = stream::unfold((body, control), |(mut body, control)| async move {
            let frame = control.next(&mut body).await?;
            Some((frame, (body, control)))
        });
        StreamBody::new(frames).boxed_unsync()
    }

    pub(super) fn cut(&self, uri: &Regex) -> usize {
        self.each(uri, |control| control.cut.cancel())
    }

    pub(super) fn silence(&self, uri: &Regex) -> usize {
        self.each(uri, |control| control.silent.store(true, Ordering::SeqCst))
    }

    fn each(&self, uri: &Regex, act: impl Fn(&Control)) -> usize {
        let running = self.0.lock();
        let matching = running.iter().filter(|(of, _)| uri.is_match(of));
        matching
            .filter_map(|(_, control)| control.upgrade())
            .map(|control| act(&control))
            .count()
    }
}

impl Control {
    async fn next(&self, body: &mut Incoming) -> Option<io::Result<Frame<Bytes>>> {
        loop {
            let frame = tokio::select! {
                biased;
                () = self.cut.cancelled() => return Some(Err(io::Error::other("cut"))),
                frame = body.frame() => frame,
            };
            if !self.silent.load(Ordering::SeqCst) {
                return frame.map(|frame| frame.map_err(io::Error::other));
            }
            if frame.is_none() {
                // The server closes watches after a while. A silent network hides that too.
                self.cut.cancelled().await;
            }
        }
    }
}
