//! Replaces the parts of a response that differ between any two servers by stable names.
//!
//! Uids and revisions keep their identity: the second revision of an object is `rv-2` on both sides, so
//! that the comparison finds a write that should not have happened. It ignores the order of managedFields
//! entries, which depends on the second of the clock, and of causes, which depends on Go's maps.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::select;
use crate::step_response::StepResponse;
use test_harness::requests::Step;

/// Times of this decade. Requests that need a fixed time use one of another decade.
const TIME: &str = r"20(?:2[4-9]|3\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-]\d\d:\d\d)";
const UID: &str = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
/// The prefix of uids that are written in requests.
const OF_REQUESTS: &str = "11111111-";
const ADDRESS: &str = r"\b10\.\d{1,3}\.\d{1,3}\.\d{1,3}\b";
const AGE: &str = r"^(\d+[smhd])+$|^<invalid>$";

/// Patterns of texts that differ from run to run, with their replacements.
const NOISE: [(&str, &str); 10] = [
    (r"in record \(\d+\)", "in record (<rv>)"),
    (r#"(resourceVersion(?:\\*")?: ?\\*")\d+"#, "${1}<rv>"),
    (
        r"kube-api-access-[a-z0-9]{5}\b",
        "kube-api-access-<generated>",
    ),
    (r"\b(https?://)?\d+\.\d+\.\d+\.\d+:\d{4,5}\b", "<address>"),
    (
        r"(?s)-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?",
        "<certificate>",
    ),
    (r"0x?c[0-9a-f]{9,}", "<pointer>"),
    (
        r"too old resource version: \d+ \(\d+\)",
        "too old resource version: <rv> (<rv>)",
    ),
    (r"current: \d+", "current: <rv>"),
    (r"hash=[0-9A-F]{32,}", "hash=<hash>"),
    (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
];

struct Patterns {
    uid: Regex,
    time: Regex,
    address: Regex,
    age: Regex,
    noise: Vec<(Regex, &'static str)>,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let compiled = |pattern| Regex::new(pattern).expect("a pattern");
    Patterns {
        uid: compiled(UID),
        time: compiled(TIME),
        address: compiled(ADDRESS),
        age: compiled(AGE),
        noise: NOISE
            .map(|(pattern, instead)| (compiled(pattern), instead))
            .into(),
    }
});

/// The names that were assigned to the identities in the responses of one server during a sequence.
pub(crate) struct Normalizer {
    /// The namespace of the sequence, which is also part of its API group.
    id: String,
    uids: BTreeMap<String, String>,
    revisions: BTreeMap<(String, String), usize>,
    latest: BTreeMap<String, usize>,
    addresses: Vec<String>,
    /// The hashes of Pod templates.
    hashes: Vec<String>,
    /// The prefixes of generated names.
    bases: Vec<(Regex, String)>,
}

impl Normalizer {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            uids: BTreeMap::new(),
            revisions: BTreeMap::new(),
            latest: BTreeMap::new(),
            addresses: Vec::new(),
            hashes: Vec::new(),
            bases: Vec::new(),
        }
    }

    /// Returns the normalized response.
    pub(crate) fn answer(&mut self, step: &Step, mut answer: StepResponse) -> StepResponse {
        let base = step
            .body
            .as_ref()
            .and_then(|body| body.pointer("/metadata/generateName"));
        self.learn_base(base.and_then(Value::as_str).unwrap_or_default());
        self.learn(&answer.body);
        if step.query.contains_key("dryRun") {
            // A dry run does not keep the addresses that it shows, so the server can allocate them again.
            self.addresses.clear();
        }
        if answer.body.is_array() {
            for event in answer.body.as_array_mut().into_iter().flatten() {
                bookmark(event);
            }
        }
        answer.body = self.value(&answer.body, "");
        for value in answer.headers.values_mut().flatten() {
            *value = self.text(value);
        }
        answer.end = answer.end.map(|end| self.text(&end));
        select::apply(step, &mut answer.body);
        answer
    }

    /// Records the identities of all objects in a response, at any depth.
    fn learn(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(members) => {
                if let Some(metadata) = members.get("metadata").and_then(Value::as_object) {
                    self.learn_object(metadata);
                }
                members.values().for_each(|member| self.learn(member));
            }
            _ => {}
        }
    }

    /// Records the prefix of generated names. A generated name is the prefix, cut to 58 bytes, and five
    /// letters.
    fn learn_base(&mut self, base: &str) {
        let base = &base[..base.len().min(58)];
        if !base.is_empty() && !self.bases.iter().any(|(_, known)| known == base) {
            // The pattern must not match in the middle of a uid.
            let pattern = format!("(?:^|\\b){}[a-z0-9]{{5}}\\b", regex::escape(base));
            let pattern = Regex::new(&pattern).expect("a pattern");
            self.bases.push((pattern, base.to_owned()));
        }
    }

    fn learn_object(&mut self, metadata: &Map<String, Value>) {
        if let Some(base) = metadata.get("generateName").and_then(Value::as_str) {
            self.learn_base(base);
        }
        let text = |name| {
            metadata
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let name = text("name");
        for label in ["pod-template-hash", "controller-revision-hash"] {
            let hash = metadata.get("labels").and_then(|labels| labels.get(label));
            if let Some(hash) = hash.and_then(Value::as_str)
                && hash.len() > 4
                && !self.hashes.iter().any(|known| known == hash)
            {
                self.hashes.push(hash.to_owned());
            }
        }
        let uid = text("uid");
        if !uid.is_empty() && !self.uids.contains_key(uid) {
            let name = self.text(name);
            let same = |known: &&String| known.starts_with(&format!("<uid {name} "));
            let number = self.uids.values().filter(same).count() + 1;
            self.uids
                .insert(uid.to_owned(), format!("<uid {name} {number}>"));
        }
        let (object, revision) = (name.to_owned(), text("resourceVersion"));
        if !revision.is_empty() && !object.is_empty() {
            let key = (object.clone(), revision.to_owned());
            if !self.revisions.contains_key(&key) {
                let number = self.latest.entry(object).or_default();
                *number += 1;
                self.revisions.insert(key, *number);
            }
        }
    }

    fn value(&mut self, value: &Value, key: &str) -> Value {
        match value {
            Value::String(text) => self.string(text, key),
            Value::Number(number) if key == "nodePort" || key == "healthCheckNodePort" => {
                let is_allocated = number.as_u64().is_some_and(|port| port >= 30000);
                if is_allocated {
                    "<node port>".into()
                } else {
                    value.clone()
                }
            }
            Value::Array(items) => {
                let is_shared = key == "groups" || key == "items";
                let mut items: Vec<&Value> = items.iter().collect();
                items.retain(|item| !(is_shared && self.is_of_another_sequence(item)));
                let mut items: Vec<Value> = items
                    .into_iter()
                    .map(|item| self.value(item, key))
                    .collect();
                if key == "managedFields" || key == "causes" {
                    items.sort_by_cached_key(Value::to_string);
                }
                Value::Array(items)
            }
            Value::Object(members) => self.object(members, key),
            other => other.clone(),
        }
    }

    /// Returns whether an item of a cluster-wide list belongs to another sequence that runs concurrently.
    fn is_of_another_sequence(&self, item: &Value) -> bool {
        let name = item.get("name").or_else(|| item.pointer("/metadata/name"));
        let name = name.and_then(Value::as_str).unwrap_or_default();
        name.starts_with("conf-") && !name.starts_with(&self.id)
    }

    fn object(&mut self, members: &Map<String, Value>, key: &str) -> Value {
        let name = members
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let mut normal = Map::new();
        for (member, value) in members {
            let value = match (member.as_str(), value.as_str()) {
                ("resourceVersion", Some(revision)) => self.revision(key, &name, revision).into(),
                ("cells", _) => self.cells(value),
                _ => self.value(value, member),
            };
            normal.insert(self.text(member), value);
        }
        forget_order(&mut normal);
        Value::Object(normal)
    }

    fn revision(&self, key: &str, object: &str, revision: &str) -> String {
        let known = self
            .revisions
            .get(&(object.to_owned(), revision.to_owned()));
        match known {
            Some(number) => format!("rv-{number}"),
            // The revision of a list is that of the newest write in any sequence.
            None if key == "metadata" && revision.parse::<u64>().is_ok() => "<rv>".to_owned(),
            None => revision.to_owned(),
        }
    }

    fn cells(&mut self, cells: &Value) -> Value {
        let normal = cells
            .as_array()
            .into_iter()
            .flatten()
            .map(|cell| match cell.as_str() {
                Some(text) if PATTERNS.age.is_match(text) => "<age>".into(),
                _ => self.value(cell, ""),
            });
        normal.collect()
    }

    fn string(&mut self, text: &str, key: &str) -> Value {
        match key {
            "continue" if !text.is_empty() => "<continue>".into(),
            _ => self.text(text).into(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut text = text.replace(&self.id, "NS");
        for (pattern, base) in &self.bases {
            text = pattern
                .replace_all(&text, format!("{base}<generated>"))
                .into_owned();
        }
        for hash in &self.hashes {
            text = text.replace(hash, "<hash>");
        }
        let patterns = &*PATTERNS;
        let uids = &self.uids;
        let uid = |found: &Captures| match uids.get(&found[0]) {
            Some(name) => name.clone(),
            None if found[0].starts_with(OF_REQUESTS) => found[0].to_owned(),
            None => "<uid>".to_owned(),
        };
        let text = patterns.uid.replace_all(&text, uid);
        let time = |found: &Captures| match found.get(1) {
            Some(fraction) => format!("<time with {} digits>", fraction.len() - 1),
            None => "<time>".to_owned(),
        };
        let text = patterns.time.replace_all(&text, time);
        let addresses = &mut self.addresses;
        let address = |found: &Captures| {
            let known = addresses.iter().position(|address| *address == found[0]);
            let number = known.unwrap_or_else(|| {
                addresses.push(found[0].to_owned());
                addresses.len() - 1
            });
            format!("<ip {}>", number + 1)
        };
        let mut text = patterns.address.replace_all(&text, address).into_owned();
        for (pattern, instead) in &patterns.noise {
            text = pattern.replace_all(&text, *instead).into_owned();
        }
        text
    }
}

/// Replaces the revision of a bookmark, which can be the revision of any object.
fn bookmark(event: &mut Value) {
    if event["type"] == "BOOKMARK" && event.pointer("/object/metadata/resourceVersion").is_some() {
        event["object"]["metadata"]["resourceVersion"] = "<rv>".into();
    }
}

/// Replaces the causes in a message with several causes. Their order is that of Go's maps.
fn forget_order(status: &mut Map<String, Value>) {
    let causes = status
        .get("details")
        .and_then(|details| details.pointer("/causes"));
    let are_several = causes
        .and_then(Value::as_array)
        .is_some_and(|causes| causes.len() > 1);
    let message = status.get("message").and_then(Value::as_str);
    if are_several && let Some((head, _)) = message.and_then(|text| text.split_once(": [")) {
        let message = format!("{head}: [<causes>]");
        status.insert("message".to_owned(), message.into());
    }
}
