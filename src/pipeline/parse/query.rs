//! JSONPath in a pipeline: what it asks of which variable.

use std::sync::Arc;

use jsonpath_rust::parser::model::{JpQuery, Segment, Selector};

use super::super::scope::{OBJECT, RESULTS};
use super::super::tree::Query;
use super::string_positions;
use super::{File, Mentioned, Reading, Scope};
use crate::model::diagnostics::{Item, nearest};
use crate::model::json_path;
use crate::model::yaml::Position;

impl Reading<'_> {
    /// A query over the variables, or in a gate `ready` over the object.
    pub(super) fn query(&mut self, file: File<'_>, item: &Item<'_>, scope: Scope) -> Option<Query> {
        let text = item.text()?;
        let place = |index| {
            let (line, column) =
                string_positions::places(file.text, item.position(), text).at(index);
            Position { line, column }
        };
        let parsed = match json_path::parse(text) {
            Ok(parsed) => parsed,
            Err(error) => {
                let message = format!("{text:?} is {error}");
                let is_assignment = matches!(&error, json_path::Error::Syntax { rest, .. }
                    if rest.starts_with('=') && !rest.starts_with("=="));
                let hint = if is_assignment {
                    "JSONPath compares with =="
                } else {
                    ""
                };
                item.error_at(place(error.index()), &message, hint);
                return None;
            }
        };
        let variable = if scope.gate == Some(OBJECT) {
            None
        } else {
            self.tell_variable(file, &parsed, scope, place(2));
            self.mention(file, &parsed, text, place(0));
            of_variable(&parsed, text)
        };
        Some(Query {
            text: text.into(),
            variable,
            place: self.place(file, item.position()),
        })
    }

    /// Tells a first name that is no variable.
    fn tell_variable(&self, file: File<'_>, query: &JpQuery, scope: Scope, at: Position) {
        let Some(name) = name(query.segments.first()) else {
            return;
        };
        let variables = [self.engine.variables(), &scope.variables()].concat();
        if !variables.contains(&name) {
            let near = nearest(name, &variables).map(|near| format!("did you mean `{near}`?"));
            let hint = near.unwrap_or_else(|| {
                "the query is asked of a map of the variables: $.spec.size".to_owned()
            });
            file.findings
                .error(at, format!("undefined variable `{name}`"), hint);
        }
    }

    fn mention(&mut self, file: File<'_>, query: &JpQuery, text: &str, at: Position) {
        let uses = text.matches(RESULTS).count();
        if uses == 0 {
            return;
        }
        let first = name(query.segments.first()) == Some(RESULTS);
        let key = name(query.segments.get(1)).filter(|_| first && uses == 1);
        self.mentions.push(Mentioned {
            key: key.map(str::to_owned),
            place: Some((Arc::clone(file.path), at)),
        });
    }
}

/// The key that a segment selects.
fn name(segment: Option<&Segment>) -> Option<&str> {
    match segment? {
        Segment::Selector(Selector::Name(name)) => Some(name.trim_matches(['\'', '"'])),
        _ => None,
    }
}

/// The variable that a query begins with, and the query on its value.
fn of_variable(query: &JpQuery, text: &str) -> Option<(Arc<str>, Arc<str>)> {
    let name = name(query.segments.first())?;
    let written = [
        format!("$.{name}"),
        format!("$['{name}']"),
        format!("$[\"{name}\"]"),
    ];
    let rest = written.iter().find_map(|head| text.strip_prefix(&**head))?;
    // A `$` in a filter is the root, which would be another one then.
    let own_root = !rest.contains('$');
    own_root.then(|| (name.into(), format!("${rest}").into()))
}
