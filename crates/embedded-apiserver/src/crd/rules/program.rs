//! One expression, compiled, and what its failures are called.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::KubeCelExt as _;
use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::bounds::Bounds;
use super::checker::{self, Wanted};
use super::cost;
use super::types;
use crate::crd::structural::Structural;

/// The longest message that an expression may make.
const MESSAGE_LIMIT: usize = 5 * 1024;

thread_local! {
    // A context cannot be shared between threads, and making one registers some 200 functions.
    static CONTEXT: Context<'static> = types::register(Context::default().with_all());
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Program(Expression);

impl Program {
    /// Parses an expression; the error is the parser's, as the server shows it.
    pub(super) fn compile(source: &str) -> Result<Self, String> {
        let parse = || Parser::new().enable_optional_syntax(true).parse(source);
        match catch_unwind(AssertUnwindSafe(parse)) {
            Ok(Ok(expression)) => Ok(Self(expression)),
            // cel-go indents the lines that show where.
            Ok(Err(errors)) => {
                let errors = errors.to_string().replace("\n| ", "\n | ");
                Err(format!("compilation failed: {errors}"))
            }
            Err(_) => Err("compilation failed: the expression is not understood".to_owned()),
        }
    }

    /// Whether it names what is there, and comes to what is wanted.
    pub(super) fn check(
        &self,
        source: &str,
        schema: &Structural,
        is_resource: bool,
        wanted: Wanted,
    ) -> Result<(), String> {
        checker::check(&self.0, source, schema, is_resource, wanted)
    }

    /// What it costs at the most over values of these bounds.
    pub(super) fn cost(&self, bounds: &Bounds, optional_old: bool) -> u64 {
        cost::most(&self.0, bounds, optional_old)
    }

    /// Whether it compares with the state before.
    pub(super) fn uses_old(&self) -> bool {
        self.0.references().has_variable("oldSelf")
    }

    /// Runs the expression; the error is worded as the server words it.
    pub(super) fn run(&self, new: &Value, old: Option<&Value>) -> Result<Value, String> {
        CONTEXT.with(|context| {
            let mut scope = context.new_inner_scope();
            scope.add_variable_from_value("self", new.clone());
            if let Some(old) = old {
                scope.add_variable_from_value("oldSelf", old.clone());
            }
            // A rule is a user's input: it must not bring the server down, whatever it does.
            match catch_unwind(AssertUnwindSafe(|| scope.resolve(&self.0))) {
                Ok(result) => result.map_err(|error| wording(&error)),
                Err(_) => Err("internal error".to_owned()),
            }
        })
    }

    /// The message that the expression makes; none where it makes none of use.
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

/// The error as cel-go would have put it.
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
