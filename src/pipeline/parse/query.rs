//! Parses JSONPath queries, and finds the variables that they read.

use std::sync::Arc;

use jsonpath_rust::parser::model::{JpQuery, Segment, Selector};

use super::string_positions;
use super::values::ValueParser;
use crate::model::diagnostics::{Item, nearest};
use crate::model::json_path;
use crate::model::yaml::Position;
use crate::pipeline::parsed::ResultUse;
use crate::pipeline::scope::{OBJECT, RESULTS};
use crate::pipeline::tree::Query;

impl ValueParser<'_, '_, '_> {
    /// Parses a query on the variables, or in a gate `ready` on the object.
    pub(super) fn query(&mut self, item: &Item<'_>) -> Option<Query> {
        let text = item.text()?;
        let places = string_positions::places(self.file.text, item.position(), text);
        let position = |index| {
            let (line, column) = places.position_at(index);
            Position { line, column }
        };
        let parsed = match json_path::parse(text) {
            Ok(parsed) => parsed,
            Err(error) => {
                let message = format!("invalid JSONPath {text:?}: {error}");
                let is_assignment = matches!(&error, json_path::Error::Syntax { rest, .. }
                    if rest.starts_with('=') && !rest.starts_with("=="));
                let hint = if is_assignment { "compare with ==" } else { "" };
                item.error_at(position(error.index()), &message, hint);
                return None;
            }
        };
        let variable = if self.scope.gate == Some(OBJECT) {
            None
        } else {
            self.check_variable(&parsed, position(2));
            self.note_results(&parsed, text, position(0));
            split_variable(&parsed, text)
        };
        Some(Query {
            text: text.into(),
            variable,
            location: self.location(item.position()),
        })
    }

    /// Reports a first name that is not a variable.
    fn check_variable(&self, query: &JpQuery, at: Position) {
        let Some(name) = segment_name(query.segments.first()) else {
            return;
        };
        let variables = [self.parser.engine.variables(), &self.scope.variables()].concat();
        if !variables.contains(&name) {
            let near = nearest(name, &variables).map(|near| format!("did you mean `{near}`?"));
            let hint = near
                .unwrap_or_else(|| "begin the query with a variable, as in $.spec.size".to_owned());
            let message = format!("undefined variable `{name}`");
            self.file.findings.error(at, message, hint);
        }
    }

    fn note_results(&mut self, query: &JpQuery, text: &str, at: Position) {
        let uses = text.matches(RESULTS).count();
        if uses == 0 {
            return;
        }
        let is_first = segment_name(query.segments.first()) == Some(RESULTS);
        let key = segment_name(query.segments.get(1)).filter(|_| is_first && uses == 1);
        self.uses.push(ResultUse::Key {
            key: key.map(str::to_owned),
            position: Some((Arc::clone(self.file.path), at)),
        });
    }
}

/// Returns the key that a segment selects.
fn segment_name(segment: Option<&Segment>) -> Option<&str> {
    match segment? {
        Segment::Selector(Selector::Name(name)) => Some(name.trim_matches(['\'', '"'])),
        _ => None,
    }
}

/// Splits a query into the variable that it begins with and the query on its value.
fn split_variable(query: &JpQuery, text: &str) -> Option<(Arc<str>, Arc<str>)> {
    let name = segment_name(query.segments.first())?;
    let written = [
        format!("$.{name}"),
        format!("$['{name}']"),
        format!("$[\"{name}\"]"),
    ];
    let rest = written.iter().find_map(|head| text.strip_prefix(&**head))?;
    // A `$` in a filter is the root, which is another value for the query on the variable.
    let has_own_root = !rest.contains('$');
    has_own_root.then(|| (name.into(), format!("${rest}").into()))
}
