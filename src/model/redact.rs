//! Keeping values of Secrets out of what leaves a run: logs, statuses, Events, errors, traces.
//!
//! Known are the values of the Secrets that a run saw, if they have six characters or more (shorter
//! ones would blot out ordinary words), plain, in base64, and as JSON writes them. What a script
//! derives from them otherwise, a hash or a part, is not recognised.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use parking_lot::RwLock;
use serde_json::Value;

use super::Object;

/// What stands in the place of a secret.
pub const MASK: &str = "[redacted]";
/// Shorter values are not redacted.
const MIN_CHARS: usize = 6;

/// The secrets that one run knows. Clones share them.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Known>>);

#[derive(Default)]
struct Known {
    /// Every spelling to be masked, longest first: of two that begin alike the longer one is masked
    /// whole.
    spellings: Vec<String>,
    /// Values that the author let out.
    revealed: BTreeSet<String>,
}

impl Redactor {
    /// Learns the values of an object if it is a Secret.
    pub fn learn(&self, object: &Object) {
        if is_secret(&object.gvk.group, &object.gvk.kind) {
            self.learn_data(&object.value());
        }
    }

    /// The same for a tree, e.g. a Secret that is about to be applied.
    pub fn learn_value(&self, object: &Value) {
        if object["apiVersion"] == "v1" && object["kind"] == "Secret" {
            self.learn_data(object);
        }
    }

    fn learn_data(&self, secret: &Value) {
        let strings = |key: &str| {
            let entries = secret[key].as_object().into_iter().flatten();
            entries.filter_map(|(_, value)| value.as_str())
        };
        let mut new: BTreeSet<String> = strings("stringData").flat_map(spellings).collect();
        for text in strings("data") {
            // Binary values have no plain form that could turn up in a text.
            let plain = STANDARD.decode(text).map(String::from_utf8);
            match plain.ok().and_then(Result::ok) {
                Some(plain) if plain.trim().chars().count() < MIN_CHARS => continue,
                Some(plain) => new.extend(spellings(&plain)),
                None => {}
            }
            new.insert(text.to_owned());
        }
        self.mask_from_now_on(new);
    }

    /// Learns one value, e.g. a password that was just made.
    pub fn add(&self, value: &str) {
        self.mask_from_now_on(spellings(value));
    }

    fn mask_from_now_on(&self, mut new: BTreeSet<String>) {
        let mut known = self.0.write();
        new.retain(|spelling| {
            spelling.chars().count() >= MIN_CHARS
                && !known.revealed.contains(spelling)
                && !known.spellings.contains(spelling)
        });
        if !new.is_empty() {
            known.spellings.extend(new);
            known
                .spellings
                .sort_by_key(|spelling| Reverse(spelling.len()));
        }
    }

    /// Lets a value pass from now on: the author's explicit way out.
    pub fn reveal(&self, value: &str) {
        let mut known = self.0.write();
        for spelling in spellings(value) {
            known.spellings.retain(|known| *known != spelling);
            known.revealed.insert(spelling);
        }
    }

    /// The text with every known secret masked.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for spelling in &self.0.read().spellings {
            if masked.contains(spelling.as_str()) {
                masked = Cow::Owned(masked.replace(spelling.as_str(), MASK));
            }
        }
        masked
    }

    /// Masks the strings and keys of a tree.
    pub fn value(&self, value: &mut Value) {
        if !self.0.read().spellings.is_empty() {
            self.mask(value);
        }
    }

    fn mask(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask(item)),
            Value::Object(map) => {
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(key, mut value)| {
                        self.mask(&mut value);
                        (self.text(&key).into_owned(), value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn is_secret(group: &str, kind: &str) -> bool {
    group.is_empty() && kind == "Secret"
}

/// How a value may turn up: as it is or trimmed, each as JSON writes it and in base64 of either
/// alphabet (without the padding, so that both forms are found).
fn spellings(value: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let trimmed = value.trim();
    // The base64 of a value that is too short is not, but what it stands for is no secret.
    for value in [value, trimmed]
        .into_iter()
        .filter(|_| trimmed.chars().count() >= MIN_CHARS)
    {
        let json = Value::from(value).to_string();
        all.insert(value.to_owned());
        all.insert(json[1..json.len() - 1].to_owned());
        all.insert(STANDARD_NO_PAD.encode(value));
        all.insert(URL_SAFE_NO_PAD.encode(value));
    }
    all
}

/// Shows no secret.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} spellings)", self.0.read().spellings.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gvk;
    use serde_json::json;

    fn knowing(data: &Value) -> Redactor {
        let secret = json!({"metadata": {"name": "s"}, "data": data});
        let redactor = Redactor::default();
        redactor.learn(&Object::from_value(&Gvk::new("", "v1", "Secret"), &secret).unwrap());
        redactor
    }

    #[test]
    fn plain_base64_and_escaped_forms_are_masked() {
        let redactor = knowing(&json!({"key": STANDARD.encode("two\n\"lines\"\n")}));
        for spelling in [
            "two\n\"lines\"\n".to_owned(),
            "two\n\"lines\"".to_owned(),
            r#"two\n\"lines\""#.to_owned(),
            STANDARD.encode("two\n\"lines\"\n"),
            STANDARD.encode("two\n\"lines\""),
        ] {
            let text = format!("before {spelling} after");
            let masked = redactor.text(&text);
            assert!(
                masked.starts_with("before [redacted]"),
                "{spelling}: {masked}"
            );
            assert!(
                !masked.contains("two") && !masked.contains("dHdv"),
                "{masked}"
            );
        }
    }

    #[test]
    fn short_values_and_other_kinds_are_let_through() {
        let redactor = knowing(&json!({"short": STANDARD.encode("12345")}));
        assert_eq!(redactor.text("12345"), "12345");
        let map = json!({"metadata": {"name": "m"}, "data": {"key": "configuration"}});
        let map = Object::from_value(&Gvk::new("", "v1", "ConfigMap"), &map).unwrap();
        redactor.learn(&map);
        assert_eq!(redactor.text("configuration"), "configuration");
    }

    #[test]
    fn the_longer_of_two_that_begin_alike_is_masked_whole() {
        let redactor = Redactor::default();
        redactor.add("secret-one");
        redactor.add("secret-one-and-more");
        assert_eq!(
            redactor.text("secret-one-and-more secret-one"),
            "[redacted] [redacted]"
        );
    }

    #[test]
    fn trees_are_masked_in_keys_and_values() {
        let redactor = Redactor::default();
        redactor.learn_value(&json!({
            "apiVersion": "v1", "kind": "Secret", "stringData": {"k": "hunter22"},
        }));
        let mut tree = json!({"hunter22": [1, {"url": "http://u:hunter22@host"}], "n": null});
        redactor.value(&mut tree);
        assert_eq!(
            tree,
            json!({MASK: [1, {"url": "http://u:[redacted]@host"}], "n": null})
        );
    }

    #[test]
    fn a_revealed_value_passes_even_when_it_is_learnt_again() {
        let redactor = knowing(&json!({"user": STANDARD.encode("administrator")}));
        redactor.reveal("administrator");
        redactor.add("administrator");
        assert_eq!(redactor.text("administrator"), "administrator");
    }

    #[test]
    fn binary_and_malformed_values_do_no_harm() {
        let redactor = knowing(&json!({"bin": "/////////w==", "odd": "not base64!", "num": 7}));
        assert_eq!(redactor.text("/////////w=="), MASK);
        assert_eq!(redactor.text("not base64!"), MASK);
        assert!(!format!("{redactor:?}").contains("base64"));
    }
}
