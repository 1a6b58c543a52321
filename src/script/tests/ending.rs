//! Everything that ends a run against the will of its script.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::{Error, Limits, Pool, TestState, compile, engine, failure, job};
use crate::clock;
use crate::script::{ErrorKind, Limit, Run, checkpoint, value};

/// Runs that never end by themselves.
const ENDLESS: [&str; 13] = [
    "loop {}",
    "let n = 0; loop { n += 1 }",
    "fn f() { let n = 0; loop { n += 1; } } f()",
    "loop { try { loop {} } catch (e) {} }",
    "loop { try { let n = 0; loop { n += 1 } } catch { } }",
    "fn f() { try { f() } catch { loop {} } } f()",
    "let a = [1, 2]; a.map(|x| { loop {} })",
    "let a = [1, 2]; loop { a.map(|x| x) }",
    "let a = []; a.pad(5000, 1); loop { a.for_each(|x| { try { throw 1 } catch {} }) }",
    "let a = []; a.pad(5000, 1); loop { a.sort(|x, y| { let n = 0; loop { n += 1 } }) }",
    "loop { [1].map(|x| { try { [1].map(|y| { loop {} }) } catch {} }) }",
    "for x in 0..9000000000000 { let y = x; }",
    "let f = || 1; loop { f.call() }",
];

async fn with_limits(script: &str, limits: Limits) -> Error {
    let engine = engine();
    let program = compile(&engine, &[("tasks/main.rhai", script)]);
    let mut job = job(&program);
    job.limits = limits;
    match Pool::new(engine, 1, Handle::current()).run(job).await {
        Ok(value) => panic!("{script} ended with {value}"),
        Err(error) => error,
    }
}

async fn with_operations(script: &str, operations: u64) -> Error {
    with_limits(
        script,
        Limits {
            operations,
            ..Limits::default()
        },
    )
    .await
}

#[tokio::test]
async fn endless_loops_run_out_of_operations() {
    for script in ENDLESS {
        let error = with_operations(script, 200_000).await;
        assert!(
            matches!(
                error.kind,
                ErrorKind::Limit(Limit::Operations | Limit::Depth)
            ),
            "{script}: {error}"
        );
        assert!(error.location().is_some(), "{script}: {error}");
    }
}

#[tokio::test]
async fn operations_are_counted_within_closures() {
    let script = "let a = []; a.pad(9000, 1); a.map(|x| x + 1).len()";
    let error = with_operations(script, 10_000).await;
    assert!(
        matches!(error.kind, ErrorKind::Limit(Limit::Operations)),
        "{error}"
    );
    assert_eq!(error.message, "stopped after 10000 operations");
}

#[tokio::test]
async fn the_limit_names_the_loop_and_the_way_to_it() {
    let script = "fn spin(n) {\n    loop { n += 1; }\n}\nfn outer() {\n    spin(0)\n}\nouter()";
    let error = with_operations(script, 10_000).await;
    insta::assert_snapshot!(format!("{error:#}"), @r#"
web/tasks/main.rhai:2:12: stopped after 10000 operations
     2 |     loop { n += 1; }
       |            ^
  in spin, called at web/tasks/main.rhai:5:5
  in outer, called at web/tasks/main.rhai:7:1
  hint: check for a loop that does not end
"#);
}

#[tokio::test(start_paused = true)]
async fn endless_loops_are_cancelled() {
    for script in ENDLESS {
        let engine = engine();
        let program = compile(&engine, &[("tasks/main.rhai", script)]);
        let mut job = job(&program);
        job.limits.operations = u64::MAX / 2;
        let cancel = job.cancel.clone();
        let pool = Pool::new(engine, 1, Handle::current());
        let (answer, ()) = tokio::join!(pool.run(job), async {
            // The run has its thread now, or will find itself cancelled before it begins.
            tokio::task::yield_now().await;
            cancel.cancel();
        });
        let error = answer.unwrap_err();
        let is_expected = matches!(
            error.kind,
            ErrorKind::Cancelled | ErrorKind::Limit(Limit::Depth)
        );
        assert!(is_expected, "{script}: {error}");
    }
}

#[tokio::test]
async fn a_deadline_ends_a_loop_that_catches_everything() {
    let engine = engine();
    let program = compile(&engine, &[("tasks/main.rhai", ENDLESS[4])]);
    let mut job = job(&program);
    job.deadline = clock::now() + Duration::from_millis(20);
    let error = Pool::new(engine, 1, Handle::current())
        .run(job)
        .await
        .unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Deadline), "{error}");
}

