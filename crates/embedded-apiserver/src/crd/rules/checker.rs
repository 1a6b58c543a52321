//! Checks that the variables and fields of an expression exist in its schema.
//!
//! Implements the part of cel-go's type check that finds common mistakes: unknown names and fields, fields of
//! scalars, comparisons of scalars of different types, and results that are not boolean.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators,
};

use super::names::escape;
use crate::crd::Pattern;
use crate::crd::structural::{Additional, Structural};

/// Names that are neither variables nor mistakes: types, and prefixes of functions.
const KNOWN: [&str; 24] = [
    "base64",
    "bool",
    "bytes",
    "cidr",
    "double",
    "dyn",
    "format",
    "google",
    "int",
    "ip",
    "jsonpatch",
    "list",
    "lists",
    "map",
    "null_type",
    "optional",
    "optional_type",
    "regex",
    "semver",
    "sets",
    "string",
    "strings",
    "type",
    "uint",
];

/// Functions whose result type does not depend on their arguments.
const RESULTS: [(&str, &str); 18] = [
    ("bool", "bool"),
    ("contains", "bool"),
    ("double", "double"),
    ("duration", "duration"),
    ("endsWith", "bool"),
    ("hasValue", "bool"),
    ("int", "int"),
    ("isIP", "bool"),
    ("isQuantity", "bool"),
    ("isURL", "bool"),
    ("lowerAscii", "string"),
    ("matches", "bool"),
    ("size", "int"),
    ("startsWith", "bool"),
    ("string", "string"),
    ("timestamp", "timestamp"),
    ("trim", "string"),
    ("upperAscii", "string"),
];

/// The type that an expression must have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::crd) enum Wanted {
    /// The type of a rule.
    Bool,
    /// The type of a message.
    String,
}

/// The known type of a value.
#[derive(Clone, Copy)]
enum Kind<'a> {
    /// An unknown type.
    Dyn,
    Scalar(&'static str),
    /// A value with a schema. The flag is true for a resource, whose apiVersion, kind and names are always
    /// known.
    Node(&'a Structural, bool),
    /// Metadata. Rules see only the names in it.
    Metadata,
}

/// Returns the first mistake in an expression, with the message of cel-go.
pub(super) fn check(
    expression: &IdedExpr,
    source: &str,
    schema: &Structural,
    is_resource: bool,
    wanted: Wanted,
) -> Result<(), String> {
    let node = Kind::Node(schema, is_resource);
    let mut checker = Checker {
        source,
        variables: vec![("self", node), ("oldSelf", node)],
    };
    let found = checker.visit(expression)?.scalar();
    match (wanted, found) {
        (_, None) | (Wanted::Bool, Some("bool")) | (Wanted::String, Some("string")) => Ok(()),
        (Wanted::Bool, _) => Err("cel expression must evaluate to a bool".to_owned()),
        (Wanted::String, _) => Err("must evaluate to a string".to_owned()),
    }
}

/// Checks an expression whose variables have no schema. The error is that of cel-go. `wanted` is empty if the
/// result can have any type.
pub(super) fn check_variables(
    expression: &IdedExpr,
    source: &str,
    variables: &[&str],
    wanted: &str,
) -> Result<(), String> {
    let mut checker = Checker {
        source,
        variables: variables.iter().map(|name| (*name, Kind::Dyn)).collect(),
    };
    match checker.visit(expression)?.scalar() {
        Some(found) if !wanted.is_empty() && found != wanted => {
            Err(format!("must evaluate to {wanted} but got {found}"))
        }
        _ => Ok(()),
    }
}

struct Checker<'a> {
    source: &'a str,
    variables: Vec<(&'a str, Kind<'a>)>,
}

type KindResult<'a> = Result<Kind<'a>, String>;

