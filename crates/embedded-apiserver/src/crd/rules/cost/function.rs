//! Estimates the cost and the result of functions.

use kube_cel::cel::common::ast::{CallExpr, Expr, LiteralValue, operators};

use super::estimate::{
    CHARACTER, Estimate, Position, Size, Type, by_factor, known, present, traversed, union,
};
use crate::crd::rules::bounds::Kind;

/// The cost of a character of a regular expression per cost unit of the text.
const PATTERN: f64 = 0.25;

/// Estimates a sum, or the concatenation of two texts or lists.
pub(super) fn joined<'a>(one: &Estimate<'a>, other: &Estimate<'a>) -> (u64, Estimate<'a>) {
    let kind = known(one, other);
    let size = one.size().plus(other.size());
    let own = match kind {
        Kind::String | Kind::Bytes => by_factor(size.most, CHARACTER),
        Kind::Dyn => by_factor(size.most, CHARACTER).max(1),
        _ => 1,
    };
    let is_typed = |value: &Estimate<'_>| {
        value.of.bounds.is_some() || value.of.items != Kind::Dyn || value.of.kind != Kind::List
    };
    let typed = if one.of.kind == kind && is_typed(one) {
        one
    } else {
        other
    };
    let made = Estimate {
        entry: union(one.entry, other.entry),
        ..Estimate::result(0, typed.of)
    };
    let is_long = matches!(kind, Kind::String | Kind::Bytes | Kind::Dyn | Kind::List);
    (own, if is_long { made.sized(size) } else { made })
}

/// Returns the cost of a match of a regular expression with a text.
fn matched(text: &Estimate<'_>, pattern: &Estimate<'_>) -> u64 {
    let text = by_factor(text.size().most.saturating_add(1), CHARACTER);
    text.saturating_mul(by_factor(pattern.size().most, PATTERN))
}

/// Returns the cost of a function without its target and arguments, and its result.
pub(super) fn function<'a>(
    call: &CallExpr,
    target: Option<&Estimate<'a>>,
    arguments: &[Estimate<'a>],
) -> (u64, Estimate<'a>) {
    let name = call.func_name.as_str();
    let known = target.and_then(|target| {
        of_target(name, target, arguments).or_else(|| taken_apart(call, target, arguments))
    });
    known
        .or_else(|| read(name, arguments))
        .unwrap_or_else(|| (1, result(kind_of(name))))
}

fn result<'a>(kind: Kind) -> Estimate<'a> {
    Estimate::result(0, Type::from_kind(kind))
}

/// Estimates functions that read their target.
fn of_target<'a>(
    name: &str,
    target: &Estimate<'a>,
    arguments: &[Estimate<'a>],
) -> Option<(u64, Estimate<'a>)> {
    Some(match (name, arguments) {
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", _) => {
            searched(name, target)
        }
        ("lowerAscii" | "upperAscii" | "substring" | "trim", _) => {
            let text = result(Kind::String).sized(target.size());
            (traversed(target), text)
        }
        ("matches", [pattern]) => (matched(target, pattern), result(Kind::Bool)),
        ("contains", [part]) => {
            let own = traversed(target).saturating_mul(traversed(part));
            (own, result(Kind::Bool))
        }
        ("startsWith" | "endsWith", [part]) => (traversed(part), result(Kind::Bool)),
        ("containsIP", [address]) => (4 + parsed(address), result(Kind::Bool)),
        ("containsCIDR", [range]) => (7 + parsed(range), result(Kind::Bool)),
        ("format", _) => (traversed(target), result(Kind::String)),
        ("orValue" | "value", _) => (1, Estimate::result(0, present(target))),
        _ => return None,
    })
}

/// Estimates functions that split, join, search or replace texts.
fn taken_apart<'a>(
    call: &CallExpr,
    target: &Estimate<'a>,
    arguments: &[Estimate<'a>],
) -> Option<(u64, Estimate<'a>)> {
    let texts = || Estimate::result(0, Type::holding(Kind::List, Type::from_kind(Kind::String)));
    let upto = |most: u64| Size { least: 0, most };
    let size = target.size();
    Some(match (call.func_name.as_str(), arguments) {
        ("replace", [from, to, ..]) => {
            let replaced = replaced(size, from.size(), to.size());
            let own = by_factor(size.most, 2.0 * CHARACTER);
            (own, result(Kind::String).sized(replaced))
        }
        ("split", _) => {
            let limit = call.args.get(1).and_then(|limit| match &limit.expr {
                Expr::Literal(LiteralValue::Int(limit)) => u64::try_from(*limit.inner()).ok(),
                _ => None,
            });
            let parts = upto(limit.unwrap_or(size.most));
            (by_factor(size.most, 2.0 * CHARACTER), texts().sized(parts))
        }
        ("join", _) => {
            let between = Size {
                least: size.least.saturating_sub(1),
                most: size.most.saturating_sub(1),
            };
            let text = size.times(element_size(target));
            let separators = arguments.first().map(|one| one.size().times(between));
            let text = separators.map_or(text, |separators| text.plus(separators));
            let own = by_factor(text.most, CHARACTER);
            (own, result(Kind::String).sized(text))
        }
        ("find", [pattern, ..]) => {
            let found = result(Kind::String).sized(upto(size.most));
            (matched(target, pattern), found)
        }
        ("findAll", [pattern, ..]) => (matched(target, pattern), texts().sized(upto(size.most))),
        _ => return None,
    })
}

