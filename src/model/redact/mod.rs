//! Masks values of Secrets in the outputs of a run: logs, statuses, Events, errors, traces.
//!
//! A run knows the values of the Secrets that it read or wrote. The redactor recognizes each value as a
//! whole and line by line, in base64, and under up to three levels of escapes (JSON within JSON, YAML,
//! Rust), with any white space between its words. It does not recognize other values that a script
//! derives from a secret, such as a hash or a part.
//!
//! The redactor does not mask:
//! - values of fewer than six characters;
//! - public values: strings of the run's custom resource (except its status), names of objects that the
//!   run read, words of the role's files, and words that Kubernetes uses;
//! - keys of maps.
//!
//! Values of fewer than twelve characters match whole words only.

mod fold;
mod log_field;
mod matcher;
mod public_text;
mod words;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use serde_json::{Value, json};

use self::fold::{FoldedText, fold};
pub(crate) use self::log_field::{LogField, VariantName};
use self::matcher::{Form, Matcher, Origin};
pub use self::public_text::PublicText;
pub(crate) use self::public_text::escaped;
pub(crate) use self::words::WordSet;
use self::words::{fingerprint, is_short};
use super::Object;

/// The text that replaces a secret.
pub(crate) const MASK: &str = "[redacted]";
/// The text that replaces all texts of a run with more secrets than the redactor can recognize.
pub(crate) const WITHHELD: &str =
    "[redacted: the run read more Secret values than redaction supports]";
/// The maximum number of bytes of spellings of a run. A long spelling counts with its first 128
/// characters. Automata for this maximum take about 25 MB, and half a second to build.
const MAX_HEADS: usize = 2 << 20;
/// The maximum number of bytes of spellings of a run, with the full length of each. They are only stored
/// and compared.
const MAX_BYTES: usize = 16 << 20;
/// The maximum length of a text. Longer texts are cut: people read them, and the time of masking grows
/// with their length.
const MAX_TEXT: usize = 1 << 20;
/// The number of bytes hidden before such a cut: more than the part of a spelling by which it is recognized.
const MAX_CUT: usize = 4 << 10;
/// The maximum number of times that escapes are undone: a value in an annotation of JSON, in an object
/// written as JSON, in a log message that quotes it.
const MAX_LEVELS: usize = 3;

/// The run has more secrets than the redactor can recognize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot redact texts: the run read more than {} MiB of Secret values", MAX_HEADS >> 20)]
pub struct TooManySecrets;

/// The secrets of one run. Clones share them.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<KnownValues>>);

#[derive(Default)]
struct KnownValues {
    matcher: Matcher,
    /// The recorded values, by fingerprint.
    learned: HashSet<u64>,
    /// Values that the role author revealed.
    revealed: HashSet<u64>,
    /// Values that the role author marked as secret, also if another rule says that they are public.
    marked: HashSet<u64>,
    /// Names of objects.
    names: WordSet,
    /// Words of the files of roles.
    files: Vec<Arc<WordSet>>,
    cr: Option<Arc<Object>>,
    /// Words of the custom resource, computed at the first use.
    cr_words: OnceLock<WordSet>,
}

impl Redactor {
    /// Creates a redactor for a run on a custom resource. The strings of the custom resource are public.
    pub fn new(cr: &Arc<Object>) -> Self {
        let known = KnownValues {
            cr: Some(Arc::clone(cr)),
            ..KnownValues::default()
        };
        let redactor = Self(Arc::new(RwLock::new(known)));
        redactor.learn(cr);
        redactor
    }

    /// Records the values of an object if it is a Secret, and the names of any object as public.
    pub fn learn(&self, object: &Object) {
        {
            let names = &mut self.0.write().names;
            names.add(&object.name);
            object.namespace.iter().for_each(|name| names.add(name));
        }
        if is_secret(&object.gvk.group, &object.gvk.kind) {
            self.learn_data(&object.value());
        }
    }

    /// Records the values of a tree if it is a Secret, such as one that a role applies.
    pub fn learn_value(&self, object: &Value) {
        if object["apiVersion"] == "v1" && object["kind"] == "Secret" {
            self.learn_data(object);
        }
    }

    /// Records the values of a merge patch or JSON patch of a Secret.
    pub fn learn_patch(&self, patch: &Value) {
        let Some(steps) = patch.as_array() else {
            return self.learn_data(patch);
        };
        for step in steps {
            // A value at `/data/password` is equivalent to the merge patch `{"data": {"password": …}}`.
            let path = step["path"].as_str().unwrap_or_default();
            let whole = path.rsplit('/').filter(|key| !key.is_empty());
            let whole = whole.fold(step["value"].clone(), |value, key| json!({key: value}));
            self.learn_data(&whole);
        }
    }

    fn learn_data(&self, secret: &Value) {
        let mut known = self.0.write();
        known.learn_data(secret);
        // Copies of the Secret in annotations, such as the one of kubectl.
        for annotation in leaves(&secret["metadata"]["annotations"]) {
            if annotation.trim_start().starts_with('{')
                && let Ok(copy) = serde_json::from_str(&annotation)
            {
                known.learn_data(&copy);
            }
        }
    }