impl<'a> Checker<'a> {
    fn visit(&mut self, expression: &'a IdedExpr) -> KindResult<'a> {
        match &expression.expr {
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(inner) => self.comprehension(inner),
            Expr::List(items) => {
                for item in &items.elements {
                    self.visit(item)?;
                }
                Ok(Kind::Dyn)
            }
            Expr::Map(map) => self.entries(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(inner) => self.entries(inner.entries.iter().map(|entry| &entry.expr)),
            Expr::Literal(literal) => Ok(match literal {
                LiteralValue::Boolean(_) => Kind::Scalar("bool"),
                LiteralValue::Double(_) => Kind::Scalar("double"),
                LiteralValue::Int(_) => Kind::Scalar("int"),
                LiteralValue::Null => Kind::Scalar("null"),
                LiteralValue::String(_) => Kind::Scalar("string"),
                LiteralValue::Bytes(_) | LiteralValue::UInt(_) => Kind::Dyn,
            }),
            Expr::Unspecified => Ok(Kind::Dyn),
        }
    }

    fn entries(&mut self, entries: impl Iterator<Item = &'a EntryExpr>) -> KindResult<'a> {
        for entry in entries {
            match entry {
                EntryExpr::StructField(field) => drop(self.visit(&field.value)?),
                EntryExpr::MapEntry(entry) => {
                    self.visit(&entry.key)?;
                    self.visit(&entry.value)?;
                }
            }
        }
        Ok(Kind::Dyn)
    }

    fn name(&self, name: &str) -> KindResult<'a> {
        if let Some((_, kind)) = self
            .variables
            .iter()
            .rev()
            .find(|(known, _)| *known == name)
        {
            return Ok(*kind);
        }
        if KNOWN.contains(&name) || name.starts_with('@') {
            return Ok(Kind::Dyn);
        }
        let why = format!("undeclared reference to '{name}' (in container '')");
        Err(self.at(self.word(name), &why))
    }

    fn select(&mut self, select: &'a SelectExpr) -> KindResult<'a> {
        let field = &select.field;
        let found = match self.visit(&select.operand)? {
            Kind::Dyn => Ok(Kind::Dyn),
            Kind::Scalar(name) => Err(Some(name)),
            Kind::Metadata if matches!(field.as_str(), "name" | "generateName") => {
                Ok(Kind::Scalar("string"))
            }
            Kind::Metadata => Err(None),
            Kind::Node(schema, is_resource) => member(schema, is_resource, field),
        };
        let why = match found {
            // `has()` returns a boolean for a field of any type.
            Ok(_) if select.test => return Ok(Kind::Scalar("bool")),
            Ok(kind) => return Ok(kind),
            Err(None) => format!("undefined field '{field}'"),
            Err(Some(name)) => format!("type '{name}' does not support field selection"),
        };
        let place = if select.test {
            self.source.find("has(").map(|at| at + 3)
        } else {
            None
        };
        Err(self.at(place.or_else(|| self.word(&format!(".{field}"))), &why))
    }

    fn call(&mut self, call: &'a CallExpr) -> KindResult<'a> {
        let mut kinds = Vec::with_capacity(call.args.len());
        if let Some(target) = &call.target {
            self.visit(target)?;
        }
        for argument in &call.args {
            kinds.push(self.visit(argument)?);
        }
        let name = call.func_name.as_str();
        if let ("matches", [.., argument]) = (name, call.args.as_slice())
            && let Expr::Literal(LiteralValue::String(text)) = &argument.expr
            && Pattern::compile(text.inner()).is_err()
        {
            let place = self.source.find("matches(").map(|at| at + "matches(".len());
            return Err(self.at(place, "invalid matches argument"));
        }
        match (name, kinds.as_slice()) {
            (operators::INDEX, [Kind::Node(schema, _), _]) => Ok(element(schema)),
            (operators::CONDITIONAL, [_, first, second]) => {
                let same = first.scalar().is_some() && first.scalar() == second.scalar();
                Ok(if same { *first } else { Kind::Dyn })
            }
            (_, [left, right]) if name.starts_with('_') => self.binary(name, *left, *right),
            (operators::LOGICAL_NOT, [of]) => match of.scalar() {
                None | Some("bool") => Ok(Kind::Scalar("bool")),
                Some(of) => Err(self.no_overload(name, of)),
            },
            (operators::IN, _) => Ok(Kind::Scalar("bool")),
            _ => {
                let result = RESULTS.iter().find(|(known, _)| *known == name);
                Ok(result.map_or(Kind::Dyn, |(_, kind)| Kind::Scalar(kind)))
            }
        }
    }

    fn binary(&self, name: &str, left: Kind<'a>, right: Kind<'a>) -> KindResult<'a> {
        let is_logical = matches!(name, operators::LOGICAL_AND | operators::LOGICAL_OR);
        let is_equality = matches!(name, operators::EQUALS | operators::NOT_EQUALS);
        let is_order = matches!(
            name,
            operators::GREATER
                | operators::GREATER_EQUALS
                | operators::LESS
                | operators::LESS_EQUALS
        );
        let (Some(one), Some(other)) = (left.scalar(), right.scalar()) else {
            let is_bool = is_logical || is_equality || is_order;
            return Ok(if is_bool {
                Kind::Scalar("bool")
            } else {
                Kind::Dyn
            });
        };
        let number = |it| matches!(it, "int" | "double");
        let simple = |it| number(it) || matches!(it, "string" | "bool");
        let fits = if is_logical {
            one == "bool" && other == "bool"
        } else if is_order {
            one == other || (number(one) && number(other)) || !simple(one) && !simple(other)
        } else if is_equality {
            one == other
        } else {
            // Times and durations can be added, and the result has another type.
            let adds = number(one) || (name == operators::ADD && one == "string");
            !simple(one) || !simple(other) || (one == other && adds)
        };
        if !fits {
            return Err(self.no_overload(name, &format!("{one}, {other}")));
        }
        Ok(match one {
            _ if is_logical || is_equality || is_order => Kind::Scalar("bool"),
            _ if one == other && simple(one) => left,
            _ => Kind::Dyn,
        })
    }

    fn no_overload(&self, name: &str, of: &str) -> String {
        let why = format!("found no matching overload for '{name}' applied to '({of})'");
        self.at(self.source.find(name.trim_matches('_')), &why)
    }

    fn comprehension(&mut self, inner: &'a ComprehensionExpr) -> KindResult<'a> {
        let item = match self.visit(&inner.iter_range)? {
            Kind::Node(schema, _) if schema.kind.as_deref() == Some("array") => element(schema),
            _ => Kind::Dyn,
        };
        self.visit(&inner.accu_init)?;
        let depth = self.variables.len();
        let is_pair = inner.iter_var2.is_some();
        self.variables
            .push((&inner.iter_var, if is_pair { Kind::Dyn } else { item }));
        if let Some(second) = &inner.iter_var2 {
            self.variables.push((second, Kind::Dyn));
        }
        self.variables.push((&inner.accu_var, Kind::Dyn));
        self.visit(&inner.loop_cond)?;
        self.visit(&inner.loop_step)?;
        self.visit(&inner.result)?;
        self.variables.truncate(depth);
        Ok(Kind::Dyn)
    }

    /// Returns the position of a name in the source, if it is not a part of another name.
    fn word(&self, name: &str) -> Option<usize> {
        let is_part = |it: char| it.is_alphanumeric() || it == '_';
        let starts_bare = !name.starts_with('.');
        self.source
            .match_indices(name)
            .map(|(at, _)| at)
            .find(|at| {
                let before = self.source[..*at].chars().next_back();
                let after = self.source[at + name.len()..].chars().next();
                let joined = starts_bare && before.is_some_and(|it| is_part(it) || it == '.');
                !joined && !after.is_some_and(is_part)
            })
    }

    /// Formats an error with its position, its line and a mark below it.
    fn at(&self, place: Option<usize>, why: &str) -> String {
        let place = place.unwrap_or(0);
        let start = self.source[..place].rfind('\n').map_or(0, |at| at + 1);
        let line = self.source[start..].lines().next().unwrap_or_default();
        let number = self.source[..place].matches('\n').count() + 1;
        let column = self.source[start..place].chars().count();
        format!(
            "compilation failed: ERROR: <input>:{number}:{}: {why}\n | {line}\n | {}^",
            column + 1,
            ".".repeat(column)
        )
    }
}

impl Kind<'_> {
    fn scalar(self) -> Option<&'static str> {
        match self {
            Self::Scalar(name) => Some(name),
            Self::Node(schema, _) => scalar(schema),
            Self::Dyn | Self::Metadata => None,
        }
    }
}

/// Returns the name of a scalar type in expressions.
fn scalar(schema: &Structural) -> Option<&'static str> {
    if schema.int_or_string || schema.nullable {
        return None;
    }
    match schema.kind.as_deref()? {
        "integer" => Some("int"),
        "number" => Some("double"),
        "boolean" => Some("bool"),
        "string" => Some(
            match schema.checks.format.as_ref().map(|(name, _)| name.as_str()) {
                Some("byte") => "bytes",
                Some("date" | "date-time") => "timestamp",
                Some("duration") => "duration",
                _ => "string",
            },
        ),
        _ => None,
    }
}

/// Returns the type of the items of a list or the values of a map.
fn element(schema: &Structural) -> Kind<'_> {
    match (&schema.items, &schema.additional) {
        (Some(items), _) => Kind::Node(items, items.embedded),
        (None, Additional::Schema(schema)) => Kind::Node(schema, schema.embedded),
        _ => Kind::Dyn,
    }
}

/// Returns the type of a field of a value. The error contains the type of a value that has no fields.
fn member<'a>(
    schema: &'a Structural,
    is_resource: bool,
    field: &str,
) -> Result<Kind<'a>, Option<&'static str>> {
    if schema.int_or_string {
        return Ok(Kind::Dyn);
    }
    if schema.kind.as_deref() != Some("object") {
        return scalar(schema).map_or(Ok(Kind::Dyn), |name| Err(Some(name)));
    }
    // The types of these fields are known unless the schema declares all of them.
    if is_resource && !schema.describes_resource() {
        match field {
            "apiVersion" | "kind" => return Ok(Kind::Scalar("string")),
            "metadata" => return Ok(Kind::Metadata),
            _ => {}
        }
    }
    if let Some((_, property)) = schema
        .properties
        .iter()
        .find(|(name, _)| escape(name) == field)
    {
        // A property without a type is not visible to rules.
        let is_typed = property.kind.is_some() || property.int_or_string;
        return if is_typed {
            Ok(Kind::Node(property, property.embedded))
        } else {
            Err(None)
        };
    }
    match &schema.additional {
        Additional::Schema(schema) => Ok(Kind::Node(schema, schema.embedded)),
        _ => Err(None),
    }
}
