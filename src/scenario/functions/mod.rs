//! The functions of scenario scripts, besides the pure functions of roles.
//!
//! Functions with the names of role functions do the same, but as the user of the scenario: they set no owner,
//! and each read asks the cluster.

mod assertions;
mod call;
mod environment;
mod objects;

use rhai::plugin::exported_module;
use rhai::{
    Array, Dynamic, FuncRegistration, ImmutableString, Map, Module, NativeCallContext, Shared,
    Variant,
};

use self::call::{ScriptResult, context};
use crate::host;

/// Constants in the scope of every script.
pub(super) const VARIABLES: [&str; 4] = ["embedded", "namespace", "scenario", "vars"];

/// The packages of the engine.
pub(super) fn modules() -> Vec<Shared<Module>> {
    let mut modules = host::pure_modules();
    modules.extend([
        Shared::new(exported_module!(assertions::functions)),
        Shared::new(exported_module!(environment::functions)),
        Shared::new(exported_module!(objects::functions)),
        Shared::new(print_module()),
    ]);
    modules
}

fn print_module() -> Module {
    let mut module = Module::new();
    // The engine calls the function of the exact type before one that takes anything.
    print::<ImmutableString>(&mut module);
    print::<Array>(&mut module);
    print::<Map>(&mut module);
    print::<bool>(&mut module);
    print::<i64>(&mut module);
    print::<f64>(&mut module);
    print::<()>(&mut module);
    module
}

/// Registers `print` for a type. The engine wants a text back, which it would write to stdout.
fn print<T: Variant + Clone>(module: &mut Module) {
    FuncRegistration::new("print")
        .with_volatility(true)
        .set_into_module(
            module,
            |cx: NativeCallContext<'_>, value: T| -> ScriptResult<ImmutableString> {
                context(&cx)?.print(Dynamic::from(value).to_string());
                Ok(ImmutableString::new())
            },
        );
}
