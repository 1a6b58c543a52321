//! Reads constant parts of expressions.

use rhai::{Expr, FnPtr, Ident, Stmt};

use crate::model::Gvk;

/// Returns the name of a closure, and the number of variables that it captures.
pub(super) fn closure_of(argument: &Expr) -> Option<(String, usize)> {
    match argument {
        Expr::DynamicConstant(value, _) => {
            let pointer = value.read_lock::<FnPtr>()?;
            Some((pointer.fn_name().to_owned(), 0))
        }
        Expr::FnCall(call, _) if call.name == "curry" => {
            let (name, _) = closure_of(call.args.first()?)?;
            Some((name, call.args.len() - 1))
        }
        Expr::FnCall(call, _) if call.name == "Fn" => match call.args.first()? {
            Expr::StringConstant(name, _) => Some((name.to_string(), 0)),
            _ => None,
        },
        Expr::Stmt(block) => match block.statements().last()? {
            Stmt::Expr(expression) => closure_of(expression),
            Stmt::FnCall(call, _) if call.name == "curry" => {
                let (name, _) = closure_of(call.args.first()?)?;
                Some((name, call.args.len() - 1))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the variable that a chain of properties begins with.
pub(super) fn root(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Dot(chain, ..) | Expr::Index(chain, ..) => root(&chain.lhs),
        Expr::Variable(variable, ..) => Some(&variable.1),
        Expr::ThisPtr(_) => Some("this"),
        _ => None,
    }
}

pub(super) fn first_key(rest: &Expr) -> Option<&str> {
    match rest {
        Expr::Property(property, _) => Some(&property.2),
        Expr::StringConstant(text, _) => Some(text),
        Expr::Dot(chain, ..) | Expr::Index(chain, ..) => first_key(&chain.lhs),
        _ => None,
    }
}

pub(super) fn map_entries(expression: &Expr) -> Option<&[(Ident, Expr)]> {
    match expression {
        Expr::Map(map, _) => Some(&map.0),
        _ => None,
    }
}

/// Returns the kind of `apiVersion` and `kind`, if both are constant.
pub(super) fn type_of(version: &Expr, kind: &Expr) -> Option<Gvk> {
    match (version, kind) {
        (Expr::StringConstant(version, _), Expr::StringConstant(kind, _)) => {
            Some(Gvk::from_api_version(version, kind))
        }
        _ => None,
    }
}

/// Returns whether an expression is `meta.namespace`.
pub(super) fn is_own_namespace(expression: &Expr) -> bool {
    match expression {
        Expr::Dot(chain, ..) => {
            root(&chain.lhs) == Some("meta") && first_key(&chain.rhs) == Some("namespace")
        }
        _ => false,
    }
}

/// Returns the value of a literal without computed parts.
pub(super) fn literal(expression: &Expr) -> Option<serde_json::Value> {
    match expression {
        Expr::StringConstant(text, _) => Some(text.as_str().into()),
        Expr::DynamicConstant(value, _) => rhai::serde::from_dynamic(value).ok(),
        Expr::Array(items, _) => items.iter().map(literal).collect(),
        Expr::Map(map, _) => {
            let entries = map.0.iter();
            let entries =
                entries.map(|(key, value)| Some((key.as_str().to_owned(), literal(value)?)));
            entries
                .collect::<Option<_>>()
                .map(serde_json::Value::Object)
        }
        _ => None,
    }
}
