//! Estimates the maximum cost of a rule from its schema. The server refuses rules that cost too much.
//!
//! As cel-go's `checker.Cost` with the functions of Kubernetes estimates it, of which only the upper end
//! counts: the same units (an access is 1, a character 0.1), the same rules, and the same oddities, such as
//! numbers of size 0 and items of lists that a rule has made itself. What an expression is typed as
//! decides which of the rules holds; of what cannot be typed the dearest does.

mod function;
mod seen;

use std::sync::LazyLock;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators,
};

use self::function::{function, joined};
use self::seen::{Place, Seen, Size, Type, compared, count, known, present, sum, union};
use super::bounds::{Bounds, Kind};

/// Making a list, a map, a message.
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

/// Keys of maps, of whose length nothing is counted.
static KEY: LazyLock<Bounds> = LazyLock::new(Bounds::key);

/// The greatest cost of an expression over values of these bounds; `optional_old`: whether `oldSelf` is an
/// optional.
pub(super) fn most(expression: &IdedExpr, bounds: &Bounds, optional_old: bool) -> u64 {
    let mut estimate = Estimate {
        root: bounds,
        optional_old,
        variables: Vec::new(),
    };
    estimate.visit(expression).cost
}

struct Estimate<'a> {
    root: &'a Bounds,
    optional_old: bool,
    variables: Vec<(&'a str, Seen<'a>)>,
}

impl<'a> Estimate<'a> {
    fn visit(&mut self, expression: &'a IdedExpr) -> Seen<'a> {
        match &expression.expr {
            Expr::Literal(literal) => Self::literal(literal),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(inner) => self.comprehension(inner),
            Expr::List(list) => {
                let items: Vec<_> = list.elements.iter().map(|item| self.visit(item)).collect();
                let cost = sum(&items).saturating_add(LIST);
                let first = items.first().map_or(Type::of(Kind::Dyn), |item| item.of);
                let same = items.iter().all(|item| item.of.kind == first.kind);
                let of = if same { first } else { Type::of(Kind::Dyn) };
                let of = Type::holding(Kind::List, of);
                let sizes = items.iter().map(Seen::size).reduce(Size::or);
                Seen {
                    entry: Some(sizes.unwrap_or(Size::exactly(0))),
                    ..Seen::result(cost, of).sized(Size::exactly(count(items.len())))
                }
            }
            Expr::Map(map) => {
                let entries = map.entries.iter().map(|entry| &entry.expr);
                let (cost, sizes) = self.entries(entries);
                Seen {
                    entry: Some(sizes.unwrap_or(Size::exactly(0))),
                    ..Seen::result(cost.saturating_add(MAP), Type::of(Kind::Map))
                        .sized(Size::exactly(count(map.entries.len())))
                }
            }
            Expr::Struct(message) => {
                let entries = message.entries.iter().map(|entry| &entry.expr);
                let (cost, _) = self.entries(entries);
                Seen::result(cost.saturating_add(MESSAGE), Type::of(Kind::Dyn))
            }
            Expr::Unspecified => Seen::result(0, Type::of(Kind::Dyn)),
        }
    }

    fn literal(literal: &LiteralValue) -> Seen<'a> {
        let (kind, size) = match literal {
            LiteralValue::String(text) => (Kind::String, text.inner().chars().count()),
            LiteralValue::Bytes(bytes) => (Kind::Bytes, bytes.inner().len()),
            LiteralValue::Boolean(_) => (Kind::Bool, 1),
            LiteralValue::Null => (Kind::Dyn, 1),
            LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => {
                (Kind::Number, 1)
            }
        };
        Seen::result(0, Type::of(kind)).sized(Size::exactly(count(size)))
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

    fn name(&self, name: &str) -> Seen<'a> {
        let known = self
            .variables
            .iter()
            .rev()
            .find(|(known, _)| *known == name);
        if let Some((_, value)) = known {
            return Seen { cost: 1, ..*value };
        }
        let of = match name {
            "oldSelf" if self.optional_old => Type::holding(Kind::Optional, Type::at(self.root)),
            "self" | "oldSelf" => Type::at(self.root),
            // The name of a type.
            _ => Type::of(Kind::Opaque),
        };
        Seen::placed(1, of, Place::At(self.root))
    }

