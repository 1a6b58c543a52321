//! A faulty network: a reverse proxy between an operator and its API server.
//!
//! It passes everything through but for what a [`Rule`] says. Watches can also be hit while they
//! run: [`Proxy::cut_watches`], [`Proxy::silence_watches`].

mod effect;
mod watches;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::Connect};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::ConfigExt;
use parking_lot::Mutex;
use regex::Regex;
use rhai_operator::clock;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::effect::Effect;
use self::watches::Watches;
use super::{Case, cluster};

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Which requests something is to happen to, how often, and what.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// None are all.
    methods: Vec<Method>,
    uri: Regex,
    skip: usize,
    times: usize,
    effect: Effect,
}

/// A rule in force. It stays when this is dropped.
#[derive(Clone)]
pub(crate) struct Fault(Arc<Active>);

struct Active {
    rule: Rule,
    hits: AtomicUsize,
    skip: AtomicUsize,
    left: AtomicUsize,
    held: Mutex<Vec<String>>,
}

/// A running proxy; it ends when this is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    _end: DropGuard,
}

struct State {
    upstream: Uri,
    send: Box<dyn Fn(Request<Full<Bytes>>) -> effect::Answering + Send + Sync>,
    faults: Mutex<Vec<Arc<Active>>>,
    watches: Watches,
}

impl Rule {
    /// For requests of a method whose path and query match a regular expression.
    pub(crate) fn on(method: Method, uri: &str) -> Self {
        Self {
            methods: vec![method],
            ..Self::any(uri)
        }
    }

    /// For what makes or changes an object; one that is made has its name at the end of the path too.
    pub(crate) fn write(uri: &str) -> Self {
        Self {
            methods: vec![Method::POST, Method::PATCH],
            ..Self::any(uri)
        }
    }

    /// For requests of any method.
    pub(crate) fn any(uri: &str) -> Self {
        Self {
            methods: Vec::new(),
            uri: Regex::new(uri).expect("a regular expression"),
            skip: 0,
            times: usize::MAX,
            effect: Effect::Cut,
        }
    }

    /// Lets so many requests through first.
    pub(crate) fn after(mut self, requests: usize) -> Self {
        self.skip = requests;
        self
    }

    /// For the first so many requests; else for all until [`Fault::clear`].
    pub(crate) fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// Answers with an error status as the API server words it; the request is not passed on.
    pub(crate) fn answer(self, status: u16) -> Self {
        self.answer_with(status, &[])
    }

