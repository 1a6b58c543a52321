//! A rendering ends with its run.

use std::sync::Arc;
use std::time::Duration;

use rhai::Dynamic;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::clock;
use crate::host::template::functions::ended;
use crate::script::{Engine, ErrorKind, Job, Limit, Limits, Pool, Sources};

/// Renders a template in a run that may hold 16 MiB. The template may call `cancel()`.
async fn end_of(template: &str) -> ErrorKind {
    let engine = Engine::new(Vec::new(), &[]);
    let mut sources = Sources::new("role", ".");
    sources.insert("tasks/main.rhai".to_owned(), "1");
    let program = engine.compile(&sources, "tasks/main.rhai").unwrap();
    let cancel = CancellationToken::new();
    let (template, token) = (template.to_owned(), cancel.clone());
    let native = move |_: &rhai::NativeCallContext| {
        let mut environment = Environment::new();
        configure(&mut environment);
        let token = token.clone();
        environment.add_function("cancel", move || token.cancel());
        let template = rewrite(&template, environment.syntax()).unwrap();
        environment.add_template_owned("t.yaml", template).unwrap();
        let text = ended(render(&environment, "t.yaml", &Value::from(())))?;
        Ok(Dynamic::from(text))
    };
    let job = Job {
        program: Arc::new(program),
        native: Some(Arc::new(native)),
        variables: std::iter::empty().collect(),
        state: Arc::new(()),
        limits: Limits {
            memory: 16 << 20,
            ..Limits::default()
        },
        cancel,
        deadline: clock::now() + Duration::from_mins(10),
    };
    let pool = Pool::new(engine, 1, Handle::current());
    pool.run(job).await.unwrap_err().kind
}

#[tokio::test]
async fn memory_that_a_rendering_holds_is_its_run_s() {
    for template in [
        "{% set ns = namespace(l=[]) %}{% set big = 'x' * 999999 %}\
            {% for i in range(999) %}{% set ns.l = [ns.l, big ~ i] %}{% endfor %}",
        "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = ns.l + [i | string * 999] %}{% endfor %}",
        "{% macro m() %}{{ 'x' * 999999 }}{% endmacro %}{% set ns = namespace(l=[]) %}\
            {% for i in range(999) %}{% set ns.l = [ns.l, m() ~ i] %}{% endfor %}",
        &format!(
            "{{% set y %}}{{% for i in range(9999) %}}{}{{% endfor %}}{{% endset %}}",
            "x".repeat(20_000)
        ),
    ] {
        let kind = end_of(template).await;
        assert!(
            matches!(kind, ErrorKind::Limit(Limit::Memory)),
            "{kind:?}: {template}"
        );
    }
}

#[tokio::test]
async fn a_rendering_ends_between_two_operations() {
    for template in [
        "{{ cancel() }}{{ 'a' ~ 'b' }}{{ nothing }}",
        "{% for i in range(9999) %}{% if i == 5000 %}{% set x = cancel() %}{% endif %}{% endfor %}{{ nothing }}",
        "{% macro m() %}{% endmacro %}{% set x = cancel() %}{{ m() }}{{ nothing }}",
        "{% for i in range(9999) %}{% if i == 5000 %}{{ cancel() }}{% endif %}{{ i | upper }}{% endfor %}{{ nothing }}",
        "{{ cancel() }}{{ [2, 1] | sort }}{{ nothing }}",
    ] {
        let kind = end_of(template).await;
        assert!(matches!(kind, ErrorKind::Cancelled), "{kind:?}: {template}");
    }
}
