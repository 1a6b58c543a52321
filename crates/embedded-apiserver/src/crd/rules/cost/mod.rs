//! Estimates the maximum cost of a rule from its schema. The server refuses rules that cost too much.
//!
//! Follows `checker.Cost` of cel-go with the functions of Kubernetes. Only the upper limit matters. The units
//! are the same (an access is 1, a character 0.1), and so are the rules and their oddities, such as the size
//! 0 of numbers and of the items of lists that a rule creates. The type of an expression determines which
//! rule applies. For an expression of unknown type, the most expensive rule applies.

mod estimate;
mod function;

use std::sync::LazyLock;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators,
};

use self::estimate::{Estimate, Position, Size, Type, compared, count, known, present, sum, union};
use self::function::{function, joined};
use super::bounds::{Bounds, Kind};

/// The costs of creating a list, a map and a message.
const LIST: u64 = 10;
const MAP: u64 = 30;
const MESSAGE: u64 = 40;

/// Prefixes of functions that look like the targets of calls.
const PREFIXES: [&str; 12] = [
    "base64",
    "format",
    "google",
    "ip",
    "jsonpatch",
    "lists",
    "math",
    "optional",
    "regex",
    "sets",
    "strings",
    "cidr",
];

/// The bounds of map keys, whose length is not counted.
static KEY: LazyLock<Bounds> = LazyLock::new(Bounds::key);

/// Returns the maximum cost of an expression over values with these bounds. `optional_old` is true if
/// `oldSelf` is an optional.
pub(super) fn max_cost(expression: &IdedExpr, bounds: &Bounds, optional_old: bool) -> u64 {
    let mut estimator = Estimator {
        root: bounds,
        optional_old,
        variables: Vec::new(),
    };
    estimator.visit(expression).cost
}

struct Estimator<'a> {
    root: &'a Bounds,
    optional_old: bool,
    variables: Vec<(&'a str, Estimate<'a>)>,
}

impl<'a> Estimator<'a> {
    fn visit(&mut self, expression: &'a IdedExpr) -> Estimate<'a> {
        match &expression.expr {
            Expr::Literal(literal) => Self::literal(literal),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(inner) => self.comprehension(inner),
            Expr::List(list) => {
                let items: Vec<_> = list.elements.iter().map(|item| self.visit(item)).collect();
                let cost = sum(&items).saturating_add(LIST);
                let first = items
                    .first()
                    .map_or(Type::from_kind(Kind::Dyn), |item| item.of);
                let same = items.iter().all(|item| item.of.kind == first.kind);
                let of = if same {
                    first
                } else {
                    Type::from_kind(Kind::Dyn)
                };
                let of = Type::holding(Kind::List, of);
                let sizes = items.iter().map(Estimate::size).reduce(Size::or);
                Estimate {
                    entry: Some(sizes.unwrap_or(Size::exactly(0))),
                    ..Estimate::result(cost, of).sized(Size::exactly(count(items.len())))
                }
            }
            Expr::Map(map) => {
                let entries = map.entries.iter().map(|entry| &entry.expr);
                let (cost, sizes) = self.entries(entries);
                Estimate {
                    entry: Some(sizes.unwrap_or(Size::exactly(0))),
                    ..Estimate::result(cost.saturating_add(MAP), Type::from_kind(Kind::Map))
                        .sized(Size::exactly(count(map.entries.len())))
                }
            }
            Expr::Struct(message) => {
                let entries = message.entries.iter().map(|entry| &entry.expr);
                let (cost, _) = self.entries(entries);
                Estimate::result(cost.saturating_add(MESSAGE), Type::from_kind(Kind::Dyn))
            }
            Expr::Unspecified => Estimate::result(0, Type::from_kind(Kind::Dyn)),
        }
    }

    fn literal(literal: &LiteralValue) -> Estimate<'a> {
        let (kind, size) = match literal {
            LiteralValue::String(text) => (Kind::String, text.inner().chars().count()),
            LiteralValue::Bytes(bytes) => (Kind::Bytes, bytes.inner().len()),
            LiteralValue::Boolean(_) => (Kind::Bool, 1),
            LiteralValue::Null => (Kind::Dyn, 1),
            LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => {
                (Kind::Number, 1)
            }
        };
        Estimate::result(0, Type::from_kind(kind)).sized(Size::exactly(count(size)))
    }

    fn entries(&mut self, entries: impl Iterator<Item = &'a EntryExpr>) -> (u64, Option<Size>) {
        let (mut cost, mut sizes) = (0_u64, None::<Size>);
        for entry in entries {
            let value = match entry {
                EntryExpr::MapEntry(entry) => {
                    cost = cost.saturating_add(self.visit(&entry.key).cost);
                    &entry.value
                }
                EntryExpr::StructField(field) => &field.value,
            };
            let value = self.visit(value);
            cost = cost.saturating_add(value.cost);
            let size = value.size();
            sizes = Some(sizes.map_or(size, |sizes| sizes.or(size)));
        }
        (cost, sizes)
    }

