//! Compares texts with the patterns of a query.

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, FnArg, JpQuery, Segment, Selector, Test,
    TestFunction,
};

use crate::model::json_path;

/// Parses a query and replaces `match` and `search` by custom functions. The library's own functions
/// compile their pattern again for each value, without a limit.
pub(super) fn parse(text: &str) -> Result<JpQuery, json_path::Error> {
    let mut query = json_path::parse(text)?;
    query.segments.iter_mut().for_each(segment);
    Ok(query)
}

fn segment(segment: &mut Segment) {
    match segment {
        Segment::Descendant(of_each) => self::segment(of_each),
        Segment::Selector(selector) => self::selector(selector),
        Segment::Selectors(several) => several.iter_mut().for_each(selector),
    }
}

fn selector(selector: &mut Selector) {
    if let Selector::Filter(filter) = selector {
        self::filter(filter);
    }
}

fn filter(filter: &mut Filter) {
    match filter {
        Filter::Or(several) | Filter::And(several) => several.iter_mut().for_each(self::filter),
        Filter::Atom(FilterAtom::Filter { expr, .. }) => self::filter(expr),
        Filter::Atom(FilterAtom::Test { expr, .. }) => test(expr),
        Filter::Atom(FilterAtom::Comparison(comparison)) => {
            let (Comparison::Eq(left, right)
            | Comparison::Ne(left, right)
            | Comparison::Gt(left, right)
            | Comparison::Gte(left, right)
            | Comparison::Lt(left, right)
            | Comparison::Lte(left, right)) = &mut **comparison;
            for side in [left, right] {
                if let Comparable::Function(function) = side {
                    self::function(function);
                }
            }
        }
    }
}

fn test(test: &mut Test) {
    match test {
        Test::RelQuery(segments) => segments.iter_mut().for_each(segment),
        Test::AbsQuery(query) => query.segments.iter_mut().for_each(segment),
        Test::Function(function) => self::function(function),
    }
}

fn function(function: &mut TestFunction) {
    let (name, mut arguments) = match function {
        TestFunction::Length(of) => return argument(of),
        TestFunction::Value(of) | TestFunction::Count(of) => return argument(of),
        TestFunction::Custom(_, arguments) => return arguments.iter_mut().for_each(argument),
        TestFunction::Match(text, pattern) => ("match", vec![text.clone(), pattern.clone()]),
        TestFunction::Search(text, pattern) => ("search", vec![text.clone(), pattern.clone()]),
    };
    arguments.iter_mut().for_each(argument);
    *function = TestFunction::Custom(name.to_owned(), arguments);
}

fn argument(argument: &mut FnArg) {
    match argument {
        FnArg::Literal(_) => {}
        FnArg::Test(test) => self::test(test),
        FnArg::Filter(filter) => self::filter(filter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wherever_they_are_the_library_sees_none() {
        for query in [
            "$[?match(@.a, 'x')]",
            "$.a..[0, ?@.b[?!(@.c || search(@.d, 'x'))]]",
            "$[?count(@[?match(@, 'x')]) > 1]",
            "$[?$.a[?length(value(@..b[?search(@, 'x') && @.c])) == 1]]",
            "$[?match(value(@[?search(@, 'x')]), 'x')]",
        ] {
            let shown = format!("{:?}", parse(query).unwrap());
            assert!(shown.contains("Custom("), "{shown}");
            for of_library in ["Match(", "Search("] {
                assert!(!shown.contains(of_library), "{shown}");
            }
        }
    }
}
