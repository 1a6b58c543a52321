//! A reverse proxy between an operator and its API server that injects faults.
//!
//! A [`Rule`] selects requests and their fault; all other requests pass. [`Proxy::cut_watches`] and
//! [`Proxy::silence_watches`] change running watches.

mod body;
mod effect;
mod watches;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::Connect};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::ConfigExt;
use parking_lot::Mutex;
use regex::Regex;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::body::{Body, complete};
use self::effect::Effect;
use self::watches::Watches;
use crate::{Case, cluster};

/// A fault, the requests that it affects, and their number.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Empty for all methods.
    methods: Vec<Method>,
    uri: Regex,
    skip: usize,
    times: usize,
    effect: Effect,
}

/// An active rule. It stays active when this is dropped.
#[derive(Clone)]
pub struct Fault(Arc<ActiveRule>);

struct ActiveRule {
    rule: Rule,
    hits: AtomicUsize,
    skip: AtomicUsize,
    left: AtomicUsize,
    held: Mutex<Vec<String>>,
}

/// A running proxy. It ends when this is dropped.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<ProxyState>,
    _end: DropGuard,
}

struct ProxyState {
    upstream: Uri,
    send: Box<dyn Fn(Request<Full<Bytes>>) -> effect::Answering + Send + Sync>,
    faults: Mutex<Vec<Arc<ActiveRule>>>,
    watches: Watches,
}

impl Rule {
    /// Selects requests of a method whose path and query match a regular expression.
    pub fn on(method: Method, uri: &str) -> Self {
        Self {
            methods: vec![method],
            ..Self::any(uri)
        }
    }

    /// Selects creates and patches. The path of a create ends with the object's name too.
    pub fn write(uri: &str) -> Self {
        Self {
            methods: vec![Method::POST, Method::PATCH],
            ..Self::any(uri)
        }
    }

    /// Selects requests of any method.
    pub fn any(uri: &str) -> Self {
        Self {
            methods: Vec::new(),
            uri: Regex::new(uri).expect("a regular expression"),
            skip: 0,
            times: usize::MAX,
            effect: Effect::Cut,
        }
    }

    /// Skips the first requests.
    pub fn after(mut self, requests: usize) -> Self {
        self.skip = requests;
        self
    }

    /// Limits the number of affected requests. Without it, the rule is active until [`Fault::clear`].
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// Answers with an error status in the API server's format. The request does not reach the server.
    pub fn answer(self, status: u16) -> Self {
        self.answer_with(status, &[])
    }

    /// Answers with an error status and headers: `("retry-after", "1")`.
    pub fn answer_with(mut self, status: u16, headers: &[(&'static str, &str)]) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        self.effect = Effect::Answer(status, headers.collect());
        self
    }

    /// Delays the request.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.effect = Effect::Delay(delay);
        self
    }

    /// Closes the connection. The request does not reach the server.
    pub fn cut(mut self) -> Self {
        self.effect = Effect::Cut;
        self
    }

    /// Closes the connection after the server has answered.
    pub fn lose_answer(mut self) -> Self {
        self.effect = Effect::LoseAnswer;
        self
    }

    /// Holds the request forever. It does not reach the server.
    pub fn hold(mut self) -> Self {
        self.effect = Effect::Hold;
        self
    }

    /// Holds the server's answer forever.
    pub fn hold_answer(mut self) -> Self {
        self.effect = Effect::HoldAnswer;
        self
    }

    /// Replaces a text in the server's answer. Watches are not supported.
    pub fn rewrite(mut self, from: &str, to: &str) -> Self {
        self.effect = Effect::Rewrite(from.to_owned(), to.to_owned());
        self
    }

    /// Answers a watch with an ERROR event of code 410: its resourceVersion is too old.
    pub fn expire(mut self) -> Self {
        self.effect = Effect::Expire;
        self
    }

    /// Opens a watch that never sends an event and never ends.
    pub fn silence(mut self) -> Self {
        self.effect = Effect::Silence;
        self
    }
}

impl Fault {
    /// Returns the number of affected requests.
    pub fn hits(&self) -> usize {
        self.0.hits.load(Ordering::SeqCst)
    }