#[tokio::test]
async fn a_blocked_host_call_is_cancelled_even_where_the_script_catches() {
    for script in [
        "hang()",
        "loop { try { hang() } catch (e) { } }",
        "[1].map(|x| hang())",
    ] {
        let engine = engine();
        let program = compile(&engine, &[("tasks/main.rhai", script)]);
        let state = Arc::new(TestState::default());
        let mut job = job(&program);
        job.state = state.clone();
        let cancel = job.cancel.clone();
        let pool = Pool::new(engine, 1, Handle::current());
        let (answer, ()) = tokio::join!(pool.run(job), async {
            state.hanging.notified().await;
            cancel.cancel();
        });
        let error = answer.unwrap_err();
        assert!(
            matches!(error.kind, ErrorKind::Cancelled),
            "{script}: {error}"
        );
        assert!(
            error.to_string().starts_with("web/tasks/main.rhai:1:"),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_blocked_host_call_ends_at_the_deadline() {
    let error = failure("try { hang() } catch (e) { }").await;
    assert!(matches!(error.kind, ErrorKind::Deadline), "{error}");
    assert_eq!(
        error.to_string(),
        "web/tasks/main.rhai:1:7: not done within its timeout"
    );
}

#[tokio::test]
async fn a_run_that_is_cancelled_or_late_before_it_begins_does_not_begin() {
    let engine = engine();
    let program = compile(&engine, &[("tasks/main.rhai", "crash()")]);
    let pool = Pool::new(engine, 1, Handle::current());
    let cancelled = job(&program);
    cancelled.cancel.cancel();
    assert!(matches!(
        pool.run(cancelled).await.unwrap_err().kind,
        ErrorKind::Cancelled
    ));
    let mut late = job(&program);
    late.deadline = clock::now();
    assert!(matches!(
        pool.run(late).await.unwrap_err().kind,
        ErrorKind::Deadline
    ));
}

#[tokio::test]
async fn a_run_whose_future_is_dropped_frees_its_thread() {
    let engine = engine();
    let program = compile(
        &engine,
        &[("tasks/main.rhai", "loop { try { hang() } catch {} }")],
    );
    let quick = compile(&engine, &[("tasks/main.rhai", "1")]);
    let pool = Pool::new(engine, 1, Handle::current());
    let state = Arc::new(TestState::default());
    let mut blocked = job(&program);
    blocked.state = state.clone();
    tokio::select! {
        _ = pool.run(blocked) => unreachable!("it hangs"),
        () = state.hanging.notified() => {}
    }
    assert_eq!(pool.run(job(&quick)).await.unwrap().as_int(), Ok(1));
}

#[tokio::test]
async fn endless_recursion_is_stopped_with_its_chain() {
    let error = failure("fn down(n) {\n    down(n + 1)\n}\ndown(0)").await;
    insta::assert_snapshot!(format!("{error:#}"), @r#"
web/tasks/main.rhai:2:10: calls are nested more than 64 deep
     2 |     down(n + 1)
       |          ^
  in down, called at web/tasks/main.rhai:2:5
  … 63 more of these
  in down, called at web/tasks/main.rhai:4:1
  hint: check for a function that calls itself without end
"#);
    for script in [
        "fn f() { f() } f()",
        "fn f() { try { f() } catch { f() } } f()",
        "fn f() { [1].map(|x| f()) } f()",
        "let f = |f| f.call(f); f.call(f)",
        "fn a() { b() } fn b() { a() } a()",
        "include_role(1)",
    ] {
        let error = run_including_itself(script).await;
        assert!(
            matches!(error.kind, ErrorKind::Limit(Limit::Depth)),
            "{script}: {error}"
        );
    }
}

async fn run_including_itself(script: &str) -> Error {
    let engine = engine();
    let program = compile(&engine, &[("tasks/main.rhai", script)]);
    let mut job = job(&program);
    job.state = Arc::new(TestState {
        included: Some(program.clone()),
        ..TestState::default()
    });
    Pool::new(engine, 1, Handle::current())
        .run(job)
        .await
        .unwrap_err()
}

#[tokio::test]
async fn endless_allocation_is_stopped() {
    for script in [
        "let s = \"x\"; loop { s += s }",
        "let s = \"x\"; loop { s = s + s }",
        "let s = \"x\"; loop { s = `${s}${s}` }",
        "let s = \"\"; s.pad(1000000000, \"x\")",
        "let s = \"\"; s.pad(10000000, \"\u{1f600}\")",
        "let s = \"ab\"; loop { s.replace(\"a\", \"aa\"); s.replace(\"a\", s); s.replace('b', s) }",
        "let a = [1]; loop { a += a }",
        "let a = [1]; loop { a = [a, a] }",
        "let a = [1]; loop { a[0] = [a, a] }",
        "let a = [1]; loop { a.append(a) }",
        "let a = []; loop { a.push(#{ a: 1, b: [1, 2, 3], c: \"text\" }) }",
        "let a = []; a.pad(1000000000, 1)",
        "let a = []; loop { a.pad(a.len() * 2 + 1, #{ a: 1 }) }",
        "let a = []; loop { a.insert(0, [1, 2, 3]) }",
        "let m = #{}; let n = 0; loop { n += 1; m[`k${n}`] = #{ a: n } }",
        "let m = #{ a: 1 }; loop { m = #{ a: m, b: m } }",
        "let m = #{ a: 1 }; loop { m.a = #{ x: m, y: m } }",
        "let m = #{}; loop { m.mixin(#{ a: m, b: m }) }",
        "blob(1000000000)",
        "let b = blob(10, 1); loop { b += b }",
        "let acc = []; loop { [1].for_each(|x| acc.push(#{ a: 1, b: 2 })) }",
        "fn grow() { loop { this.push([1, 2, 3, 4]) } } let a = []; a.grow()",
        "fn grow() { loop { this.push(this) } } let a = []; a.grow()",
        "let a = []; for x in 0..1000000000 { a.push(x) }",
    ] {
        let error = with_operations(script, 50_000_000).await;
        assert!(
            matches!(error.kind, ErrorKind::Limit(Limit::Memory)),
            "{script}: {error}"
        );
        assert!(error.location().is_some(), "{script}: {error}");
    }
}

#[tokio::test]
async fn many_variables_together_are_bounded() {
    let limits = Limits {
        memory: 1 << 20,
        ..Limits::default()
    };
    for script in [
        // By one function.
        "let a = []; a.pad(5000, #{ a: 1 }); let b = a; let c = a; let n = 0; loop { n += a.len() }",
        // By calls within calls.
        "fn f(n) { let a = []; a.pad(1000, #{ a: 1 }); let n = 0; while n < 5000 { n += 1; a[0]; } f(n) } f(0)",
        // By texts alone.
        "fn f(n) { let text = \"\"; text.pad(100000, \"x\"); let own = text + n; f(n + 1) } f(0)",
        // By what host functions collect.
        "let text = \"\"; text.pad(1000, \"x\"); loop { collect(text + 1) }",
        // By what closures hold.
        "let a = []; a.pad(9900, #{ a: 1 }); let f = || a.len(); let n = []; loop { n.len(); f.call(); }",
    ] {
        let error = with_limits(script, limits).await;
        assert!(
            matches!(error.kind, ErrorKind::Limit(Limit::Memory)),
            "{script}: {error}"
        );
        assert_eq!(error.message, "the run uses more than 1 MiB of memory");
    }
}

#[tokio::test]
async fn nesting_without_end_is_stopped_before_it_overflows_the_stack() {
    for script in [
        "let a = []; loop { a = [a] }",
        "let m = #{}; loop { m = #{ m: m } }",
        "let a = 1; loop { a = || a }",
    ] {
        let error = failure(script).await;
        assert!(
            matches!(error.kind, ErrorKind::Limit(Limit::Nesting)),
            "{script}: {error}"
        );
    }
}

#[tokio::test]
async fn memory_that_a_run_gives_back_does_not_count() {
    let limits = Limits {
        memory: 4 << 20,
        ..Limits::default()
    };
    let script =
        "let n = 0; while n < 1000 { let text = \"\"; text.pad(100000, \"x\"); n += 1; } n";
    let engine = engine();
    let program = compile(&engine, &[("tasks/main.rhai", script)]);
    let pool = Pool::new(engine, 1, Handle::current());
    for _ in 0..3 {
        let mut job = job(&program);
        job.limits = limits;
        assert_eq!(pool.run(job).await.unwrap().as_int(), Ok(1000));
    }
}

#[tokio::test]
async fn memory_held_for_a_moment_within_a_native_call_counts() {
    let limits = Limits {
        memory: 1 << 20,
        ..Limits::default()
    };
    for script in ["borrow(2000000)", "try { borrow(2000000) } catch { }; 1"] {
        let error = with_limits(script, limits).await;
        assert!(
            matches!(error.kind, ErrorKind::Limit(Limit::Memory)),
            "{script}: {error}"
        );
        assert_eq!(error.limit(), Some("memory"));
    }
}

#[tokio::test]
async fn a_text_in_too_many_pieces_is_refused_before_they_are_made() {
    let limits = Limits {
        memory: 4 << 20,
        ..Limits::default()
    };
    for call in [
        "to_chars()",
        "split()",
        "split(\",\")",
        "split(\"\")",
        "split(\",\", 500000)",
        "split(',')",
        "split(',', 500000)",
        "split_rev(\",\")",
        "split_rev(\",\", 500000)",
        "split_rev(',')",
        "split_rev(',', 500000)",
    ] {
        let script = format!("let text = \"\"; text.pad(1000000, \", \"); text.{call}");
        let error = with_limits(&script, limits).await;
        assert_eq!(
            error.message, "a value with more than 10000 elements of arrays",
            "{call}"
        );
    }
}

#[test]
fn reading_and_writing_json_are_interrupted() {
    let list = serde_json::json!(vec![1; 1_000]);
    let map: serde_json::Map<_, _> = (0..1_000).map(|n| (n.to_string(), n.into())).collect();
    for json in [list, map.into()] {
        let text = json.to_string();
        let read = value::from_json(text.as_bytes()).unwrap();
        let _interrupted = ::checkpoint::install(|| false);
        assert!(value::from_json(text.as_bytes()).is_err());
        assert!(value::to_value(&read).is_err());
    }
}

/// Runs native code that brings about a reason to stop and then works on, past checkpoints.
async fn at_a_checkpoint(cause: impl Fn(&Run) + Send + Sync + 'static) -> ErrorKind {
    let engine = engine();
    let program = compile(&engine, &[("tasks/main.rhai", "1")]);
    let mut job = job(&program);
    job.limits.memory = 1 << 20;
    job.native = Some(Arc::new(move |cx| {
        checkpoint()?;
        cause(&*Run::from_call(cx)?);
        checkpoint()?;
        unreachable!("the run must have ended")
    }));
    let pool = Pool::new(engine, 1, Handle::current());
    pool.run(job).await.unwrap_err().kind
}

#[tokio::test]
async fn a_checkpoint_ends_native_code() {
    let kind = at_a_checkpoint(|run| run.cancel.cancel()).await;
    assert!(matches!(kind, ErrorKind::Cancelled), "{kind:?}");
    let kind = at_a_checkpoint(|_| drop(Vec::<u8>::with_capacity(1 << 21))).await;
    assert!(matches!(kind, ErrorKind::Limit(Limit::Memory)), "{kind:?}");
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_ends_native_code_past_its_deadline() {
    let kind = at_a_checkpoint(|run| {
        let late = run.deadline + Duration::from_secs(1);
        run.runtime.block_on(clock::sleep_until(late));
    })
    .await;
    assert!(matches!(kind, ErrorKind::Deadline), "{kind:?}");
}

#[test]
fn a_checkpoint_outside_a_run_is_passed() {
    checkpoint().unwrap();
}

#[tokio::test]
async fn too_many_host_calls_end_the_run() {
    let limits = Limits {
        host_calls: 5,
        ..Limits::default()
    };
    let error = with_limits("loop { try { answer(1) } catch {} }", limits).await;
    assert!(
        matches!(error.kind, ErrorKind::Limit(Limit::HostCalls)),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "web/tasks/main.rhai:1:14: more than 5 calls of host functions"
    );
}

#[tokio::test]
async fn an_ending_of_the_host_cannot_be_caught() {
    for script in [
        "wait_ready()",
        "try { wait_ready() } catch (e) { crash() }",
        "loop { try { wait_ready() } catch (e) { } }",
        "try { wait_ready() } catch (e) { }",
        "fn f() { [1].map(|x| wait_ready()) } try { f() } catch { try { hang() } catch { } } crash()",
        "let a = [2, 1]; a.sort(|x, y| wait_ready())",
    ] {
        let error = failure(script).await;
        let ErrorKind::Ended(ending) = &error.kind else {
            panic!("{script}: {error}")
        };
        assert_eq!(ending.downcast_ref::<&str>(), Some(&"waiting"));
        assert!(
            error
                .location()
                .is_some_and(|place| place.starts_with("web/tasks/main.rhai:1:")),
            "{script}: {error}"
        );
    }
}

#[tokio::test]
async fn a_panic_ends_one_run_and_its_thread_lives() {
    let engine = engine();
    let bad = compile(
        &engine,
        &[("tasks/main.rhai", "let x = 1;\ntry { crash() } catch { }")],
    );
    let good = compile(&engine, &[("tasks/main.rhai", "spec.size")]);
    let pool = Pool::new(engine, 1, Handle::current());
    for _ in 0..3 {
        let error = pool.run(job(&bad)).await.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Panic), "{error}");
        assert!(
            error
                .message
                .starts_with("a host function panicked: the host is broken ("),
            "{error}"
        );
        assert_eq!(pool.run(job(&good)).await.unwrap().as_int(), Ok(3));
    }
    assert_eq!(pool.threads(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_are_not_disturbed_by_misbehaving_ones() {
    let engine = engine();
    let good = compile(
        &engine,
        &[(
            "tasks/main.rhai",
            "answer(spec.size) + spec.ports.map(|p| p.number).len()",
        )],
    );
    let bad: Vec<_> = [
        "let n = 0; loop { n += 1 }",
        "crash()",
        "fn f() { f() } f()",
        "let s = \"x\"; loop { s += s }",
        "throw \"no\"",
        "wait_ready()",
    ]
    .iter()
    .map(|script| compile(&engine, &[("tasks/main.rhai", script)]))
    .collect();
    let pool = Pool::new(engine, 4, Handle::current());
    let runs = (0..120).map(|n| {
        let (pool, program, is_good) = match n % 2 {
            0 => (&pool, &good, true),
            _ => (&pool, &bad[n / 2 % bad.len()], false),
        };
        async move {
            let mut job = job(program);
            job.limits.operations = 50_000;
            (is_good, pool.run(job).await)
        }
    });
    for (is_good, answer) in futures::future::join_all(runs).await {
        match answer {
            Ok(value) => assert_eq!((is_good, value.as_int()), (true, Ok(5))),
            Err(error) => assert!(!is_good, "{error:#}"),
        }
    }
    assert!(pool.threads() <= 4);
}
