//! Tests of runs, one topic for each file.

mod compiling;
mod ending;
mod errors;
mod language;
mod running;
mod values;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rhai::plugin::export_module;
use rhai::{Dynamic, EvalAltResult, NativeCallContext};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::limits::Values;
use super::{Engine, Error, HostError, Job, Limits, Pool, Program, Run, Sources, Variables, end};
use crate::clock;

const VARIABLES: [&str; 3] = ["cr", "spec", "finalizing"];

/// Host functions as tests need them.
#[export_module]
mod host {
    type RhaiResult<T> = Result<T, Box<EvalAltResult>>;

    /// Waits until the run ends.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn hang(cx: NativeCallContext) -> RhaiResult<()> {
        if let Some(state) = Run::from_call(&cx)?.state::<TestState>() {
            state.hanging.notify_one();
        }
        super::super::block_on(&cx, std::future::pending())
    }

    /// Answers at once.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn answer(cx: NativeCallContext, value: Dynamic) -> RhaiResult<Dynamic> {
        super::super::block_on(&cx, async { Ok(value) })
    }

    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_get(cx: NativeCallContext, name: &str) -> RhaiResult<Dynamic> {
        let error = HostError {
            code: Some(404),
            reason: "NotFound".to_owned(),
            retryable: true,
            after: Some(Duration::from_secs(3)),
            ..HostError::new("not_found", format!("there is no {name}"))
        };
        super::super::block_on(&cx, async { Err(error) })
    }

    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn refuse(_name: &str) -> RhaiResult<()> {
        Err(HostError::new("invalid", "a name is needed").into())
    }

    /// Keeps a text for the rest of the run.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn collect(cx: NativeCallContext, text: &str) -> RhaiResult<()> {
        let state = Run::from_call(&cx)?
            .state::<TestState>()
            .ok_or("no state")?;
        state.collected.lock().push(text.to_owned());
        Ok(())
    }

    /// Holds this many bytes until it returns.
    #[rhai_fn(volatile)]
    pub(crate) fn borrow(bytes: i64) {
        drop(Vec::<u8>::with_capacity(usize::try_from(bytes).unwrap()));
    }

    #[rhai_fn(volatile)]
    pub(crate) fn crash() {
        panic!("the host is broken")
    }

    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn wait_ready(cx: NativeCallContext) -> RhaiResult<()> {
        Err(end(&cx, Arc::new("waiting")))
    }

    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn include_role(cx: NativeCallContext, size: i64) -> RhaiResult<Dynamic> {
        let state = Run::from_call(&cx)?
            .state::<TestState>()
            .ok_or("no state")?;
        let program = state.included.as_ref().ok_or("nothing to include")?;
        let variables = Variables::from([(
            "spec",
            rhai::Map::from([("size".into(), size.into())]).into(),
        )]);
        super::super::include(&cx, program, None, variables)
    }
}

#[derive(Default)]
struct TestState {
    /// Notified by `hang`.
    hanging: tokio::sync::Notify,
    /// The arguments of `collect`.
    collected: Mutex<Vec<String>>,
    /// The program that `include_role` runs.
    included: Option<Arc<Program>>,
}

fn engine() -> Engine {
    // Small values, so that scripts which grow them end soon.
    let values = Values {
        text: 1 << 20,
        elements: 10_000,
        entries: 10_000,
    };
    Engine::with(
        vec![rhai::exported_module!(host).into()],
        &VARIABLES,
        values,
    )
}

fn sources(files: &[(&str, &str)]) -> Sources {
    let mut sources = Sources::new("web", "roles/web");
    for (path, text) in files {
        sources.insert(*path, *text);
    }
    sources
}

fn compile(engine: &Engine, files: &[(&str, &str)]) -> Arc<Program> {
    match engine.compile(&sources(files), "tasks/main.rhai") {
        Ok(program) => Arc::new(program),
        Err(problems) => {
            panic!(
                "{}",
                problems
                    .iter()
                    .map(|p| p.to_string() + "\n")
                    .collect::<String>()
            )
        }
    }
}

fn variables() -> Variables {
    let cr = serde_json::json!({
        "metadata": {"name": "shop", "labels": {}},
        "spec": {"size": 3, "ports": [{"name": "http", "number": 80}, {"name": "https", "number": 443}], "least": 100}
    });
    Variables::from([
        ("cr", super::value::to_dynamic(&cr)),
        ("spec", super::value::to_dynamic(&cr["spec"])),
        ("finalizing", false.into()),
    ])
}

fn job(program: &Arc<Program>) -> Job {
    Job {
        program: program.clone(),
        native: None,
        variables: variables(),
        state: Arc::new(TestState::default()),
        limits: Limits::default(),
        cancel: CancellationToken::new(),
        deadline: clock::now() + Duration::from_mins(10),
    }
}

/// Runs some files.
async fn run_files(files: &[(&str, &str)]) -> Result<Dynamic, Error> {
    let engine = engine();
    let program = compile(&engine, files);
    Pool::new(engine, 1, Handle::current())
        .run(job(&program))
        .await
}

/// Runs one script.
async fn run(script: &str) -> Result<Dynamic, Error> {
    run_files(&[("tasks/main.rhai", script)]).await
}

/// Runs one script that fails.
async fn failure(script: &str) -> Error {
    match run(script).await {
        Ok(value) => panic!("{script} ended with {value}"),
        Err(error) => error,
    }
}

/// Runs a script and returns its value as JSON.
async fn json(script: &str) -> String {
    match run(script).await {
        Ok(value) => super::value::to_value(&value).unwrap().to_string(),
        Err(error) => panic!("{script}: {error:#}"),
    }
}