/// Estimates functions that parse or convert a text.
fn read<'a>(name: &str, arguments: &[Estimate<'a>]) -> Option<(u64, Estimate<'a>)> {
    let [text, ..] = arguments else {
        return None;
    };
    let size = text.size();
    Some(match name {
        "url" => (traversed(text), result(Kind::Opaque).sized(size)),
        "escapeKey" => (traversed(text), result(Kind::String).sized(size)),
        "isIP" | "isCIDR" | "isQuantity" | "isSemver" => (traversed(text), result(Kind::Bool)),
        "ip" | "cidr" | "quantity" | "semver" => (traversed(text), result(Kind::Opaque)),
        "isCanonical" => {
            let own = by_factor(size.most, 2.0 * CHARACTER);
            (own, result(Kind::Bool))
        }
        "validate" => {
            // The longest regular expression of a format has 128 characters.
            let own = by_factor(traversed(text), 128.0 * PATTERN);
            let errors = Type::holding(Kind::List, Type::from_kind(Kind::String));
            (
                own,
                Estimate::result(0, Type::holding(Kind::Optional, errors)),
            )
        }
        "bytes" if text.of.kind != Kind::Bytes => {
            let most = size.most.saturating_mul(4);
            let bytes = result(Kind::Bytes).sized(Size { most, ..size });
            (traversed(text), bytes)
        }
        "string" if matches!(text.of.kind, Kind::Bytes | Kind::Dyn) => {
            let least = size.least / 4;
            let made = result(Kind::String).sized(Size { least, ..size });
            (traversed(text).max(1), made)
        }
        "of" | "ofNonZeroValue" => (
            1,
            Estimate::result(0, Type::holding(Kind::Optional, text.of)),
        ),
        _ => return None,
    })
}

/// Returns the type of the result of a function.
fn kind_of(name: &str) -> Kind {
    match name {
        "size"
        | "int"
        | "uint"
        | "double"
        | "compareTo"
        | "sign"
        | "asInteger"
        | "asApproximateFloat"
        | "prefixLength"
        | "family"
        | "major"
        | "minor"
        | "patch"
        | "getFullYear"
        | "getMonth"
        | "getDate"
        | "getDayOfMonth"
        | "getDayOfWeek"
        | "getDayOfYear"
        | "getHours"
        | "getMinutes"
        | "getSeconds"
        | "getMilliseconds"
        | operators::NEGATE => Kind::Number,
        "string" | "getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath"
        | "charAt" => Kind::String,
        "timestamp" | "duration" => Kind::Time,
        "bool"
        | "hasValue"
        | "isURL"
        | "isInteger"
        | "isLessThan"
        | "isGreaterThan"
        | "isUnspecified"
        | "isLoopback"
        | "isGlobalUnicast"
        | "isLinkLocalUnicast"
        | "isLinkLocalMulticast" => Kind::Bool,
        "add" | "sub" | "masked" | "type" => Kind::Opaque,
        "getQuery" => Kind::Map,
        _ => Kind::Dyn,
    }
}

/// Returns the size of the items of a list.
fn element_size(list: &Estimate<'_>) -> Size {
    match list.place {
        Position::At(bounds) => bounds
            .element
            .as_deref()
            .map_or(Size::UNKNOWN, |element| Size {
                least: 0,
                most: element.most,
            }),
        _ => Size::UNKNOWN,
    }
}

/// Estimates functions that read each item of a list, or a text.
fn searched<'a>(name: &str, target: &Estimate<'a>) -> (u64, Estimate<'a>) {
    let is_list = target.of.kind == Kind::List;
    let own = if is_list {
        let item = target.of.element().kind;
        let text = if matches!(item, Kind::String | Kind::Bytes) {
            by_factor(element_size(target).most, CHARACTER)
        } else {
            0
        };
        target.size().most.saturating_mul(text.saturating_add(1))
    } else {
        traversed(target)
    };
    let of = match name {
        "isSorted" => Type::from_kind(Kind::Bool),
        "indexOf" | "lastIndexOf" => Type::from_kind(Kind::Number),
        _ => target.of.element(),
    };
    (own, Estimate::result(0, of))
}

/// Returns the cost of parsing an address. An address that is already parsed costs nothing.
fn parsed(address: &Estimate<'_>) -> u64 {
    if address.of.kind == Kind::Opaque {
        0
    } else {
        traversed(address)
    }
}

/// Returns the maximum size of a text in which parts are replaced.
fn replaced(text: Size, from: Size, to: Size) -> Size {
    let parts = |length: u64, part: u64, changes: bool| match part {
        0 => (length.saturating_add(1), length),
        _ if changes => (length.div_ceil(part), 0),
        _ => (0, length),
    };
    let (most_parts, most_kept) = parts(text.most, from.least, to.most > from.least);
    let (least_parts, least_kept) = parts(text.least, from.most, from.most > to.least);
    Size {
        least: least_parts
            .saturating_mul(to.least)
            .saturating_add(least_kept),
        most: most_parts.saturating_mul(to.most).saturating_add(most_kept),
    }
}
