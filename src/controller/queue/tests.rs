//! Tests of the queue's guarantees: order, one run at a time, no lost trigger.

use super::*;
use std::collections::HashSet;

use futures::FutureExt;
use proptest::prelude::*;

use crate::clock::Instant;
use crate::telemetry::Metrics;
use crate::telemetry::metrics::ReconcileResult;

/// Without jitter, so that tests can name times.
const BACKOFF: Backoff = Backoff {
    initial: Duration::from_secs(1),
    max: Duration::from_mins(5),
    jitter: 0.0,
};

fn mk_queue(limits: &[usize]) -> (Queue, Vec<KindId>) {
    let queue = Queue::new(100, BACKOFF, RunRate::default());
    let kinds = limits
        .iter()
        .map(|limit| queue.add_kind(*limit, Metrics::default().controller("k")))
        .collect();
    (queue, kinds)
}

fn mk_rate(per_minute: u32) -> RunRate {
    RunRate {
        per_minute: per_minute.try_into().unwrap(),
    }
}

fn mk_key(kind: KindId, name: &str) -> Key {
    Key {
        kind,
        namespace: Some("ns".into()),
        name: name.into(),
    }
}

fn take(queue: &Queue) -> Option<Slot> {
    queue.next().now_or_never()
}

fn failures(slot: &Slot) -> u32 {
    slot.queue.0.state.lock().failures(&slot.work().key)
}

fn names(queue: &Queue) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(slot) = take(queue) {
        names.push(slot.work().key.name.to_string());
        slot.finish(Next::Done);
    }
    names
}

fn failed() -> Next {
    Next::Retry {
        not_before: Duration::ZERO,
    }
}

fn after(delay: Duration, reason: Reason) -> Next {
    Next::At {
        delay,
        reason,
        ending: ReconcileResult::Success,
    }
}

async fn wait(queue: &Queue) -> (Duration, Slot) {
    let start = clock::now();
    let slot = queue.next().await;
    (clock::now() - start, slot)
}

