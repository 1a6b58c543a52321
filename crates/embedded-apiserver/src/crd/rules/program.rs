//! A compiled expression, and the messages of its failures.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::KubeCelExt as _;
use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::bounds::Bounds;
use super::budget::{Budget, Stop};
use super::checker::{self, Wanted};
use super::cost;
use super::{nesting, object_literals, searches, steps, types};
use crate::crd::structural::Structural;
use crate::stack;

/// The maximum length of a message that an expression returns.
const MESSAGE_LIMIT: usize = 5 * 1024;

thread_local! {
    // A context cannot be shared between threads, and creating one registers about 200 functions.
    static CONTEXT: Context<'static> = {
        let context = types::register(Context::default().with_all());
        steps::register(searches::register(context))
    };
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Program {
    expression: Expression,
    /// The expression, whose loops charge each step.
    charged: Expression,
}

/// Calls a function that descends the tree of an expression: in a build without optimization, a level
/// takes 20 KB of the stack. Returns an error if the function panics.
fn descend<T>(act: impl FnOnce() -> T) -> Result<T, ()> {
    catch_unwind(AssertUnwindSafe(|| stack::with_room(act))).map_err(drop)
}

impl Program {
    /// Parses an expression. Errors have the parser's message in the format of the server.
    pub(crate) fn compile(source: &str) -> Result<Self, String> {
        let failed = |why: String| format!("compilation failed: {why}");
        nesting::check(source).map_err(failed)?;
        let parse = || {
            let parsed = Parser::new().enable_optional_syntax(true).parse(source);
            // cel-go indents the lines that show the position.
            parsed.map_err(|errors| errors.to_string().replace("\n| ", "\n | "))
        };
        let parsed = descend(parse);
        let parsed = parsed.unwrap_or_else(|()| Err("the expression is not understood".to_owned()));
        let expression = parsed.map_err(failed)?;
        Self::new(expression)
    }

    fn new(expression: Expression) -> Result<Self, String> {
        let charged = descend(|| steps::charged(&expression));
        let charged = charged.map_err(|()| "compilation failed: internal error".to_owned())?;
        Ok(Self {
            expression,
            charged,
        })
    }

    /// Parses an expression of an admission policy, in which `Object{…}` and `JSONPatch{…}` are maps.
    pub(crate) fn compile_with_objects(source: &str) -> Result<Self, String> {
        let mut expression = Self::compile(source)?.expression;
        descend(|| object_literals::replace(&mut expression))
            .map_err(|()| "compilation failed: internal error".to_owned())?;
        Self::new(expression)
    }

    /// Checks that only these variables occur in the expression, and that its result has the wanted type, as
    /// far as the types are known without a schema.
    pub(crate) fn check_variables(
        &self,
        source: &str,
        variables: &[&str],
        wanted: &str,
    ) -> Result<(), String> {
        let check = || checker::check_variables(&self.expression, source, variables, wanted);
        descend(check).unwrap_or_else(|()| Err("internal error".to_owned()))
    }

    /// Checks that all names in the expression exist, and that its result has the wanted type.
    pub(super) fn check(
        &self,
        source: &str,
        schema: &Structural,
        is_resource: bool,
        wanted: Wanted,
    ) -> Result<(), String> {
        let check = || checker::check(&self.expression, source, schema, is_resource, wanted);
        let checked = descend(check);
        checked.unwrap_or_else(|()| Err("internal error".to_owned()))
    }

    /// Returns the maximum cost over values with these bounds.
    pub(super) fn cost(&self, bounds: &Bounds, optional_old: bool) -> u64 {
        let most = || cost::max_cost(&self.expression, bounds, optional_old);
        descend(most).unwrap_or(u64::MAX)
    }

    /// Returns whether the expression refers to the old value.
    pub(super) fn uses_old(&self) -> bool {
        let uses = || self.expression.references().has_variable("oldSelf");
        descend(uses).unwrap_or(true)
    }

    /// Executes the expression. Errors have the messages of the server.
    pub(super) fn run(&self, new: &Value, old: Option<&Value>) -> Result<Value, String> {
        match old {
            Some(old) => self.execute(&[("self", new.clone()), ("oldSelf", old.clone())]),
            None => self.execute(&[("self", new.clone())]),
        }
    }

    /// Executes the expression of a policy, with the limits of one rule.
    pub(crate) fn evaluate(&self, variables: &[(&'static str, Value)]) -> Result<Value, String> {
        let (result, _, stop) = Budget::new().call(|| self.execute(variables));
        match stop {
            Some(Stop::Cost) => Err("operation cancelled: actual cost limit exceeded".to_owned()),
            Some(Stop::Time) => Err("operation interrupted".to_owned()),
            None => result,
        }
    }

    fn execute(&self, variables: &[(&'static str, Value)]) -> Result<Value, String> {
        let run = || {
            CONTEXT.with(|context| {
                let mut scope = context.new_inner_scope();
                for (name, value) in variables {
                    scope.add_variable_from_value(*name, value.clone());
                }
                let result = scope.resolve(&self.charged);
                result.map_err(|error| wording(&error))
            })
        };
        // A rule is user input, so a panic in it must not end the server.
        let result = descend(run);
        result.unwrap_or_else(|()| Err("internal error".to_owned()))
    }

    /// Returns the message that the expression computes, if it is valid.
    pub(super) fn message(&self, new: &Value, old: Option<&Value>) -> Option<String> {
        let Ok(Value::String(message)) = self.run(new, old) else {
            return None;
        };
        let message = message.trim();
        let usable =
            !message.is_empty() && message.len() <= MESSAGE_LIMIT && !message.contains('\n');
        usable.then(|| message.to_owned())
    }
}

/// Returns the message of cel-go for an error.
fn wording(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(index) => match index {
            Value::Int(index) => format!("index out of bounds: {index}"),
            _ => "index out of bounds".to_owned(),
        },
        ExecutionError::UndeclaredReference(name) => {
            format!("undeclared reference to '{name}' (in container '')")
        }
        ExecutionError::FunctionError { function, .. } if function == "quantity" => {
            "quantities must match the regular expression \
             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .to_owned()
        }
        ExecutionError::FunctionError { message, .. } => message.clone(),
        _ => "no such overload".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(first: &str, link: &str, links: usize) -> String {
        format!("{first}{}", link.repeat(links))
    }

    #[test]
    fn a_chain_is_bounded_and_the_longest_one_is_run() {
        for (first, link) in [
            ("1", " + 1"),
            ("self", ".a"),
            ("self", "[0]"),
            ("1", " == 1"),
        ] {
            let longest = Program::compile(&chain(first, link, 250)).unwrap();
            // Only the depth matters here, not the result: the stack must be large enough.
            let _ = longest.run(&Value::Int(1), None);
            let refused = Program::compile(&chain(first, link, 99_000 / link.len()));
            let error = refused.unwrap_err();
            assert!(error.contains("max recursion depth exceeded"), "{error}");
        }
        let nested = format!("{}1{}", "(".repeat(90), ")".repeat(90));
        let deep = format!("{nested}{}", " + 1".repeat(150));
        assert_eq!(
            Program::compile(&deep).unwrap().run(&Value::Int(1), None),
            Ok(Value::Int(151))
        );
        assert!(Program::compile(&chain("true", " || true", 5000)).is_ok());
        let long = Program::compile(&chain("true", " || true", 50_000)).unwrap_err();
        assert!(long.contains("code point size exceeds limit"), "{long}");
    }
}
