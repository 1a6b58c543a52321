//! Represents data in YAML templates by placeholders until the document is parsed.
//!
//! A rendering writes a string from data unchanged only if YAML reads it as a scalar in every context. For
//! any other string it writes a placeholder: a random word. [`super::manifest`] replaces the placeholders
//! in the parsed scalars by the data. Structure comes only from the text of the template and from *markup*:
//! the output of `to_yaml` and `safe`, and text that the template rendered into a variable or by a macro.
//! Markup contains placeholders for the data in it. Filters and operators see the real text of markup; a
//! table, keyed by the address of that text, holds the version with placeholders.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use minijinja::value::ValueKind;
use minijinja::{Error, Output, Value};
use serde_json::Value as Json;

use super::limits;

/// The maximum length of a string that is written unchanged. YAML limits the length of keys.
const MAX_WORD: usize = 256;

thread_local! {
    /// The rendering of a YAML template on this thread.
    static CURRENT: RefCell<Option<Placeholders>> = const { RefCell::new(None) };
}

/// The data of a placeholder.
pub(super) enum Entry {
    /// A string.
    Text(Arc<str>),
    /// An empty string. It is null if it is the whole scalar.
    Empty,
    /// A string of several lines that the template indents by so many spaces from the second line on.
    Indented(Arc<str>, usize),
    /// A list or map, or the output of a filter: the value if it is the whole scalar, else its text.
    Tree(Json, Arc<str>),
}

impl Entry {
    /// Returns the text to insert into a scalar that has other text too.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Indented(text, _) | Self::Tree(_, text) => text,
            Self::Empty => "",
        }
    }
}

/// Text of a template, with placeholders for the data in it.
struct Markup {
    /// Keeps the address in use.
    _value: Arc<str>,
    text: Arc<str>,
}

/// The placeholders of one rendering.
pub(super) struct Placeholders {
    prefix: String,
    entries: Vec<Entry>,
    texts: HashMap<Arc<str>, usize>,
    markup: HashMap<usize, Markup>,
}

/// Renders with placeholders for data.
pub(super) fn with<T>(render: impl FnOnce() -> T) -> (T, Placeholders) {
    CURRENT.set(Some(Placeholders::new()));
    let rendered = render();
    (rendered, CURRENT.take().unwrap_or_else(Placeholders::new))
}

/// Writes a value to the output of a template.
pub(super) fn write(output: &mut Output, value: &Value) -> Result<(), Error> {
    CURRENT.with_borrow_mut(|current| match current {
        Some(placeholders) => Ok(output.write_str(&placeholders.written(value))?),
        None => Ok(write!(output, "{value}")?),
    })
}

/// Takes text that a template rendered into a variable, or by a macro, for markup.
pub(super) fn captured(value: Value) -> Result<Value, Error> {
    match value.as_str() {
        Some(text) if value.is_safe() => markup(text),
        _ => Ok(value),
    }
}

/// Makes markup of a text with placeholders.
pub(super) fn markup(text: &str) -> Result<Value, Error> {
    limits::fits(text.len())?;
    CURRENT.with_borrow_mut(|current| match current {
        Some(placeholders) => placeholders.register(text),
        None => Ok(text.into()),
    })
}

/// Returns the text of markup with its placeholders; none for data and outside of YAML templates.
pub(super) fn markup_of(value: &Value) -> Option<Arc<str>> {
    let address = value.as_str()?.as_ptr() as usize;
    CURRENT.with_borrow(|current| Some(current.as_ref()?.markup.get(&address)?.text.clone()))
}

/// Returns whether a value has text of a template or of a filter, and not only data.
pub(super) fn has_own_text(value: &Value) -> bool {
    let Some(text) = markup_of(value) else {
        return false;
    };
    CURRENT.with_borrow(|current| {
        let own = |entry: &Entry| match entry {
            Entry::Tree(_, json) => json.as_ref().to_owned(),
            _ => String::new(),
        };
        let own = current.as_ref().map(|it| it.replace(&text, own));
        own.is_some_and(|own| !own.trim().is_empty())
    })
}

/// Concatenates two values: markup stays markup beside data.
pub(super) fn concatenate(left: &Value, right: &Value) -> Result<Value, Error> {
    let sides = [left, right];
    if sides.iter().all(|side| markup_of(side).is_none()) {
        return Ok(limits::text(format_args!("{left}{right}"))?.into());
    }
    let written = CURRENT.with_borrow_mut(|current| {
        let current = current.as_mut();
        current.map(|placeholders| sides.map(|side| placeholders.written(side)).concat())
    });
    markup(&written.unwrap_or_default())
}

/// Makes markup of a value that a filter wrote as text: itself where it stands alone, else the text.
pub(super) fn written_as(tree: Json, text: &str) -> Result<Value, Error> {
    let written = CURRENT.with_borrow_mut(|current| {
        let placeholders = current.as_mut()?;
        Some(placeholders.add(Entry::Tree(tree, text.into())))
    });
    markup(written.as_deref().unwrap_or(text))
}

/// Indents data of several lines: makes markup of `before` and a placeholder that knows the width.
/// `text` has its lines indented, the first one excepted. None outside of YAML templates.
pub(super) fn indented(before: &str, text: &str, width: usize) -> Result<Option<Value>, Error> {
    let written = CURRENT.with_borrow_mut(|current| {
        let placeholders = current.as_mut()?;
        let written = if text.contains('\n') {
            placeholders.add(Entry::Indented(text.into(), width))
        } else {
            placeholders.word(text)
        };
        Some(format!("{before}{written}"))
    });
    written.map(|written| markup(&written)).transpose()
}

