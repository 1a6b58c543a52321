//! The `fieldPath` of a rule and the paths of selectable fields, which must select a field of the schema.

use crate::crd::structural::{Additional, Structural};

/// The target of a field path: the path in the server's format, and the schema of the target.
pub(in crate::crd) struct ResolvedPath<'a> {
    pub(in crate::crd) path: String,
    pub(in crate::crd) schema: &'a Structural,
}

/// Returns a path such as `.spec.a['b']` in the format of error messages. Absent if it selects no field.
pub(super) fn normalized(path: &str, schema: &Structural) -> Option<String> {
    find(path, schema, true).ok().map(|found| found.path)
}

/// Resolves a path of `.name` and, if `brackets` is set, `['name']` in a schema.
pub(in crate::crd) fn find<'a>(
    path: &str,
    schema: &'a Structural,
    brackets: bool,
) -> Result<ResolvedPath<'a>, String> {
    let mut found = ResolvedPath {
        path: String::new(),
        schema,
    };
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            let name = if end == 0 {
                after.get(..1).unwrap_or_default()
            } else {
                &after[..end]
            };
            if name.is_empty() {
                return Err("unexpected end of JSON path".to_owned());
            }
            found.enter(name)?;
            rest = &after[name.len()..];
        } else if let Some(after) = rest.strip_prefix('[') {
            if !brackets {
                return Err("array notation is not allowed".to_owned());
            }
            let (name, after) = quoted(after)?;
            found.enter(&name)?;
            rest = after;
        } else {
            let end = rest.find(['.', '[', ']']).unwrap_or(rest.len()).max(1);
            let token = rest.get(..end).unwrap_or(rest);
            return Err(format!("expected [ or . but got: {token}"));
        }
    }
    Ok(found)
}

impl ResolvedPath<'_> {
    fn enter(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        if !self.schema.properties.is_empty() {
            self.schema = self.schema.properties.get(name).ok_or_else(nowhere)?;
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(name);
            return Ok(());
        }
        let Additional::Schema(schema) = &self.schema.additional else {
            return Err(nowhere());
        };
        self.schema = schema;
        self.path.push('[');
        self.path.push_str(name);
        self.path.push(']');
        Ok(())
    }
}

/// Parses `'name']`. A backslash escapes the next character.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let token = || text.split(['.', '[', ']']).next().unwrap_or_default();
    let Some(inner) = text.strip_prefix('\'') else {
        return Err(match token() {
            "" => "unexpected end of JSON path".to_owned(),
            token => format!("expected single quoted string but got {token}"),
        });
    };
    let (mut name, mut escaped) = (String::new(), false);
    for (at, it) in inner.char_indices() {
        match it {
            _ if escaped => {
                escaped = false;
                name.push(it);
            }
            '\\' => escaped = true,
            '\'' => {
                let after = &inner[at + 1..];
                return match after.strip_prefix(']') {
                    Some(rest) => Ok((name, rest)),
                    None if after.is_empty() => Err("unexpected end of JSON path".to_owned()),
                    None => Err(format!("expected ] but got {after}")),
                };
            }
            _ => name.push(it),
        }
    }
    Err(format!("expected single quoted string but got {text}"))
}