    /// Records one value, such as a generated password.
    pub fn add(&self, value: &str) {
        self.0.write().learn(value, false);
    }

    /// Records a value as secret, also if another rule says that it is public. Returns false if it is too
    /// short.
    pub fn mark(&self, value: &str) -> bool {
        let value = value.trim();
        if is_short(value) {
            return false;
        }
        let mut known = self.0.write();
        let fingerprint = fingerprint(value);
        known.revealed.remove(&fingerprint);
        known.marked.insert(fingerprint);
        known.learn(value, true);
        true
    }

    /// Stops masking a value, because the role author revealed it.
    pub fn reveal(&self, value: &str) {
        let mut known = self.0.write();
        let fingerprint = fingerprint(value.trim());
        known.marked.remove(&fingerprint);
        known.revealed.insert(fingerprint);
    }

    /// Records the words of a role's files as public.
    pub fn exempt(&self, words: &Arc<WordSet>) {
        let files = &mut self.0.write().files;
        if !files.iter().any(|known| Arc::ptr_eq(known, words)) {
            files.push(Arc::clone(words));
        }
    }

    /// Returns whether a text can be masked without a build of automata, which can take a second.
    pub fn is_ready(&self) -> bool {
        self.0.read().matcher.is_built()
    }

    /// Builds the automata: the part of the work that depends on the secrets and not on the texts.
    pub fn prepare(&self) {
        drop(self.built());
    }

    /// Fails if the run has more secrets than the redactor can recognize. All texts are then withheld.
    pub fn check(&self) -> Result<(), TooManySecrets> {
        if self.0.read().is_full() {
            return Err(TooManySecrets);
        }
        Ok(())
    }

    /// Returns the text with all secrets masked. Cuts a text of more than 1 MiB.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.built();
        if known.is_full() {
            return WITHHELD.into();
        }
        known.text(text)
    }

    /// Returns a text that may be shown to anyone.
    pub fn public(&self, text: &(impl fmt::Display + ?Sized)) -> PublicText {
        PublicText::from_masked(&self.text(&text.to_string()))
    }

    /// Masks two states of a tree. Marks a field as changed if only its secret differs.
    pub fn states(&self, before: &mut Value, after: &mut Value) {
        let (old, new) = (before.clone(), after.clone());
        self.value(before);
        self.value(after);
        mark_changes((&old, &new), (before, after));
    }

    /// Masks the strings and numbers of a tree.
    pub fn value(&self, value: &mut Value) {
        let known = self.built();
        if known.matcher.is_empty() {
            return;
        }
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            match value {
                Value::Array(items) => left.extend(items),
                Value::Object(map) => left.extend(map.values_mut()),
                Value::String(_) | Value::Number(_) if known.is_full() => *value = WITHHELD.into(),
                Value::String(text) => {
                    if let Cow::Owned(masked) = known.text(text) {
                        *text = masked;
                    }
                }
                Value::Number(number) => {
                    let text = number.to_string();
                    if !is_short(&text) && known.text(&text) == MASK {
                        *value = MASK.into();
                    }
                }
                Value::Null | Value::Bool(_) => {}
            }
        }
    }

    /// Returns the secrets in the form that a search needs.
    fn built(&self) -> RwLockReadGuard<'_, KnownValues> {
        let known = self.0.read();
        if known.matcher.is_built() {
            return known;
        }
        drop(known);
        let mut known = self.0.write();
        if !known.is_full() {
            known.matcher.build();
        }
        RwLockWriteGuard::downgrade(known)
    }
}

impl KnownValues {
    fn is_full(&self) -> bool {
        self.matcher.head_bytes() > MAX_HEADS
            || self.matcher.bytes() > MAX_BYTES
            || self.matcher.is_broken()
    }

    fn learn_data(&mut self, secret: &Value) {
        for text in leaves(&secret["stringData"]) {
            self.learn(&text, false);
        }
        for text in leaves(&secret["data"]) {
            let plain = STANDARD.decode(&*text).map(String::from_utf8);
            match plain.ok().and_then(Result::ok) {
                Some(plain) => self.learn(&plain, false),
                // A binary value has no plain form in a text.
                None => self.learn(&text, false),
            }
        }
    }

    /// Adds the spellings of a value, unless it is a common word and not `marked`.
    fn learn(&mut self, value: &str, marked: bool) {
        let trimmed = value.trim();
        if is_short(trimmed) || self.is_full() || !marked && words::is_common(trimmed) {
            return;
        }
        let whole = fingerprint(trimmed);
        if !self.learned.insert(whole) && !marked {
            return;
        }
        let mut is_covered = true;
        for line in trimmed.split(['\n', '\r']).map(str::trim) {
            if is_short(line) {
                is_covered &= line.is_empty();
            } else if marked || !words::is_structure(line) {
                let line_of = Origin {
                    line: fingerprint(line),
                    value: whole,
                };
                self.matcher.add(&fold(line), Form::Text, line_of);
            }
        }
        let origin = Origin {
            line: whole,
            value: whole,
        };
        if !is_covered {
            self.matcher.add(&fold(trimmed), Form::Text, origin);
        }
        // Base64 of both alphabets, without padding, so that a search finds texts with and without
        // padding.
        for value in [value, trimmed] {
            for encoded in [STANDARD_NO_PAD.encode(value), URL_SAFE_NO_PAD.encode(value)] {
                self.matcher.add(&encoded, Form::Base64, origin);
            }
        }
    }

    fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.matcher.is_empty() {
            return text.into();
        }
        let whole = text;
        let text = &whole[..whole.floor_char_boundary(MAX_TEXT)];
        let mut found = Vec::new();
        let mut folded = Some(FoldedText::new(text));
        for _ in 0..=MAX_LEVELS {
            let Some(level) = folded else { break };
            let mut at_level = Vec::new();
            let is_secret = |origin| self.is_secret(origin);
            self.matcher.find(level.text(), &is_secret, &mut at_level);
            found.extend(at_level.iter().map(|range| level.range(range)));
            folded = level.decoded();
        }
        if text.len() < whole.len() {
            // A spelling that begins before the cut cannot be compared completely.
            let kept = text.len().saturating_sub(MAX_CUT);
            found.push(kept..whole.len());
        }
        masked(whole, found)
    }

    /// Returns whether a spelling must be masked.
    fn is_secret(&self, origin: Origin) -> bool {
        self.marked.contains(&origin.value)
            || !self.is_public(origin.line) && !self.is_public(origin.value)
    }

    fn is_public(&self, word: u64) -> bool {
        self.revealed.contains(&word)
            || self.names.contains(word)
            || self.files.iter().any(|words| words.contains(word))
            || self.cr_words().contains(word)
    }

    fn cr_words(&self) -> &WordSet {
        self.cr_words.get_or_init(|| {
            let mut words = WordSet::default();
            if let Some(cr) = &self.cr {
                add_words(cr, &mut words);
            }
            words
        })
    }
}

/// Adds the strings and numbers of a custom resource, except its status, which the role writes. Adds only
/// the names of a Secret.
fn add_words(cr: &Object, words: &mut WordSet) {
    if is_secret(&cr.gvk.group, &cr.gvk.kind) {
        return;
    }
    let mut whole = cr.value();
    if let Some(members) = whole.as_object_mut() {
        members.remove("status");
    }
    let mut left = vec![&whole];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(map) => {
                map.keys().for_each(|key| words.add(key));
                left.extend(map.values());
            }
            Value::String(text) => {
                words.add(text);
                text.lines().for_each(|line| words.add(line));
            }
            Value::Number(number) => words.add(&number.to_string()),
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Replaces each range of the text with [`MASK`]. Adjacent ranges become one.
fn masked(text: &str, mut ranges: Vec<Range<usize>>) -> Cow<'_, str> {
    if ranges.is_empty() {
        return text.into();
    }
    ranges.sort_unstable_by_key(|range| range.start);
    let mut masked = String::with_capacity(text.len());
    let mut last_end = None;
    for Range { start, end } in ranges {
        if last_end.is_none_or(|last| start > last) {
            masked.push_str(&text[last_end.unwrap_or(0)..start]);
            masked.push_str(MASK);
        }
        last_end = last_end.max(Some(end));
    }
    masked.push_str(&text[last_end.unwrap_or(0)..]);
    masked.into()
}

/// Marks fields that differ, but are equal after masking.
fn mark_changes((old, new): (&Value, &Value), (before, after): (&Value, &mut Value)) {
    match (old, new, before, after) {
        (Value::Object(old), Value::Object(new), Value::Object(before), Value::Object(after)) => {
            for (key, after) in after {
                if let (Some(old), Some(new), Some(before)) =
                    (old.get(key), new.get(key), before.get(key))
                {
                    mark_changes((old, new), (before, after));
                }
            }
        }
        (Value::Array(old), Value::Array(new), Value::Array(before), Value::Array(after)) => {
            let states = old.iter().zip(new).zip(before.iter().zip(after));
            states.for_each(|(states, masked)| mark_changes(states, masked));
        }
        (old, new, before, after) => {
            if old != new
                && before == after
                && let Some(text) = after.as_str()
            {
                *after = format!("{text} (changed)").into();
            }
        }
    }
}

/// Visits the strings and numbers in a tree. Numbers count although the data of a Secret is a map of
/// strings: the server quotes a value that it refuses because of its type.
fn leaves(tree: &Value) -> Vec<Cow<'_, str>> {
    let mut leaves = Vec::new();
    let mut left = vec![tree];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(map) => left.extend(map.values()),
            Value::String(text) => leaves.push(text.into()),
            Value::Number(number) => leaves.push(number.to_string().into()),
            Value::Null | Value::Bool(_) => {}
        }
    }
    leaves
}

fn is_secret(group: &str, kind: &str) -> bool {
    group.is_empty() && kind == "Secret"
}

/// Formats it without the secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} bytes)", self.0.read().matcher.bytes())
    }
}

#[cfg(test)]
mod tests;
