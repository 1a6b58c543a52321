//! Executes one step: sends its request and receives the response.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use kube::client::Body;
use serde_json::Value;

use crate::kubectl;
use crate::servers::Server;
use crate::step_response::StepResponse;
use crate::stream::Stream;
use test_harness::requests::Variables;
use test_harness::requests::{self, RequestParts};
use test_harness::requests::{Step, Watch};

/// The maximum time for one response, and for all effects of a step. It is long because the real controllers
/// share two cores with everything else.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(50);

/// The headers that clients read, except dates, lengths and ids.
const HEADERS: [&str; 9] = [
    "content-type",
    "warning",
    "retry-after",
    "cache-control",
    "vary",
    "allow",
    "location",
    "www-authenticate",
    "x-content-type-options",
];

/// An exchange of requests and responses with one server.
pub(crate) struct Exchange<'a> {
    server: &'a Server,
    pub(crate) variables: Variables,
    streams: HashMap<String, Stream>,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(server: &'a Server, variables: Variables) -> Self {
        Self {
            server,
            variables,
            streams: HashMap::new(),
        }
    }

    /// Executes a step, and repeats it until the response meets its condition.
    pub(crate) async fn perform(&mut self, step: &Step) -> StepResponse {
        let step = step.filled(&self.variables);
        if let Some(watch) = &step.read {
            return self.read_on(watch).await;
        }
        let deadline = clock::now() + TIMEOUT;
        loop {
            let mut answer = self.answer(&step).await;
            if shows(&answer, &step.until) {
                self.save(&step, &answer);
                return answer;
            }
            if clock::now() > deadline {
                answer.end = Some(format!("waited in vain for {:?}", step.until));
                return answer;
            }
            clock::sleep(INTERVAL).await;
        }
    }

    async fn answer(&mut self, step: &Step) -> StepResponse {
        if !step.run.is_empty() {
            let namespace = self.variables.fill_text("${ns}");
            return kubectl::run(self.server, &namespace, step).await;
        }
        let answer = tokio::time::timeout(TIMEOUT, self.ask(step)).await;
        answer.unwrap_or_else(|_| StepResponse::none("no answer in time"))
    }

    fn save(&mut self, step: &Step, answer: &StepResponse) {
        for (name, pointer) in &step.save {
            let value = answer.body.pointer(pointer).cloned().unwrap_or_default();
            self.variables.set(name, value);
        }
    }

    async fn ask(&mut self, step: &Step) -> StepResponse {
        let request = match self.request(step) {
            Ok(request) => request,
            Err(error) => return StepResponse::none(format!("not a request: {error:#}")),
        };
        match self.server.send(request).await {
            Ok(answer) => match &step.watch {
                Some(watch) if answer.status() == 200 => self.watch(answer, watch).await,
                _ => whole(answer).await,
            },
            Err(_) => StepResponse::none("the connection was closed"),
        }
    }

    fn request(&self, step: &Step) -> anyhow::Result<Request<Body>> {
        let RequestParts {
            method,
            uri,
            media_type,
            body,
        } = requests::parts(step, &self.variables)?;
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in self.headers(step, media_type) {
            request = request.header(name, value);
        }
        Ok(request.body(Body::from(body))?)
    }

    fn headers(&self, step: &Step, media_type: &str) -> Vec<(String, String)> {
        let mut headers = BTreeMap::from([("User-Agent".to_owned(), "conformance/1".to_owned())]);
        if !media_type.is_empty() && (step.body.is_some() || step.raw.is_some()) {
            headers.insert("Content-Type".to_owned(), media_type.to_owned());
        }
        match step.token.as_deref().unwrap_or_else(|| self.server.token()) {
            "" => None,
            token => headers.insert("Authorization".to_owned(), format!("Bearer {token}")),
        };
        headers.extend(step.headers.clone());
        headers.retain(|_, value| !value.is_empty());
        let user = step
            .user
            .iter()
            .map(|user| ("Impersonate-User".to_owned(), user.clone()));
        let groups = step
            .groups
            .iter()
            .map(|group| ("Impersonate-Group".to_owned(), group.clone()));
        headers.into_iter().chain(user).chain(groups).collect()
    }

    async fn watch(&mut self, answer: Response<Body>, watch: &Watch) -> StepResponse {
        let headers = headers(answer.headers());
        let code = answer.status().as_u16();
        let mut stream = Stream::new(answer.into_body());
        let (events, end) = stream.events(watch, TIMEOUT).await;
        if let Some(name) = &watch.stream {
            self.streams.insert(name.clone(), stream);
        }
        StepResponse {
            code,
            headers,
            body: Value::Array(events),
            end: Some(end.to_owned()),
        }
    }

    async fn read_on(&mut self, watch: &Watch) -> StepResponse {
        let name = watch.stream.clone().unwrap_or_default();
        let Some(stream) = self.streams.get_mut(&name) else {
            return StepResponse::none(format!("no stream {name} is open"));
        };
        let (events, end) = stream.events(watch, TIMEOUT).await;
        StepResponse {
            body: Value::Array(events),
            end: Some(end.to_owned()),
            ..StepResponse::default()
        }
    }
}

async fn whole(answer: Response<Body>) -> StepResponse {
    let headers = headers(answer.headers());
    let code = answer.status().as_u16();
    let Ok(bytes) = answer.into_body().collect_bytes().await else {
        return StepResponse::none("the connection was lost");
    };
    let is_json = headers
        .get("content-type")
        .is_some_and(|types| types.iter().any(|media_type| media_type.contains("json")));
    let text = || Value::from(String::from_utf8_lossy(&bytes));
    let body = if is_json {
        serde_json::from_slice(&bytes).unwrap_or_else(|_| text())
    } else {
        text()
    };
    StepResponse {
        code,
        headers,
        body,
        end: None,
    }
}

fn headers(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut kept = BTreeMap::new();
    for name in HEADERS {
        let values = headers.get_all(name).iter();
        let values: Vec<String> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        if !values.is_empty() {
            kept.insert(name.to_owned(), values);
        }
    }
    if headers.contains_key("etag") {
        kept.insert("etag".to_owned(), vec!["some".to_owned()]);
    }
    kept
}

/// Returns whether a response meets the condition of its step.
fn shows(answer: &StepResponse, until: &BTreeMap<String, Value>) -> bool {
    until.iter().all(|(what, wanted)| match what.as_str() {
        "code" => wanted.as_u64() == Some(answer.code.into()),
        pointer => {
            let found = answer.body.pointer(pointer);
            match wanted.as_str() {
                Some("*") => found.is_some(),
                Some("none") => found.is_none(),
                _ => found == Some(wanted),
            }
        }
    })
}