    /// The same, with headers: `("retry-after", "1")`.
    pub(crate) fn answer_with(mut self, status: u16, headers: &[(&'static str, &str)]) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        self.effect = Effect::Answer(status, headers.collect());
        self
    }

    /// Passes the request on only after a while.
    pub(crate) fn delay(mut self, delay: Duration) -> Self {
        self.effect = Effect::Delay(delay);
        self
    }

    /// Cuts the connection; the request is not passed on.
    pub(crate) fn cut(mut self) -> Self {
        self.effect = Effect::Cut;
        self
    }

    /// Passes the request on, waits for its answer, and cuts the connection instead of giving it.
    pub(crate) fn lose_answer(mut self) -> Self {
        self.effect = Effect::LoseAnswer;
        self
    }

    /// Keeps the request for ever; it is not passed on.
    pub(crate) fn hold(mut self) -> Self {
        self.effect = Effect::Hold;
        self
    }

    /// Passes the request on, waits for its answer, and keeps that for ever.
    pub(crate) fn hold_answer(mut self) -> Self {
        self.effect = Effect::HoldAnswer;
        self
    }

    /// Passes the request on, and replaces one text by another in its answer. Not for watches.
    pub(crate) fn rewrite(mut self, from: &str, to: &str) -> Self {
        self.effect = Effect::Rewrite(from.to_owned(), to.to_owned());
        self
    }

    /// Tells a watch at once that its resourceVersion is too old (an ERROR event with code 410).
    pub(crate) fn expire(mut self) -> Self {
        self.effect = Effect::Expire;
        self
    }

    /// Opens a watch from which nothing ever comes, not even its end.
    pub(crate) fn silence(mut self) -> Self {
        self.effect = Effect::Silence;
        self
    }
}

impl Fault {
    /// How many requests it has hit.
    pub(crate) fn hits(&self) -> usize {
        self.0.hits.load(Ordering::SeqCst)
    }

    /// The requests that are kept, or their answers: method, path and query.
    pub(crate) fn held(&self) -> Vec<String> {
        self.0.held.lock().clone()
    }

    /// Ends it.
    pub(crate) fn clear(&self) {
        self.0.left.store(0, Ordering::SeqCst);
    }
}

impl Active {
    /// Returns whether this request is hit; if so, it is counted.
    fn hit(&self, method: &Method, uri: &str) -> bool {
        let Rule {
            methods,
            uri: pattern,
            ..
        } = &self.rule;
        let wanted = methods.is_empty() || methods.contains(method);
        if !wanted || !pattern.is_match(uri) {
            return false;
        }
        let taken = !take_one(&self.skip) && take_one(&self.left);
        if taken {
            self.hits.fetch_add(1, Ordering::SeqCst);
        }
        taken
    }
}

/// Returns whether there was one left.
fn take_one(left: &AtomicUsize) -> bool {
    let one_less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
        .is_ok()
}

impl Proxy {
    /// A proxy in front of a test's cluster, without any fault yet.
    pub(crate) async fn start(case: &Case) -> anyhow::Result<Self> {
        let config = cluster::config(case.cluster.kubeconfig()).await?;
        let client = Client::builder(TokioExecutor::new()).build(config.rustls_https_connector()?);
        let state = Arc::new(State {
            upstream: config.cluster_url,
            send: sender(client),
            faults: Mutex::default(),
            watches: Watches::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let end = CancellationToken::new();
        tokio::spawn(end.clone().run_until_cancelled_owned(accept(
            listener,
            state.clone(),
            end.clone(),
        )));
        Ok(Self {
            address,
            state,
            _end: end.drop_guard(),
        })
    }

    /// Where to reach the API server through it.
    pub(crate) fn server(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts a rule into force, before those that are there.
    pub(crate) fn inject(&self, rule: Rule) -> Fault {
        let active = Arc::new(Active {
            skip: AtomicUsize::new(rule.skip),
            left: AtomicUsize::new(rule.times),
            hits: AtomicUsize::new(0),
            held: Mutex::default(),
            rule,
        });
        self.state.faults.lock().insert(0, active.clone());
        Fault(active)
    }

    /// Cuts the running watches whose path and query match; says how many.
    pub(crate) fn cut_watches(&self, uri: &str) -> usize {
        self.state
            .watches
            .cut(&Regex::new(uri).expect("a regular expression"))
    }

    /// Lets nothing more through the running watches whose path and query match; says how many.
    pub(crate) fn silence_watches(&self, uri: &str) -> usize {
        self.state
            .watches
            .silence(&Regex::new(uri).expect("a regular expression"))
    }
}

/// The client's type names its connector's, which is nobody's business.
fn sender<C>(
    client: Client<C, Full<Bytes>>,
) -> Box<dyn Fn(Request<Full<Bytes>>) -> effect::Answering + Send + Sync>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    Box::new(move |request| Box::pin(client.request(request)))
}

async fn accept(listener: TcpListener, state: Arc<State>, end: CancellationToken) {
    while let Ok((connection, _)) = listener.accept().await {
        let serving = serve(connection, state.clone());
        tokio::spawn(end.clone().run_until_cancelled_owned(serving));
    }
}

async fn serve(connection: TcpStream, state: Arc<State>) {
    let answer = service_fn(move |request| {
        let state = state.clone();
        async move { state.answer(request).await }
    });
    // An error is a connection that was cut: by us, or by an operator that ended.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(connection), answer)
        .await;
}

impl State {
    /// An error cuts the connection.
    async fn answer(&self, request: Request<Incoming>) -> anyhow::Result<Response<Body>> {
        let uri = request
            .uri()
            .path_and_query()
            .map_or_else(String::new, ToString::to_string);
        let (parts, body) = request.into_parts();
        let request = Request::from_parts(parts, body.collect().await?.to_bytes());
        let fault = self.fault_on(request.method(), &named(&uri, &request));
        let what = format!("{} {uri}", request.method());
        let effect = fault.as_ref().map(|fault| fault.rule.effect.clone());
        let silent = matches!(effect, Some(Effect::Silence));
        match effect {
            Some(Effect::Answer(status, headers)) => return effect::refusal(status, &headers),
            Some(Effect::Expire) => return effect::expiry(),
            Some(Effect::Cut) => anyhow::bail!("cut"),
            Some(Effect::Hold) => return hold(fault, what).await,
            Some(Effect::Delay(delay)) => clock::sleep(delay).await,
            Some(Effect::LoseAnswer) => {
                let answer = self.pass_on(request, &uri).await?;
                answer.into_body().collect().await?;
                anyhow::bail!("the answer was lost");
            }
            Some(Effect::HoldAnswer) => {
                let answer = self.pass_on(request, &uri).await?;
                answer.into_body().collect().await?;
                return hold(fault, what).await;
            }
            Some(Effect::Rewrite(from, to)) => {
                let (mut parts, body) = self.pass_on(request, &uri).await?.into_parts();
                let text = String::from_utf8_lossy(&body.collect().await?.to_bytes()).into_owned();
                parts.headers.remove(http::header::CONTENT_LENGTH);
                return Ok(Response::from_parts(parts, whole(text.replace(&from, &to))));
            }
            Some(Effect::Silence) | None => {}
        }
        let answer = self.pass_on(request, &uri).await?;
        let watch = uri.contains("watch=true") || uri.contains("watch=1");
        Ok(answer.map(|body| {
            if watch {
                self.watches.pass(uri, body, silent)
            } else {
                body.map_err(io::Error::other).boxed_unsync()
            }
        }))
    }

    fn fault_on(&self, method: &Method, uri: &str) -> Option<Arc<Active>> {
        let faults = self.faults.lock();
        faults.iter().find(|fault| fault.hit(method, uri)).cloned()
    }

    async fn pass_on(
        &self,
        request: Request<Bytes>,
        uri: &str,
    ) -> anyhow::Result<Response<Incoming>> {
        let (mut parts, body) = request.into_parts();
        let authority = self.upstream.authority().context("no host")?;
        parts.uri = format!("https://{authority}{uri}").parse()?;
        parts.headers.remove(http::header::HOST);
        // A body of known length; what the operator's connection did is not the upstream's concern.
        parts.headers.remove(http::header::TRANSFER_ENCODING);
        parts.headers.remove(http::header::CONNECTION);
        let request = Request::from_parts(parts, Full::new(body));
        Ok((self.send)(request).await?)
    }
}

/// A request's path and query; where an object is made, as if its name were in the path.
fn named(uri: &str, request: &Request<Bytes>) -> String {
    let body = serde_json::from_slice::<Value>(request.body()).unwrap_or_default();
    let name = body["metadata"]["name"].as_str();
    match (request.method(), name, uri.split_once('?')) {
        (&Method::POST, Some(name), Some((path, query))) => format!("{path}/{name}?{query}"),
        (&Method::POST, Some(name), None) => format!("{uri}/{name}"),
        _ => uri.to_owned(),
    }
}

/// Notes what is kept, and keeps it.
async fn hold(fault: Option<Arc<Active>>, what: String) -> anyhow::Result<Response<Body>> {
    if let Some(fault) = fault {
        fault.held.lock().push(what);
    }
    std::future::pending().await
}

/// A body that is there already.
fn whole(text: String) -> Body {
    Full::new(Bytes::from(text))
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
}