    fn name(&self, name: &str) -> Estimate<'a> {
        let known = self
            .variables
            .iter()
            .rev()
            .find(|(known, _)| *known == name);
        if let Some((_, value)) = known {
            return Estimate { cost: 1, ..*value };
        }
        let of = match name {
            "oldSelf" if self.optional_old => Type::holding(Kind::Optional, Type::at(self.root)),
            "self" | "oldSelf" => Type::at(self.root),
            // All other names are types.
            _ => Type::from_kind(Kind::Opaque),
        };
        Estimate::placed(1, of, Position::At(self.root))
    }

    /// Returns the position of a value below another one. A value without a position is resolved at the root.
    fn below(
        &self,
        place: Position<'a>,
        step: impl Fn(&'a Bounds) -> Option<&'a Bounds>,
    ) -> Position<'a> {
        match place {
            Position::None => Position::At(self.root),
            Position::Unknown => Position::Unknown,
            Position::At(bounds) => step(bounds).map_or(Position::Unknown, Position::At),
        }
    }

    fn select(&mut self, select: &'a SelectExpr) -> Estimate<'a> {
        let operand = self.visit(&select.operand);
        if select.test {
            return Estimate::result(operand.cost, Type::from_kind(Kind::Bool));
        }
        let is_charged = matches!(operand.of.kind, Kind::Map | Kind::Object);
        let cost = operand.cost.saturating_add(u64::from(is_charged));
        let place = self.below(operand.place, |bounds| bounds.fields.get(&select.field));
        Estimate::placed(cost, operand.of.field(&select.field), place)
    }

    fn comprehension(&mut self, inner: &'a ComprehensionExpr) -> Estimate<'a> {
        let range = self.visit(&inner.iter_range);
        let start = self.visit(&inner.accu_init);
        let depth = self.variables.len();
        self.variables.push((&inner.accu_var, start));
        let is_list = !matches!(range.of.kind, Kind::Map | Kind::Object);
        let item = if is_list {
            let place = self.below(range.place, |bounds| bounds.element.as_deref());
            let item = Estimate::placed(0, range.of.element(), place);
            Estimate {
                size: item.size.or(range.entry),
                ..item
            }
        } else {
            let of_map = |bounds: &Bounds| (bounds.kind == Kind::Map).then_some(&*KEY);
            let place = self.below(range.place, of_map);
            Estimate::placed(0, Type::from_kind(Kind::String), place)
        };
        self.variables.push((&inner.iter_var, item));
        if let Some(second) = &inner.iter_var2 {
            self.variables.push((second, item));
        }
        let (again, step) = (self.visit(&inner.loop_cond), self.visit(&inner.loop_step));
        self.variables.truncate(depth + 1);
        let result = self.visit(&inner.result);
        self.variables.truncate(depth);
        let times = range.size();
        let steps = times
            .most
            .saturating_mul(step.cost.saturating_add(again.cost));
        let cost = sum(&[range, start, result]).saturating_add(steps);
        let makes_list = matches!(inner.accu_init.expr, Expr::List(_) | Expr::Map(_));
        let made = Estimate::result(cost, if makes_list { step.of } else { result.of });
        Estimate {
            size: if makes_list { Some(times) } else { start.size },
            entry: step.entry.filter(|_| makes_list),
            ..made
        }
    }

    fn call(&mut self, call: &'a CallExpr) -> Estimate<'a> {
        let arguments: Vec<_> = call
            .args
            .iter()
            .map(|argument| self.visit(argument))
            .collect();
        let is_prefix = |target: &IdedExpr| {
            let Expr::Ident(name) = &target.expr else {
                return false;
            };
            PREFIXES.contains(&name.as_str())
                && !self.variables.iter().any(|(known, _)| known == name)
        };
        let target = call.target.as_deref().filter(|target| !is_prefix(target));
        let target = target.map(|target| self.visit(target));
        if let Some(seen) = self.operator(call, &arguments) {
            return seen;
        }
        let (own, mut seen) = function(call, target.as_ref(), &arguments);
        seen.cost = sum(&arguments)
            .saturating_add(target.map_or(0, |target| target.cost))
            .saturating_add(own);
        seen
    }

    fn operator(&self, call: &CallExpr, arguments: &[Estimate<'a>]) -> Option<Estimate<'a>> {
        let name = call.func_name.as_str();
        let cost = |own: u64| sum(arguments).saturating_add(own);
        let bool = |own: u64| Estimate::result(cost(own), Type::from_kind(Kind::Bool));
        if let [one, other] = arguments
            && let Some(own) = comparison(name, one, other)
        {
            return Some(bool(own));
        }
        if let Some(found) = self.access(call, arguments) {
            return Some(found);
        }
        Some(match (name, arguments) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [_, _]) => bool(0),
            (operators::LOGICAL_NOT | operators::NOT_STRICTLY_FALSE, [_]) => bool(1),
            (operators::CONDITIONAL, [condition, one, other]) => {
                let arm = one.cost.max(other.cost);
                let same = one.of.kind == other.of.kind;
                let of = if same {
                    one.of
                } else {
                    Type::from_kind(Kind::Dyn)
                };
                Estimate {
                    entry: union(one.entry, other.entry),
                    ..Estimate::result(condition.cost.saturating_add(arm), of)
                }
                .sized(one.size().or(other.size()))
            }
            (operators::ADD, [one, other]) => {
                let (own, made) = joined(one, other);
                Estimate {
                    cost: cost(own),
                    ..made
                }
            }
            ("dyn", [value]) => Estimate {
                cost: cost(1),
                of: Type::from_kind(Kind::Dyn),
                place: Position::None,
                ..*value
            },
            (_, [one, other]) if name.starts_with('_') => {
                Estimate::result(cost(1), Type::from_kind(known(one, other)))
            }
            _ => return None,
        })
    }

    /// Returns the result of an index, or of an optional selection.
    fn access(&self, call: &CallExpr, arguments: &[Estimate<'a>]) -> Option<Estimate<'a>> {
        let cost = sum(arguments).saturating_add(1);
        let [within, _] = arguments else {
            return None;
        };
        Some(match call.func_name.as_str() {
            operators::INDEX => {
                let place = self.below(within.place, |bounds| bounds.element.as_deref());
                let found = Estimate::placed(cost, within.of.element(), place);
                Estimate {
                    size: within.entry.or(found.size),
                    ..found
                }
            }
            operators::OPT_INDEX => {
                let element = present(within).element();
                Estimate::result(cost, Type::holding(Kind::Optional, element))
            }
            operators::OPT_SELECT => {
                let field = match &call.args[1].expr {
                    Expr::Literal(LiteralValue::String(name)) => name.inner(),
                    _ => "",
                };
                let field = present(within).field(field);
                Estimate::result(cost, Type::holding(Kind::Optional, field))
            }
            _ => return None,
        })
    }
}

/// Returns the cost of comparing two values, or of searching one in the other.
fn comparison(name: &str, one: &Estimate<'_>, other: &Estimate<'_>) -> Option<u64> {
    Some(match name {
        operators::EQUALS | operators::NOT_EQUALS => {
            let at_once = one.of.kind == Kind::Opaque && other.of.kind == Kind::Opaque;
            if at_once { 1 } else { compared(one, other) }
        }
        operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS => match known(one, other) {
            Kind::String | Kind::Bytes => compared(one, other),
            Kind::Dyn => compared(one, other).max(1),
            _ => 1,
        },
        operators::IN => match other.of.kind {
            Kind::Map | Kind::Object => 1,
            Kind::List => other.size().most,
            _ => other.size().most.max(1),
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use kube_cel::cel::parser::Parser;
    use serde_json::json;

    use super::*;
    use crate::crd::structural::Structural;

    fn cost(rule: &str) -> u64 {
        let text = json!({"type": "string", "maxLength": 10});
        let schema = Structural::read(&json!({"type": "object", "properties": {
            "a": {"type": "integer"}, "b": {"type": "boolean"},
            "s": {"type": "string"}, "s10": text,
            "l": {"type": "array", "items": {"type": "string"}},
            "l5": {"type": "array", "maxItems": 5, "items": text},
            "m": {"type": "object", "maxProperties": 4, "additionalProperties": text},
        }}));
        let bounds = Bounds::estimate(&schema, false).unwrap();
        let parser = Parser::new().enable_optional_syntax(true);
        max_cost(&parser.parse(rule).unwrap(), &bounds, false)
    }

    #[test]
    fn a_rule_costs_what_the_real_server_says() {
        let known = [
            ("self.a == 3", 2),
            ("self.a > 3 && self.b", 5),
            ("self.s10 == self.s", 8),
            ("has(self.s) && self.s.startsWith(\"abc\")", 4),
            ("self.s10.contains(\"xyz\")", 6),
            ("self.s10.matches(\"^[a-z]+$\")", 12),
            ("self.s10 in [\"a\", \"b\", \"c\"]", 15),
        ];
        for (rule, expected) in known {
            assert_eq!(cost(rule), expected, "{rule}");
        }
    }

    #[test]
    fn a_loop_costs_as_often_as_its_list_is_long() {
        let [one, two] = [
            "self.l5.all(x, x == \"a\")",
            "self.l5.all(x, self.l5.exists(y, y == x))",
        ]
        .map(cost);
        assert!(two > 5 * one, "{one} {two}");
        // A list without a bound can be as long as a request.
        let unbounded = cost("self.l.all(x, x == \"a\")");
        assert!(unbounded > 1_000_000, "{unbounded}");
        assert_eq!(cost("self.?l5.orValue([]).all(x, x == \"a\")"), u64::MAX);
    }

    #[test]
    fn a_made_list_is_as_long_as_what_it_is_made_of() {
        let once = cost("self.l5.map(x, x + \"b\").all(y, y != \"\")");
        let twice = cost("(self.l5 + self.l5).map(x, x + \"b\").all(y, y != \"\")");
        assert!(twice > once && twice < 3 * once, "{once} {twice}");
        assert!(cost("self.m.all(k, self.m[k] == k)") < 100);
    }
}
