//! From the text that a YAML template rendered to its documents: data is put into the parsed scalars.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};
use serde_yaml::granit_parser::{Event, Parser, ScalarStyle, Span};

use super::filters;
use super::limits::MAX_VALUE;
use super::placeholders::{Entry, Placeholders};
use crate::model::yaml;

/// The reason that rendered text is not a list of YAML documents.
pub(super) enum Error {
    /// It is not YAML.
    Syntax(yaml::Error),
    /// Two keys of a map are the same when data is put into them.
    DuplicateKey(String),
    /// Data is put into more scalars, by aliases, than a rendering may write.
    TooLarge,
}

/// Parses rendered text, and puts the data in.
pub(super) fn parse(text: &str, placeholders: &mut Placeholders) -> Result<Vec<Json>, Error> {
    if !placeholders.is_in(text) {
        return yaml::parse_all(text).map_err(Error::Syntax);
    }
    let text = without_empty_lines(text, placeholders);
    let needs_style = placeholders.any(|entry| !matches!(entry, Entry::Text(_)));
    let styles = if needs_style {
        Styles::parse(&text, placeholders)
    } else {
        Styles::default()
    };
    let text = styles.expand(text, placeholders);
    let documents = yaml::parse_all(&text).map_err(Error::Syntax)?;
    let mut filling = Filling {
        placeholders,
        styles: &styles,
        left: MAX_VALUE,
    };
    let documents = documents.into_iter().map(|it| filling.value(it));
    documents.collect()
}

/// Removes placeholders of empty strings that stand alone on a line: a template that writes nothing
/// there means a line with nothing. In a list or map in brackets they stay.
fn without_empty_lines(text: &str, placeholders: &Placeholders) -> String {
    if !placeholders.any(|entry| matches!(entry, Entry::Empty)) {
        return text.to_owned();
    }
    let mut result = String::with_capacity(text.len());
    let mut last = None;
    for line in text.split_inclusive('\n') {
        let is_lone = placeholders.is_in(line)
            && !matches!(last, Some('[' | '{' | ','))
            && placeholders
                .numbers(line)
                .all(|at| matches!(placeholders.get(at), Some(Entry::Empty)))
            && placeholders
                .replace(line, |_| String::new())
                .trim()
                .is_empty();
        if is_lone {
            result.push_str(if line.ends_with('\n') { "\n" } else { "" });
        } else {
            result.push_str(line);
            last = line.trim_end().chars().next_back().or(last);
        }
    }
    result
}

/// The style of each scalar that holds a placeholder.
#[derive(Default)]
struct Styles {
    /// Entries in plain scalars.
    plain: HashSet<usize>,
    /// Indented entries in block scalars, with the indentation of the block.
    in_block: Vec<(usize, usize)>,
    /// Entries that are merged into a map: `<<: {{ labels | to_json }}`.
    merged: Vec<usize>,
}

impl Styles {
    fn parse(text: &str, placeholders: &Placeholders) -> Self {
        let mut styles = Self::default();
        let mut parser = Parser::new_from_str_with_options(text, yaml::parser_options());
        let mut is_merge = false;
        while let Some(Ok((event, span))) = parser.next_event() {
            let is_merged = std::mem::take(&mut is_merge);
            let Event::Scalar(value, style, ..) = &event else {
                continue;
            };
            is_merge = value == "<<" && *style == ScalarStyle::Plain;
            if !placeholders.is_in(value) {
                continue;
            }
            let numbers = placeholders.numbers(value);
            match style {
                ScalarStyle::Plain if is_merged => styles.merged.extend(numbers),
                ScalarStyle::Plain => styles.plain.extend(numbers),
                ScalarStyle::Literal | ScalarStyle::Folded => {
                    let indentation = indentation(text, span, value);
                    styles.in_block.extend(numbers.map(|at| (at, indentation)));
                }
                _ => {}
            }
        }
        styles
    }

