//! Charges each step of a loop to the budget ([`super::budget`]).
//!
//! The interpreter does not count its steps. So the condition of each loop gets a call that does.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators,
};
use kube_cel::cel::common::types::{CelBool, CelInt};
use kube_cel::cel::{Context, ExecutionError};

use super::budget;

/// The function that charges a step. No expression of a rule can have this name.
const STEP: &str = "@step";

/// The costs of creating a list and a map.
const LIST: u64 = 10;
const MAP: u64 = 30;

/// Registers the function that charges a step.
pub(super) fn register(mut context: Context<'static>) -> Context<'static> {
    context.add_function(STEP, |cost: i64| -> Result<bool, ExecutionError> {
        budget::charge(u64::try_from(cost).unwrap_or_default()).map(|()| true)
    });
    context
}

/// Returns an expression whose loops charge each step.
pub(super) fn charged(expression: &IdedExpr) -> IdedExpr {
    let mut expression = expression.clone();
    charge_loops(&mut expression);
    expression
}

fn charge_loops(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|it| charge_loops(it));
            call.args.iter_mut().for_each(charge_loops);
        }
        Expr::Select(select) => charge_loops(&mut select.operand),
        Expr::List(list) => list.elements.iter_mut().for_each(charge_loops),
        Expr::Map(map) => map
            .entries
            .iter_mut()
            .for_each(|it| charge_entry(&mut it.expr)),
        Expr::Struct(it) => it
            .entries
            .iter_mut()
            .for_each(|it| charge_entry(&mut it.expr)),
        Expr::Comprehension(inner) => charge_loop(inner),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn charge_entry(entry: &mut EntryExpr) {
    match entry {
        EntryExpr::StructField(field) => charge_loops(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            charge_loops(&mut entry.key);
            charge_loops(&mut entry.value);
        }
    }
}

fn charge_loop(inner: &mut ComprehensionExpr) {
    let cost = least(&inner.loop_cond)
        .saturating_add(least_step(inner))
        .max(1);
    for part in [
        &mut inner.iter_range,
        &mut inner.accu_init,
        &mut inner.loop_cond,
        &mut inner.loop_step,
        &mut inner.result,
    ] {
        charge_loops(part);
    }
    let cost = CelInt::from(i64::try_from(cost).unwrap_or(i64::MAX));
    let step = call(STEP, vec![literal(LiteralValue::Int(cost))]);
    let condition = std::mem::take(&mut inner.loop_cond);
    let never = literal(LiteralValue::Boolean(CelBool::from(false)));
    inner.loop_cond = call(operators::CONDITIONAL, vec![step, condition, never]);
}

/// Returns the least that a step costs. `all` and `exists` evaluate both operands of their step, because the
/// loop has ended if the first one decides it.
fn least_step(inner: &ComprehensionExpr) -> u64 {
    match &inner.loop_step.expr {
        Expr::Call(call)
            if matches!(
                call.func_name.as_str(),
                operators::LOGICAL_AND | operators::LOGICAL_OR
            ) =>
        {
            call.args.iter().map(least).fold(0, u64::saturating_add)
        }
        _ => least(&inner.loop_step),
    }
}

fn call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    let call = CallExpr {
        func_name: name.to_owned(),
        target: None,
        args,
    };
    IdedExpr {
        id: 0,
        expr: Expr::Call(call),
    }
}

fn literal(value: LiteralValue) -> IdedExpr {
    IdedExpr {
        id: 0,
        expr: Expr::Literal(value),
    }
}

/// Returns the least that an expression costs on the real server, without the steps of inner loops. An
/// operator is free, because it costs nothing there for empty texts.
fn least(expression: &IdedExpr) -> u64 {
    let sum = |parts: &[IdedExpr]| parts.iter().map(least).fold(0, u64::saturating_add);
    match &expression.expr {
        Expr::Ident(_) => 1,
        Expr::Select(select) => least(&select.operand) + u64::from(!select.test),
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [first, _]) => least(first),
            (operators::CONDITIONAL, [condition, one, other]) => {
                least(condition).saturating_add(least(one).min(least(other)))
            }
            (_, arguments) => {
                let target = call.target.as_deref();
                // The target of `math.greatest` is no value.
                let target = target.filter(|it| !matches!(it.expr, Expr::Ident(_)));
                sum(arguments).saturating_add(target.map_or(0, least))
            }
        },
        Expr::List(list) => sum(&list.elements).saturating_add(LIST),
        Expr::Map(_) => MAP,
        Expr::Comprehension(inner) => [&inner.iter_range, &inner.accu_init, &inner.result]
            .into_iter()
            .map(least)
            .fold(0, u64::saturating_add),
        Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => 0,
    }
}
