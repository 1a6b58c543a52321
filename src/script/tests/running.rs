//! The pool, the run that host functions see, programs within programs.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{Pool, TestState, compile, engine, job, json, run};

#[tokio::test]
async fn the_value_of_a_run_is_its_last_expression_or_what_it_returns_or_exits_with() {
    assert_eq!(json("1 + 1").await, "2");
    assert_eq!(json("if spec.size == 3 { return [1]; } 2").await, "[1]");
    assert_eq!(json("fn f() { exit(5) } [1].map(|x| f()); 2").await, "5");
    assert_eq!(json("let x = 5;").await, "null");
}

#[tokio::test]
async fn threads_are_made_as_they_are_needed() {
    let engine = engine();
    let hang = compile(&engine, &[("tasks/main.rhai", "hang()")]);
    let quick = compile(&engine, &[("tasks/main.rhai", "1")]);
    let pool = Pool::new(engine, 3, Handle::current());
    assert_eq!(pool.threads(), 0);
    for _ in 0..20 {
        assert_eq!(pool.run(job(&quick)).await.unwrap().as_int(), Ok(1));
    }
    assert_eq!(pool.threads(), 1);
    let state = Arc::new(TestState::default());
    let mut blocked = job(&hang);
    blocked.state = state.clone();
    tokio::select! {
        _ = pool.run(blocked) => unreachable!("it hangs"),
        () = async {
            state.hanging.notified().await;
            assert_eq!(pool.run(job(&quick)).await.unwrap().as_int(), Ok(1));
        } => {}
    }
}

#[tokio::test]
async fn runs_wait_in_order_when_all_threads_are_busy() {
    let engine = engine();
    let quick = compile(&engine, &[("tasks/main.rhai", "answer(spec.size)")]);
    let pool = Pool::new(engine, 1, Handle::current());
    let answers = futures::future::join_all((0..50).map(|_| pool.run(job(&quick)))).await;
    assert!(
        answers
            .into_iter()
            .all(|answer| answer.unwrap().as_int() == Ok(3))
    );
    assert_eq!(pool.threads(), 1);
}

#[tokio::test]
async fn an_included_program_has_its_own_variables_and_the_run_goes_on_with_its_own() {
    let engine = engine();
    let included = compile(
        &engine,
        &[
            (
                "tasks/main.rhai",
                "import \"a\" as a; fn f() { spec.size } [f(), a::f(), cr ?? 1]",
            ),
            ("tasks/a.rhai", "fn f() { spec.size * 2 }"),
        ],
    );
    let outer = compile(
        &engine,
        &[
            (
                "tasks/main.rhai",
                "import \"a\" as a; [a::f(), include_role(7), a::f(), spec.size]",
            ),
            ("tasks/a.rhai", "fn f() { \"outer\" }"),
        ],
    );
    let mut job = job(&outer);
    job.state = Arc::new(TestState {
        included: Some(included),
        ..TestState::default()
    });
    let error = Pool::new(engine, 1, Handle::current())
        .run(job)
        .await
        .unwrap_err();
    insta::assert_snapshot!(format!("{error:#}"), @r#"
web/tasks/main.rhai:1:53: unknown variable `cr`
     1 | import "a" as a; [a::f(), include_role(7), a::f(), spec.size]
       |                                                     ^
  in role web, called at web/tasks/main.rhai:1:27
"#);
}

#[tokio::test]
async fn an_included_program_answers_with_its_value() {
    let engine = engine();
    let included = compile(
        &engine,
        &[("tasks/main.rhai", "if spec.size > 1 { exit(spec.size) } 0")],
    );
    let outer = compile(
        &engine,
        &[("tasks/main.rhai", "include_role(7) + spec.size")],
    );
    let mut job = job(&outer);
    job.state = Arc::new(TestState {
        included: Some(included),
        ..TestState::default()
    });
    let value = Pool::new(engine, 1, Handle::current())
        .run(job)
        .await
        .unwrap();
    assert_eq!(value.as_int(), Ok(10));
}

#[tokio::test]
async fn host_functions_need_a_run() {
    let engine = engine();
    let error = engine.rhai().eval::<i64>("answer(1)").unwrap_err();
    assert!(
        error.to_string().contains("host functions need a run"),
        "{error}"
    );
}

#[tokio::test]
async fn a_value_that_is_shared_comes_back_plain() {
    let value = run("let a = [1]; let f = || a.push(2); f.call(); a")
        .await
        .unwrap();
    assert!(!value.is_shared());
}