    /// Writes maps that are merged as maps, and the lines of indented entries in block scalars as lines: YAML then takes the indentation
    /// away, as if the data stood there. Each line is a placeholder of its own, and no line ends the block.
    fn expand(&self, text: String, placeholders: &mut Placeholders) -> String {
        let mut text = text;
        for &at in &self.merged {
            if let Some(Entry::Tree(tree @ Json::Object(_), _)) = placeholders.get(at) {
                let json = filters::printable(tree.to_string());
                text = text.replacen(&placeholders.name(at), &json, 1);
            }
        }
        for &(at, block) in &self.in_block {
            let Some(Entry::Indented(data, width)) = placeholders.get(at) else {
                continue;
            };
            let (data, width) = (data.clone(), *width);
            let mut lines = String::new();
            let mut is_blank = true;
            for (number, line) in data.split('\n').enumerate() {
                let mut line = line.strip_suffix('\r').unwrap_or(line);
                let spaces = line.len() - line.trim_start_matches(' ').len();
                if number > 0 {
                    lines.push('\n');
                    line = &line[spaces.min(width)..];
                }
                if number > 0 && !line.is_empty() {
                    lines.push_str(&" ".repeat(width.max(block)));
                }
                let rest = line.trim_start_matches(' ');
                // A line in a folded block that is indented more is not folded. The first line of a
                // block says where the block is.
                if !is_blank && !rest.is_empty() {
                    lines.push_str(&line[..line.len() - rest.len()]);
                    line = rest;
                }
                if !line.is_empty() {
                    lines.push_str(&placeholders.word(line));
                    is_blank = false;
                }
            }
            text = text.replacen(&placeholders.name(at), &lines, 1);
        }
        text
    }
}

/// Returns by how many spaces YAML takes a block scalar's lines to be indented.
fn indentation(text: &str, span: Span, value: &str) -> usize {
    let leading = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let is_blank = |line: &&str| line.trim_matches(' ').is_empty();
    let mut lines = text.lines().skip(span.start.line());
    let written = lines.find(|line| !is_blank(line)).map_or(0, leading);
    let kept = value
        .lines()
        .find(|line| !is_blank(line))
        .map_or(0, leading);
    written.saturating_sub(kept)
}

struct Filling<'a> {
    placeholders: &'a Placeholders,
    styles: &'a Styles,
    /// Bytes that may still be put in.
    left: usize,
}

impl Filling<'_> {
    fn value(&mut self, value: Json) -> Result<Json, Error> {
        match value {
            Json::String(text) if self.placeholders.is_in(&text) => self.scalar(&text),
            Json::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Json::Object(entries) => {
                let mut map = Map::new();
                for (key, value) in entries {
                    let key = self.key(&key)?;
                    let value = self.value(value)?;
                    if map.contains_key(&key) {
                        return Err(Error::DuplicateKey(key));
                    }
                    map.insert(key, value);
                }
                Ok(Json::Object(map))
            }
            other => Ok(other),
        }
    }

    /// Returns the value of a scalar with placeholders.
    fn scalar(&mut self, text: &str) -> Result<Json, Error> {
        let placeholders = self.placeholders;
        let is_plain = |at: &usize| self.styles.plain.contains(at);
        let is_empty = |at: &usize| matches!(placeholders.get(*at), Some(Entry::Empty));
        let mut rest = text.to_owned();
        for at in placeholders.numbers(text).filter(is_plain).filter(is_empty) {
            let without = rest.replacen(&placeholders.name(at), "", 1);
            without.trim().clone_into(&mut rest);
        }
        if rest.is_empty() {
            return Ok(Json::Null);
        }
        if let Some(("", at, "")) = placeholders.split(&rest)
            && is_plain(&at)
            && let Some(Entry::Tree(tree, text)) = placeholders.get(at)
        {
            self.take(text.len())?;
            return Ok(tree.clone());
        }
        self.text(&rest).map(Json::String)
    }

    fn key(&mut self, text: &str) -> Result<String, Error> {
        let whole = self.placeholders.split(text);
        match whole.map(|(before, at, after)| (before, self.placeholders.get(at), after)) {
            // `{{ name | to_json }}: value`
            Some(("", Some(Entry::Tree(Json::String(key), _)), "")) => self.text(key),
            _ => self.text(text),
        }
    }

    fn text(&mut self, text: &str) -> Result<String, Error> {
        let placeholders = self.placeholders;
        if !placeholders.is_in(text) {
            return Ok(text.to_owned());
        }
        let put = placeholders
            .numbers(text)
            .filter_map(|at| placeholders.get(at));
        self.take(put.map(|entry| entry.text().len()).sum())?;
        Ok(placeholders.replace(text, |entry| entry.text().to_owned()))
    }

    fn take(&mut self, bytes: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(bytes).ok_or(Error::TooLarge)?;
        Ok(())
    }
}