#[tokio::test(start_paused = true)]
async fn triggers_of_one_key_make_one_run_with_the_first_reason() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    for reason in [Reason::Period, Reason::Child, Reason::Changed, Reason::Read] {
        queue.add(&key, reason, 0);
    }
    let slot = take(&queue).unwrap();
    assert_eq!(slot.work().reason, Reason::Changed);
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_trigger_during_a_run_makes_one_more_run_afterwards() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    queue.add(&key, Reason::Created, 0);
    let slot = take(&queue).unwrap();
    queue.add(&key, Reason::Child, 0);
    queue.add(&key, Reason::Read, 0);
    assert!(take(&queue).is_none(), "never two at a time");
    slot.finish(Next::Done);
    let again = take(&queue).unwrap();
    assert_eq!(again.work().reason, Reason::Child);
    again.finish(Next::Done);
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn keys_of_a_kind_go_in_the_order_of_arrival() {
    let (queue, kinds) = mk_queue(&[4]);
    for name in ["c", "a", "b"] {
        queue.add(&mk_key(kinds[0], name), Reason::Changed, 0);
    }
    assert_eq!(names(&queue), ["c", "a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn deletions_go_first_and_the_backlog_last_with_the_newest_first() {
    let (queue, kinds) = mk_queue(&[4]);
    for (name, reason, rank) in [
        ("old", Reason::Startup, 1),
        ("new", Reason::Startup, 9),
        ("event", Reason::Child, 0),
        ("gone", Reason::Deleted, 0),
        ("twin", Reason::Startup, 9),
    ] {
        queue.add(&mk_key(kinds[0], name), reason, rank);
    }
    assert_eq!(names(&queue), ["gone", "event", "new", "twin", "old"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_of_the_backlog_moves_up_when_it_changes() {
    let (queue, kinds) = mk_queue(&[4]);
    for (name, rank) in [("a", 9), ("b", 8), ("c", 7)] {
        queue.add(&mk_key(kinds[0], name), Reason::Startup, rank);
    }
    queue.add(&mk_key(kinds[0], "c"), Reason::Changed, 7);
    assert_eq!(names(&queue), ["c", "a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn the_backlog_has_its_turn_under_steady_load() {
    let (queue, kinds) = mk_queue(&[1]);
    queue.add(&mk_key(kinds[0], "backlog"), Reason::Startup, 0);
    for index in 0..100 {
        queue.add(&mk_key(kinds[0], &format!("e{index}")), Reason::Child, 0);
    }
    let order = names(&queue);
    let place = order.iter().position(|name| name == "backlog").unwrap();
    assert!(place < 12, "{place}");
    assert_eq!(order.len(), 101);
}

#[tokio::test(start_paused = true)]
async fn kinds_take_turns() {
    let (queue, kinds) = mk_queue(&[9, 9]);
    for index in 0..50 {
        queue.add(&mk_key(kinds[0], &format!("a{index}")), Reason::Child, 0);
    }
    queue.add(&mk_key(kinds[1], "b0"), Reason::Child, 0);
    queue.add(&mk_key(kinds[1], "b1"), Reason::Child, 0);
    assert_eq!(names(&queue)[..5], ["a0", "b0", "a1", "b1", "a2"]);
}

#[tokio::test(start_paused = true)]
async fn bounds_hold_per_kind_and_in_all() {
    let queue = Queue::new(3, BACKOFF, RunRate::default());
    let one = queue.add_kind(2, Metrics::default().controller("one"));
    let other = queue.add_kind(9, Metrics::default().controller("other"));
    for index in 0..5 {
        queue.add(&mk_key(one, &index.to_string()), Reason::Child, 0);
        queue.add(&mk_key(other, &index.to_string()), Reason::Child, 0);
    }
    let slots: Vec<_> = std::iter::from_fn(|| take(&queue)).collect();
    let of_one = slots.iter().filter(|slot| slot.work().key.kind == one);
    assert_eq!((slots.len(), of_one.count()), (3, 2));
    assert_eq!(queue.0.state.lock().running(), 3);
    drop(slots);
    assert_eq!(queue.0.state.lock().running(), 0);
    queue.set_limit(one, 0);
    let next = take(&queue).unwrap();
    assert_eq!(next.work().key.kind, other);
}

#[tokio::test(start_paused = true)]
async fn a_free_slot_wakes_the_waiting_task() {
    let (queue, kinds) = mk_queue(&[1]);
    queue.add(&mk_key(kinds[0], "a"), Reason::Child, 0);
    queue.add(&mk_key(kinds[0], "b"), Reason::Child, 0);
    let slot = take(&queue).unwrap();
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.next().await.work().key.name.to_string() }
    });
    tokio::task::yield_now().await;
    slot.finish(Next::Done);
    assert_eq!(waiting.await.unwrap(), "b");
}

#[tokio::test(start_paused = true)]
async fn failures_back_off_and_a_run_that_completes_resets_them() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    queue.add(&key, Reason::Created, 0);
    take(&queue).unwrap().finish(failed());
    for (expected, count) in [(1, 1), (2, 2), (4, 3), (8, 4)] {
        let (waited, slot) = wait(&queue).await;
        assert_eq!(waited.as_secs(), expected);
        assert_eq!(slot.work().reason, Reason::Retry);
        assert_eq!(failures(&slot), count);
        slot.finish(failed());
    }
    let (_, slot) = wait(&queue).await;
    slot.finish(Next::Done);
    queue.add(&key, Reason::Child, 0);
    take(&queue).unwrap().finish(failed());
    assert_eq!(wait(&queue).await.0.as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delay_of_the_server_lengthens_a_backoff() {
    let (queue, kinds) = mk_queue(&[4]);
    queue.add(&mk_key(kinds[0], "a"), Reason::Created, 0);
    take(&queue).unwrap().finish(Next::Retry {
        not_before: Duration::from_secs(30),
    });
    assert_eq!(wait(&queue).await.0.as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_trigger_cuts_a_backoff_short_and_early_runs_are_spaced() {
    for during_the_run in [true, false] {
        let (queue, kinds) = mk_queue(&[4]);
        let key = mk_key(kinds[0], "a");
        queue.add(&key, Reason::Created, 0);
        let mut slot = take(&queue).unwrap();
        // The backoff is long by now.
        for _ in 0..9 {
            slot.finish(failed());
            slot = wait(&queue).await.1;
        }
        for expected in [1, 2, 4, 8, 10, 10] {
            if during_the_run {
                queue.add(&key, Reason::Child, 0);
            }
            slot.finish(failed());
            if !during_the_run {
                queue.add(&key, Reason::Child, 0);
            }
            let waited;
            (waited, slot) = wait(&queue).await;
            let reason = slot.work().reason;
            assert_eq!((waited.as_secs(), reason), (expected, Reason::Child));
        }
        slot.finish(failed());
        clock::advance(Duration::from_mins(1)).await;
        queue.add(&key, Reason::Read, 0);
        let slot = take(&queue).expect("the trigger came late enough");
        assert!(failures(&slot) > 9, "the backoff goes on growing");
        slot.finish(Next::Done);
        queue.add(&key, Reason::Child, 0);
        take(&queue).unwrap().finish(failed());
        queue.add(&key, Reason::Child, 0);
        assert_eq!(
            wait(&queue).await.0.as_secs(),
            1,
            "a run that completes resets it"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_trigger_shortens_neither_a_pause_nor_a_delay_of_the_server() {
    let pause = Duration::from_mins(5);
    for next in [
        Next::Pause { delay: pause },
        Next::Retry { not_before: pause },
    ] {
        let (queue, kinds) = mk_queue(&[4]);
        let key = mk_key(kinds[0], "a");
        queue.add(&key, Reason::Created, 0);
        take(&queue).unwrap().finish(next);
        queue.add(&key, Reason::Child, 0);
        assert_eq!(wait(&queue).await.0, pause);
    }
}

#[tokio::test(start_paused = true)]
async fn a_newer_generation_cuts_a_backoff_short_and_resets_it() {
    for during_the_run in [true, false] {
        let (queue, kinds) = mk_queue(&[4]);
        let key = mk_key(kinds[0], "a");
        queue.add(&key, Reason::Created, 0);
        let slot = take(&queue).unwrap();
        if during_the_run {
            queue.add(&key, Reason::Changed, 0);
        }
        slot.finish(failed());
        if !during_the_run {
            queue.add(&key, Reason::Changed, 0);
        }
        let slot = take(&queue).unwrap();
        assert_eq!((slot.work().reason, failures(&slot)), (Reason::Changed, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_overrides_a_delay_and_the_delay_is_gone() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    queue.add(&key, Reason::Created, 0);
    take(&queue)
        .unwrap()
        .finish(after(Duration::from_mins(1), Reason::Period));
    queue.add(&key, Reason::Child, 0);
    take(&queue)
        .unwrap()
        .finish(after(Duration::from_secs(100), Reason::Requeue));
    let (waited, slot) = wait(&queue).await;
    assert_eq!(
        (waited.as_secs(), slot.work().reason),
        (100, Reason::Requeue)
    );
}

#[tokio::test(start_paused = true)]
async fn a_paused_key_runs_after_its_delay_or_on_a_request() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    let hold = Next::Pause {
        delay: Duration::from_mins(5),
    };
    queue.add(&key, Reason::Child, 0);
    take(&queue).unwrap().finish(hold.clone());
    queue.add(&key, Reason::Child, 0);
    let (waited, slot) = wait(&queue).await;
    assert_eq!(waited.as_secs(), 300);
    slot.finish(hold);
    queue.add(&key, Reason::Requested, 0);
    assert!(take(&queue).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_newer_generation_cancels_a_run_but_not_two_in_a_row() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    queue.add(&key, Reason::Created, 0);
    let mut cancelled = Vec::new();
    for _ in 0..4 {
        let slot = take(&queue).unwrap();
        queue.supersede(&key, Reason::Changed, 0, Interruption::Generation);
        let is_cancelled = slot.work().cancel.is_cancelled();
        cancelled.push(is_cancelled);
        slot.finish(if is_cancelled {
            Next::Requeue
        } else {
            Next::Done
        });
    }
    assert_eq!(cancelled, [true, false, true, false]);
    let slot = take(&queue).unwrap();
    queue.supersede(&key, Reason::Changed, 0, Interruption::Generation);
    slot.finish(Next::Requeue);
    let slot = take(&queue).unwrap();
    queue.supersede(&key, Reason::Deleted, 0, Interruption::Deletion);
    assert!(slot.work().cancel.is_cancelled(), "a deletion always does");
}

#[tokio::test(start_paused = true)]
async fn a_newer_generation_does_not_cancel_the_run_that_it_starts() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    queue.supersede(&key, Reason::Changed, 0, Interruption::Deletion);
    assert!(!take(&queue).unwrap().work().cancel.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_key_runs_no_more_in_any_phase() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    queue.add(&key, Reason::Created, 0);
    queue.forget(&key);
    assert!(take(&queue).is_none(), "ready");
    queue.add(&key, Reason::Created, 0);
    let slot = take(&queue).unwrap();
    queue.add(&key, Reason::Child, 0);
    queue.forget(&key);
    assert!(slot.work().cancel.is_cancelled());
    slot.finish(after(Duration::from_secs(1), Reason::Period));
    queue.add(&key, Reason::Created, 0);
    take(&queue).unwrap().finish(failed());
    queue.forget(&key);
    tokio::time::advance(Duration::from_hours(1)).await;
    assert!(take(&queue).is_none(), "delayed");
}

#[tokio::test(start_paused = true)]
async fn a_key_made_again_during_its_last_run_starts_afresh() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    queue.add(&key, Reason::Deleted, 0);
    let slot = take(&queue).unwrap();
    queue.forget(&key);
    queue.add(&key, Reason::Created, 0);
    slot.finish(failed());
    let slot = take(&queue).unwrap();
    assert_eq!((slot.work().reason, failures(&slot)), (Reason::Created, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_panics_frees_its_slot_and_counts_as_failed() {
    let (queue, kinds) = mk_queue(&[1]);
    queue.add(&mk_key(kinds[0], "a"), Reason::Created, 0);
    let slot = take(&queue).unwrap();
    let run = tokio::spawn(async move {
        let _slot = slot;
        panic!("in a run");
    });
    assert!(run.await.is_err());
    assert_eq!(queue.0.state.lock().running(), 0);
    assert_eq!(failures(&wait(&queue).await.1), 1);
}

/// Returns the number of runs of a key in a time, if each run triggers the next one at once.
async fn runs_in(time: Duration, rate: RunRate, trigger: impl Fn(&Queue, &Key)) -> usize {
    let queue = Queue::new(100, BACKOFF, rate);
    let kind = queue.add_kind(4, Metrics::default().controller("k"));
    let (key, end) = (mk_key(kind, "a"), clock::now() + time);
    let mut runs = 0;
    trigger(&queue, &key);
    while let Ok(slot) = tokio::time::timeout_at(end, queue.next()).await {
        trigger(&queue, &key);
        slot.finish(Next::Done);
        runs += 1;
        if runs == 10_000 {
            break;
        }
    }
    runs
}

#[tokio::test(start_paused = true)]
async fn a_key_that_triggers_itself_runs_at_the_rate_after_a_burst() {
    let bounded = [
        Reason::Child,
        Reason::Read,
        Reason::Resumed,
        Reason::Role,
        Reason::Retry,
        Reason::Requeue,
        Reason::Period,
    ];
    for reason in bounded {
        let add = |queue: &Queue, key: &Key| queue.add(key, reason, 0);
        let runs = runs_in(Duration::from_secs(59), mk_rate(60), add).await;
        assert!((118..=120).contains(&runs), "{reason}: {runs}");
    }
    let change = |queue: &Queue, key: &Key| {
        queue.supersede(key, Reason::Changed, 0, Interruption::Content);
    };
    let runs = runs_in(Duration::from_secs(59), mk_rate(60), change).await;
    assert!(
        (118..=120).contains(&runs),
        "labels and annotations: {runs}"
    );
}

#[tokio::test(start_paused = true)]
async fn requests_of_users_are_not_rate_limited() {
    let (rate, time) = (mk_rate(1), Duration::from_secs(1));
    let generation = |queue: &Queue, key: &Key| {
        queue.supersede(key, Reason::Changed, 0, Interruption::Generation);
    };
    assert_eq!(runs_in(time, rate, generation).await, 10_000);
    let request = |queue: &Queue, key: &Key| queue.add(key, Reason::Requested, 0);
    assert_eq!(runs_in(time, rate, request).await, 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_bounded_key_is_reported_and_gives_way_to_a_new_generation() {
    let queue = Queue::new(100, BACKOFF, mk_rate(1));
    let kind = queue.add_kind(4, Metrics::default().controller("k"));
    let key = mk_key(kind, "a");
    let other = mk_key(kind, "b");
    for reason in [Reason::Read, Reason::Child] {
        queue.add(&key, reason, 0);
        while let Some(slot) = take(&queue) {
            assert!(!slot.work().rate_limited);
            slot.finish(Next::Done);
        }
    }
    queue.add(&other, Reason::Read, 0);
    assert_eq!(names(&queue), ["b"], "other keys have buckets of their own");
    queue.add(&key, Reason::Read, 0);
    assert!(
        take(&queue).is_none(),
        "merged with the one that is delayed"
    );
    queue.supersede(&key, Reason::Changed, 0, Interruption::Generation);
    let slot = take(&queue).unwrap();
    assert_eq!(
        (slot.work().reason, slot.work().rate_limited),
        (Reason::Changed, true)
    );
    slot.finish(Next::Done);
    queue.add(&key, Reason::Child, 0);
    let (waited, slot) = wait(&queue).await;
    assert_eq!((waited.as_secs(), slot.work().reason), (60, Reason::Child));
    assert!(!slot.work().rate_limited, "reported within this minute");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_gave_way_to_a_change_that_is_not_seen_yet_backs_off() {
    let (queue, kinds) = mk_queue(&[4]);
    let key = mk_key(kinds[0], "a");
    queue.add(&key, Reason::Child, 0);
    take(&queue).unwrap().finish(Next::Requeue);
    let (waited, slot) = wait(&queue).await;
    assert_eq!((waited.as_secs(), slot.work().reason), (1, Reason::Retry));
    slot.finish(Next::Requeue);
    let (waited, slot) = wait(&queue).await;
    assert_eq!(waited.as_secs(), 2);
    slot.finish(Next::Requeue);
    queue.add(&key, Reason::Child, 0);
    assert!(take(&queue).is_some(), "any trigger comes first");
}

#[derive(Clone, Debug)]
enum Step {
    Add(u8, u8),
    Take,
    Finish(u8, u8),
    Advance(u16),
    Forget(u8),
    Supersede(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u8..6, 0u8..6).prop_map(|(key, reason)| Step::Add(key, reason)),
        4 => Just(Step::Take),
        3 => (any::<u8>(), 0u8..5).prop_map(|(slot, then)| Step::Finish(slot, then)),
        1 => (0u16..400).prop_map(Step::Advance),
        1 => (0u8..6).prop_map(Step::Forget),
        1 => (0u8..6).prop_map(Step::Supersede),
    ];
    proptest::collection::vec(step, 0..120)
}

const REASONS: [Reason; 6] = [
    Reason::Deleted,
    Reason::Created,
    Reason::Changed,
    Reason::Child,
    Reason::Startup,
    Reason::Period,
];

fn then(choice: u8) -> Next {
    match choice {
        0 => Next::Done,
        1 => after(Duration::from_secs(7), Reason::Requeue),
        2 => failed(),
        3 => Next::Requeue,
        _ => Next::Pause {
            delay: Duration::from_mins(5),
        },
    }
}

proptest! {
    /// Any sequence of steps respects the bounds, hands out no key twice at a time, and loses no trigger.
    #[test]
    fn no_trigger_is_lost_and_no_bound_is_broken(steps in steps()) {
        let metrics = Metrics::default();
        let mut state = Scheduler::new(3, BACKOFF, mk_rate(2));
        let kinds: Vec<_> = [2, 2].map(|n| state.add_kind(n, metrics.controller("k"))).into();
        let key = |n: u8| mk_key(kinds[usize::from(n) % 2], &n.to_string());
        let start = tokio::runtime::Builder::new_current_thread().build().unwrap()
            .block_on(async { clock::now() });
        let mut now: Instant = start;
        let mut out: Vec<Work> = Vec::new();
        let mut wanted: HashSet<Key> = HashSet::new();
        for step in steps {
            match step {
                Step::Add(n, reason) => {
                    let trigger = Trigger::new(REASONS[usize::from(reason)], 0);
                    state.add(&key(n), trigger, now);
                    wanted.insert(key(n));
                }
                Step::Take => if let Some(work) = state.take(now) {
                    prop_assert!(out.iter().all(|other| other.key != work.key));
                    wanted.remove(&work.key);
                    out.push(work);
                },
                Step::Finish(..) if out.is_empty() => {}
                Step::Finish(slot, choice) => {
                    let work = out.swap_remove(usize::from(slot) % out.len());
                    state.finish(&work.key, &then(choice), now);
                }
                Step::Advance(seconds) => now += Duration::from_secs(seconds.into()),
                Step::Forget(n) => {
                    state.forget(&key(n));
                    wanted.remove(&key(n));
                }
                Step::Supersede(n) => state.interrupt(&key(n), Interruption::Generation),
            }
            prop_assert!(out.len() <= 3);
            for kind in &kinds {
                prop_assert!(out.iter().filter(|work| work.key.kind == *kind).count() <= 2);
            }
        }
        for work in out.drain(..) {
            state.finish(&work.key, &Next::Done, now);
        }
        now += Duration::from_hours(1);
        while let Some(work) = state.take(now) {
            wanted.remove(&work.key);
            state.finish(&work.key, &Next::Done, now);
        }
        prop_assert!(wanted.is_empty(), "{wanted:?}");
        prop_assert_eq!(state.running(), 0);
        prop_assert_eq!(state.next_due(), None);
    }
}

/// Hours of tokio's clock pass between two polls of the queue.
const JUMP: Duration = Duration::from_hours(5);

#[tokio::test(start_paused = true)]
async fn a_jump_of_the_clock_makes_one_run_of_each_key() {
    let (queue, kinds) = mk_queue(&[4]);
    let keys: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    for name in &keys {
        queue.add(&mk_key(kinds[0], name), Reason::Changed, 0);
        let next = match name.len() {
            1 => failed(),
            _ => after(Duration::from_mins(1), Reason::Period),
        };
        take(&queue).unwrap().finish(next);
    }
    clock::advance(JUMP).await;
    let slots: Vec<Slot> = std::iter::from_fn(|| take(&queue)).collect();
    assert_eq!(slots.len(), 4, "the bound of the kind holds");
    for slot in slots {
        slot.finish(Next::Done);
    }
    assert_eq!(
        names(&queue).len(),
        96,
        "periods that were missed are not made up for"
    );
    assert_eq!(names(&queue), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_jump_of_the_clock_fills_a_bucket_once() {
    let queue = Queue::new(100, BACKOFF, mk_rate(60));
    let kind = queue.add_kind(4, Metrics::default().controller("k"));
    let key = mk_key(kind, "a");
    let burst = || {
        let mut runs = 0;
        queue.add(&key, Reason::Child, 0);
        while let Some(slot) = take(&queue) {
            queue.add(&key, Reason::Child, 0);
            slot.finish(Next::Done);
            runs += 1;
        }
        runs
    };
    assert_eq!(burst(), 60);
    clock::advance(JUMP).await;
    assert_eq!(burst(), 60, "a minute's runs, not those of hours");
}
