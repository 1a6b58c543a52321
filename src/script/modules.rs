//! Resolves `import` at run time to compiled files of the current program.

use std::sync::Arc;

use rhai::{Engine, EvalAltResult, Module, ModuleResolver, Position, Scope, Shared};

use super::program::{File, Program};
use super::sources::resolve;
use super::thread_context;

/// Finds modules in the program that runs on this thread.
pub(super) struct Modules;

impl ModuleResolver for Modules {
    fn resolve(
        &self,
        engine: &Engine,
        source: Option<&str>,
        path: &str,
        position: Position,
    ) -> Result<Shared<Module>, Box<EvalAltResult>> {
        let unknown = || EvalAltResult::ErrorModuleNotFound(path.to_owned(), position);
        let program = thread_context::program().ok_or_else(unknown)?;
        let importer = source
            .and_then(|label| program.path(label))
            .unwrap_or(&program.entry);
        let paths = program.files.keys().map(String::as_str);
        let target =
            resolve(paths, &program.entry, importer, path).map_err(|(message, _)| message)?;
        let file = program.files.get(&target).ok_or_else(unknown)?;
        if let Some(module) = file.module.get() {
            return Ok(module.clone());
        }
        if let Some(module) = thread_context::module(&target) {
            return Ok(module);
        }
        let module = evaluate(engine, file, position)?;
        if file.fixed {
            return Ok(file.module.get_or_init(|| module).clone());
        }
        thread_context::keep_module(&target, &module);
        Ok(module)
    }
}

fn evaluate(
    engine: &Engine,
    file: &File,
    position: Position,
) -> Result<Shared<Module>, Box<EvalAltResult>> {
    Module::eval_ast_as_new(Scope::new(), &file.ast, engine)
        .map(Shared::new)
        .map_err(|error| EvalAltResult::ErrorInModule(file.label.clone(), error, position).into())
}

impl Program {
    /// Returns the path of a file by its name in errors.
    fn path(self: &Arc<Self>, label: &str) -> Option<&str> {
        self.files
            .iter()
            .find(|(_, file)| file.label == label)
            .map(|(path, _)| path.as_str())
    }
}