    /// Returns the held requests, as method, path and query.
    pub fn held_requests(&self) -> Vec<String> {
        self.0.held.lock().clone()
    }

    /// Deactivates the rule.
    pub fn clear(&self) {
        self.0.left.store(0, Ordering::SeqCst);
    }
}

impl ActiveRule {
    /// Returns whether the rule affects this request, and counts it.
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

/// Decrements a counter, and returns whether it was above zero.
fn take_one(left: &AtomicUsize) -> bool {
    let one_less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
        .is_ok()
}

impl Proxy {
    /// Starts a proxy in front of a test's cluster, without rules.
    pub async fn start(case: &Case) -> anyhow::Result<Self> {
        let config = cluster::config(case.cluster.kubeconfig()).await?;
        let client = Client::builder(TokioExecutor::new()).build(config.rustls_https_connector()?);
        let state = Arc::new(ProxyState {
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

    /// Returns the URL of the proxy.
    pub fn server(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Activates a rule. It takes precedence over the active ones.
    pub fn inject(&self, rule: Rule) -> Fault {
        let active = Arc::new(ActiveRule {
            skip: AtomicUsize::new(rule.skip),
            left: AtomicUsize::new(rule.times),
            hits: AtomicUsize::new(0),
            held: Mutex::default(),
            rule,
        });
        self.state.faults.lock().insert(0, active.clone());
        Fault(active)
    }

    /// Closes the running watches whose path and query match, and returns their number.
    pub fn cut_watches(&self, uri: &str) -> usize {
        self.state
            .watches
            .cut(&Regex::new(uri).expect("a regular expression"))
    }

    /// Drops all further events of the running watches whose path and query match, and returns their number.
    pub fn silence_watches(&self, uri: &str) -> usize {
        self.state
            .watches
            .silence(&Regex::new(uri).expect("a regular expression"))
    }
}

/// Hides the type of the client's connector.
fn sender<C>(
    client: Client<C, Full<Bytes>>,
) -> Box<dyn Fn(Request<Full<Bytes>>) -> effect::Answering + Send + Sync>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    Box::new(move |request| Box::pin(client.request(request)))
}

async fn accept(listener: TcpListener, state: Arc<ProxyState>, end: CancellationToken) {
    while let Ok((connection, _)) = listener.accept().await {
        let serving = serve(connection, state.clone());
        tokio::spawn(end.clone().run_until_cancelled_owned(serving));
    }
}

async fn serve(connection: TcpStream, state: Arc<ProxyState>) {
    let answer = service_fn(move |request| {
        let state = state.clone();
        async move { state.answer(request).await }
    });
    // An error is a connection that a rule closed, or an operator that ended.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(connection), answer)
        .await;
}

impl ProxyState {
    /// Answers a request. An error closes the connection.
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
                return Ok(Response::from_parts(
                    parts,
                    complete(text.replace(&from, &to)),
                ));
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

    fn fault_on(&self, method: &Method, uri: &str) -> Option<Arc<ActiveRule>> {
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
        // The body has a known length now.
        parts.headers.remove(http::header::TRANSFER_ENCODING);
        parts.headers.remove(http::header::CONNECTION);
        let request = Request::from_parts(parts, Full::new(body));
        Ok((self.send)(request).await?)
    }
}

/// Returns the path and the query of a request. The path of a create ends with the object's name.
fn named(uri: &str, request: &Request<Bytes>) -> String {
    let body = serde_json::from_slice::<Value>(request.body()).unwrap_or_default();
    let name = body["metadata"]["name"].as_str();
    match (request.method(), name, uri.split_once('?')) {
        (&Method::POST, Some(name), Some((path, query))) => format!("{path}/{name}?{query}"),
        (&Method::POST, Some(name), None) => format!("{uri}/{name}"),
        _ => uri.to_owned(),
    }
}

/// Records a request and never answers it.
async fn hold(fault: Option<Arc<ActiveRule>>, what: String) -> anyhow::Result<Response<Body>> {
    if let Some(fault) = fault {
        fault.held.lock().push(what);
    }
    std::future::pending().await
}
