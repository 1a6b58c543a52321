//! Replaces object literals such as `Object{spec: Object.spec{replicas: 3}}` by maps.
//!
//! The type names of admission policies only tell the type checker which field is meant. The evaluator has no
//! objects, so it evaluates a map with the same keys.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, MapEntryExpr, MapExpr,
};

/// Replaces all object literals of an expression.
pub(super) fn replace(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(CallExpr { target, args, .. }) => {
            if let Some(target) = target {
                replace(target);
            }
            args.iter_mut().for_each(replace);
        }
        Expr::Comprehension(inner) => replace_in_comprehension(inner),
        Expr::List(list) => list.elements.iter_mut().for_each(replace),
        Expr::Map(map) => map
            .entries
            .iter_mut()
            .for_each(|it| replace_in_entry(&mut it.expr)),
        Expr::Select(select) => replace(&mut select.operand),
        Expr::Struct(literal) => {
            let mut entries = std::mem::take(&mut literal.entries);
            for entry in &mut entries {
                replace_in_entry(&mut entry.expr);
            }
            expression.expr = Expr::Map(MapExpr { entries });
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn replace_in_comprehension(inner: &mut ComprehensionExpr) {
    for part in [
        &mut inner.iter_range,
        &mut inner.accu_init,
        &mut inner.loop_cond,
        &mut inner.loop_step,
        &mut inner.result,
    ] {
        replace(part);
    }
}

fn replace_in_entry(entry: &mut EntryExpr) {
    match entry {
        EntryExpr::MapEntry(entry) => {
            replace(&mut entry.key);
            replace(&mut entry.value);
        }
        EntryExpr::StructField(field) => {
            replace(&mut field.value);
            let key = Expr::Literal(LiteralValue::String(field.field.as_str().into()));
            *entry = EntryExpr::MapEntry(MapEntryExpr {
                key: IdedExpr {
                    id: field.value.id,
                    expr: key,
                },
                value: std::mem::take(&mut field.value),
                optional: field.optional,
            });
        }
    }
}