/// Removes white space at both ends of markup, and of the data there.
pub(super) fn trimmed(markup_text: &str) -> Result<Value, Error> {
    let text = CURRENT.with_borrow_mut(|current| match current {
        Some(placeholders) => placeholders.trim(markup_text),
        None => markup_text.trim().to_owned(),
    });
    markup(&text)
}

/// Returns true if YAML reads a string as (part of) a scalar in every context.
fn is_harmless(text: &str) -> bool {
    let number = text.strip_prefix('-').unwrap_or(text);
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    let inner = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let outer = |c: char| c.is_ascii_alphanumeric();
    is_number && text.len() <= MAX_WORD
        || text.len() <= MAX_WORD
            && text.starts_with(outer)
            && text.ends_with(outer)
            && text.chars().all(inner)
}

impl Placeholders {
    fn new() -> Self {
        Self {
            // No escape in a double quoted scalar begins with a z.
            prefix: format!("z{:016x}x", rand::random::<u64>()),
            entries: Vec::new(),
            texts: HashMap::new(),
            markup: HashMap::new(),
        }
    }

    /// Returns the text that represents a value in the rendered text.
    fn written(&mut self, value: &Value) -> String {
        if let Some(text) = value.as_str() {
            // The template itself rendered this text, and has not stored it in a variable yet.
            if value.is_safe() {
                return text.to_owned();
            }
            return match self.markup.get(&(text.as_ptr() as usize)) {
                Some(markup) => markup.text.as_ref().to_owned(),
                None => self.word(text),
            };
        }
        let text = value.to_string();
        match value.kind() {
            ValueKind::Bool | ValueKind::Number | ValueKind::None | ValueKind::Undefined => text,
            ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => {
                match serde_json::to_value(value) {
                    Ok(tree) => self.add(Entry::Tree(tree, text.as_str().into())),
                    Err(_) => self.word(&text),
                }
            }
            _ => self.word(&text),
        }
    }

    /// Returns the word that represents a string: the string itself if it is harmless, else a placeholder.
    pub(super) fn word(&mut self, text: &str) -> String {
        if text.is_empty() {
            return self.add(Entry::Empty);
        }
        if is_harmless(text) {
            return text.to_owned();
        }
        // An anchor and its aliases are the same word.
        if let Some(at) = self.texts.get(text) {
            return self.name(*at);
        }
        let text: Arc<str> = text.into();
        self.texts.insert(text.clone(), self.entries.len());
        self.add(Entry::Text(text))
    }

    fn add(&mut self, entry: Entry) -> String {
        self.entries.push(entry);
        self.name(self.entries.len() - 1)
    }

    /// Returns the placeholder of an entry.
    pub(super) fn name(&self, at: usize) -> String {
        format!("{}{at}e", self.prefix)
    }

    fn register(&mut self, text: &str) -> Result<Value, Error> {
        let real: Arc<str> = self.replace(text, |entry| entry.text().to_owned()).into();
        limits::fits(real.len())?;
        let markup = Markup {
            _value: real.clone(),
            text: text.into(),
        };
        self.markup.insert(real.as_ptr() as usize, markup);
        Ok(real.into())
    }

    /// Returns whether a text has a placeholder.
    pub(super) fn is_in(&self, text: &str) -> bool {
        !self.entries.is_empty() && text.contains(&self.prefix)
    }

    /// Returns whether any entry is of a kind.
    pub(super) fn any(&self, is: impl Fn(&Entry) -> bool) -> bool {
        self.entries.iter().any(is)
    }

    /// Returns the entry with a number.
    pub(super) fn get(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    /// Finds the first placeholder of a text. Returns the text before it, the index of its entry, and the
    /// text after it.
    pub(super) fn split<'a>(&self, text: &'a str) -> Option<(&'a str, usize, &'a str)> {
        let (before, from) = text.split_once(&self.prefix)?;
        let (digits, after) = from.split_once('e')?;
        let at = digits.parse().ok().filter(|at| *at < self.entries.len())?;
        Some((before, at, after))
    }

    /// Returns the numbers of the entries in a text.
    pub(super) fn numbers<'a>(&'a self, mut text: &'a str) -> impl Iterator<Item = usize> + 'a {
        std::iter::from_fn(move || {
            let (_, at, after) = self.split(text)?;
            text = after;
            Some(at)
        })
    }

    /// Replaces each placeholder of a text by the result of `with`.
    pub(super) fn replace(&self, text: &str, with: impl Fn(&Entry) -> String) -> String {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, at, after)) = self.split(rest) {
            result.push_str(before);
            result.push_str(&with(&self.entries[at]));
            rest = after;
        }
        result.push_str(rest);
        result
    }

    fn trim(&mut self, text: &str) -> String {
        let text = self.trim_end(text.trim_start());
        let mut rest = text.as_str();
        while let Some(("", at, after)) = self.split(rest) {
            let data = self.entries[at].text().trim_start().to_owned();
            if !data.is_empty() {
                return format!("{}{after}", self.word(&data));
            }
            rest = after.trim_start();
        }
        rest.to_owned()
    }

    fn trim_end(&mut self, text: &str) -> String {
        let mut rest = text.trim_end();
        while let Some(start) = rest.rfind(&self.prefix)
            && let Some((_, at, "")) = self.split(&rest[start..])
        {
            let data = self.entries[at].text().trim_end().to_owned();
            if !data.is_empty() {
                return format!("{}{}", &rest[..start], self.word(&data));
            }
            rest = rest[..start].trim_end();
        }
        rest.to_owned()
    }
}
