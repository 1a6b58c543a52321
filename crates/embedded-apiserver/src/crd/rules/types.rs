//! The function `type(x)` and the names of types, which kube-cel does not have. Rules for int-or-string
//! fields need them.
//!
//! <https://kubernetes.io/docs/reference/using-api/cel/#cel-community-libraries>

use std::sync::Arc;

use kube_cel::cel::objects::{Opaque, ValueType};
use kube_cel::cel::{Context, ExecutionError, Value};

/// A type as a value, identified by its name.
#[derive(Debug, PartialEq, Eq)]
struct Type(&'static str);

impl Opaque for Type {
    fn runtime_type_name(&self) -> &'static str {
        "type"
    }
}

/// Registers the function and the type names.
pub(super) fn register(mut context: Context<'static>) -> Context<'static> {
    for name in [
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "uint",
    ] {
        context.add_variable_from_value(name, value(name));
    }
    context.add_function("type", |of: Value| -> Result<Value, ExecutionError> {
        Ok(value(name_of(&of)))
    });
    context
}

fn value(name: &'static str) -> Value {
    Value::Opaque(Arc::new(Type(name)))
}

fn name_of(value: &Value) -> &'static str {
    match value.type_of() {
        ValueType::Bool => "bool",
        ValueType::Bytes => "bytes",
        ValueType::Float => "double",
        ValueType::Int => "int",
        ValueType::List => "list",
        ValueType::Map => "map",
        ValueType::Null => "null_type",
        ValueType::String => "string",
        ValueType::UInt => "uint",
        ValueType::Duration => "google.protobuf.Duration",
        ValueType::Timestamp => "google.protobuf.Timestamp",
        ValueType::Function | ValueType::Opaque => "dyn",
    }
}