    /// Returns the value below a value. A path without a start is resolved at the root.
    fn below(
        &self,
        place: Place<'a>,
        step: impl Fn(&'a Bounds) -> Option<&'a Bounds>,
    ) -> Place<'a> {
        match place {
            Place::None => Place::At(self.root),
            Place::Unknown => Place::Unknown,
            Place::At(bounds) => step(bounds).map_or(Place::Unknown, Place::At),
        }
    }

    fn select(&mut self, select: &'a SelectExpr) -> Seen<'a> {
        let operand = self.visit(&select.operand);
        if select.test {
            return Seen::result(operand.cost, Type::of(Kind::Bool));
        }
        let is_charged = matches!(operand.of.kind, Kind::Map | Kind::Object);
        let cost = operand.cost.saturating_add(u64::from(is_charged));
        let place = self.below(operand.place, |bounds| bounds.fields.get(&select.field));
        Seen::placed(cost, operand.of.field(&select.field), place)
    }

    fn comprehension(&mut self, inner: &'a ComprehensionExpr) -> Seen<'a> {
        let range = self.visit(&inner.iter_range);
        let start = self.visit(&inner.accu_init);
        let depth = self.variables.len();
        self.variables.push((&inner.accu_var, start));
        let is_list = !matches!(range.of.kind, Kind::Map | Kind::Object);
        let item = if is_list {
            let place = self.below(range.place, |bounds| bounds.element.as_deref());
            let item = Seen::placed(0, range.of.element(), place);
            Seen {
                size: item.size.or(range.entry),
                ..item
            }
        } else {
            let of_map = |bounds: &Bounds| (bounds.kind == Kind::Map).then_some(&*KEY);
            let place = self.below(range.place, of_map);
            Seen::placed(0, Type::of(Kind::String), place)
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
        let made = Seen::result(cost, if makes_list { step.of } else { result.of });
        Seen {
            size: if makes_list { Some(times) } else { start.size },
            entry: step.entry.filter(|_| makes_list),
            ..made
        }
    }

    fn call(&mut self, call: &'a CallExpr) -> Seen<'a> {
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

    fn operator(&self, call: &CallExpr, arguments: &[Seen<'a>]) -> Option<Seen<'a>> {
        let name = call.func_name.as_str();
        let cost = |own: u64| sum(arguments).saturating_add(own);
        let bool = |own: u64| Seen::result(cost(own), Type::of(Kind::Bool));
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
                let of = if same { one.of } else { Type::of(Kind::Dyn) };
                Seen {
                    entry: union(one.entry, other.entry),
                    ..Seen::result(condition.cost.saturating_add(arm), of)
                }
                .sized(one.size().or(other.size()))
            }
            (operators::ADD, [one, other]) => {
                let (own, made) = joined(one, other);
                Seen {
                    cost: cost(own),
                    ..made
                }
            }
            ("dyn", [value]) => Seen {
                cost: cost(1),
                of: Type::of(Kind::Dyn),
                place: Place::None,
                ..*value
            },
            (_, [one, other]) if name.starts_with('_') => {
                Seen::result(cost(1), Type::of(known(one, other)))
            }
            _ => return None,
        })
    }

    /// Returns the result of an index, or of an optional selection.
    fn access(&self, call: &CallExpr, arguments: &[Seen<'a>]) -> Option<Seen<'a>> {
        let cost = sum(arguments).saturating_add(1);
        let [within, _] = arguments else {
            return None;
        };
        Some(match call.func_name.as_str() {
            operators::INDEX => {
                let place = self.below(within.place, |bounds| bounds.element.as_deref());
                let found = Seen::placed(cost, within.of.element(), place);
                Seen {
                    size: within.entry.or(found.size),
                    ..found
                }
            }
            operators::OPT_INDEX => {
                let element = present(within).element();
                Seen::result(cost, Type::holding(Kind::Optional, element))
            }
            operators::OPT_SELECT => {
                let field = match &call.args[1].expr {
                    Expr::Literal(LiteralValue::String(name)) => name.inner(),
                    _ => "",
                };
                let field = present(within).field(field);
                Seen::result(cost, Type::holding(Kind::Optional, field))
            }
            _ => return None,
        })
    }
}

/// Returns the cost of comparing two values, or of searching one in the other.
fn comparison(name: &str, one: &Seen<'_>, other: &Seen<'_>) -> Option<u64> {
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
        let bounds = Bounds::of(&schema, false).unwrap();
        let parser = Parser::new().enable_optional_syntax(true);
        most(&parser.parse(rule).unwrap(), &bounds, false)
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
        // Without a bound it is as long as a request can be.
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
