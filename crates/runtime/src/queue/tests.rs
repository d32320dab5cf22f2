//! The queue's promises, in virtual time.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;

type Log = Rc<RefCell<Vec<(u64, &'static str)>>>;

/// Runs the queue for `seconds`, and says when which key was worked on (in milliseconds).
async fn run_for<W>(
    queue: &Queue<&'static str>,
    width: usize,
    seconds: u64,
    work: impl Fn(&'static str, usize) -> W,
) -> Vec<(u64, &'static str)>
where
    W: Future<Output = Result<Next, Error>>,
{
    let log: Log = Rc::default();
    let began = Instant::now();
    let stop = CancellationToken::new();
    let run = queue.run(width, stop.clone(), |key| {
        log.borrow_mut().push((began.elapsed().as_millis() as u64, key));
        let times = log.borrow().iter().filter(|(_, k)| *k == key).count();
        work(key, times)
    });
    let end = async {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        stop.cancel();
    };
    futures_util::future::join(run, end).await;
    log.take()
}

fn broken() -> Error {
    Error::Unknown("broken".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_once_and_in_order() {
    let queue = Queue::new(Backoff::default());
    for key in ["b", "a", "b", "c", "a"] {
        queue.add(key);
    }
    assert_eq!(queue.depth(), 3);
    let log = run_for(&queue, 1, 1, async |_, _| Ok(Next::Done)).await;
    assert_eq!(log, [(0, "b"), (0, "a"), (0, "c")]);
    assert!(queue.is_idle());
}

#[tokio::test(start_paused = true)]
async fn added_while_worked_on_it_is_worked_on_again_but_never_twice_at_once() {
    let queue = Queue::new(Backoff::default());
    queue.add("a");
    let busy = std::cell::Cell::new(0);
    let log = run_for(&queue, 4, 5, async |key, times| {
        busy.set(busy.get() + 1);
        assert_eq!(busy.get(), 1);
        if times == 1 {
            queue.add(key);
            queue.add(key);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        busy.set(busy.get() - 1);
        Ok(Next::Done)
    })
    .await;
    assert_eq!(log, [(0, "a"), (1000, "a")]);
}

#[tokio::test(start_paused = true)]
async fn failures_double_the_wait_and_success_forgets_them() {
    let queue = Queue::new(Backoff { first: Duration::from_millis(100), longest: Duration::from_millis(500) });
    queue.add("a");
    let log = run_for(&queue, 1, 10, async |_, times| match times {
        1..=5 => Err(broken()),
        6 => Ok(Next::After(Duration::from_secs(1))),
        7 => Err(broken()),
        _ => Ok(Next::Done),
    })
    .await;
    let times: Vec<u64> = log.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 100, 300, 700, 1200, 1700, 2700, 2800]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_key_that_makes_news_of_itself_does_not_spin() {
    let queue = Queue::new(Backoff::default());
    queue.add("a");
    let log = run_for(&queue, 1, 60, async |key, _| {
        queue.add(key);
        Err(broken())
    })
    .await;
    // 5 ms doubled until a second, and then one a second.
    assert!(log.len() < 75, "{}", log.len());
    assert!(log.len() > 55, "{}", log.len());
}

#[tokio::test(start_paused = true)]
async fn news_shortens_the_wait_of_a_failing_key() {
    let backoff = Backoff { first: Duration::from_secs(30), longest: Duration::from_secs(60) };
    let queue = Queue::new(backoff);
    queue.add("a");
    let news = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        queue.add("a");
        queue.add("a");
    };
    let work = run_for(&queue, 1, 20, async |_, times| if times == 1 { Err(broken()) } else { Ok(Next::Done) });
    let (log, ()) = futures_util::future::join(work, news).await;
    assert_eq!(log, [(0, "a"), (5000, "a")]);
    assert!(queue.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_left_alone_as_long_as_it_asks() {
    let queue = Queue::new(Backoff::default());
    queue.add("a");
    let log = run_for(&queue, 1, 20, async |_, times| match times {
        1 => Err(Error::Busy { message: String::new(), after: Some(Duration::from_secs(7)) }),
        _ => Ok(Next::Done),
    })
    .await;
    assert_eq!(log, [(0, "a"), (7000, "a")]);
}

#[tokio::test(start_paused = true)]
async fn the_earliest_delay_holds() {
    let queue = Queue::new(Backoff::default());
    queue.add_after("a", Duration::from_secs(5));
    queue.add_after("a", Duration::from_secs(2));
    queue.add_after("a", Duration::from_secs(9));
    queue.add_after("b", Duration::from_secs(9));
    queue.add("b");
    assert!(!queue.is_idle());
    assert_eq!(queue.depth(), 1);
    let log = run_for(&queue, 1, 20, async |_, _| Ok(Next::Done)).await;
    assert_eq!(log, [(0, "b"), (2000, "a")]);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_the_width_at_a_time() {
    let queue = Queue::new(Backoff::default());
    for key in ["a", "b", "c", "d", "e"] {
        queue.add(key);
    }
    let log = run_for(&queue, 2, 20, async |_, _| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(Next::Done)
    })
    .await;
    assert_eq!(log, [(0, "a"), (0, "b"), (1000, "c"), (1000, "d"), (2000, "e")]);
}

#[tokio::test(start_paused = true)]
async fn what_is_begun_is_ended_and_nothing_new_is_begun() {
    let queue = Queue::new(Backoff::default());
    queue.add("a");
    queue.add("b");
    let began = Instant::now();
    let log = run_for(&queue, 1, 1, async |_, _| {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(Next::Done)
    })
    .await;
    assert_eq!(log, [(0, "a")]);
    assert_eq!(began.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn figures_have_upstreams_names() {
    let metrics = Metrics::default();
    let queue = Queue::named(Backoff::default(), "claims", &metrics);
    let other: Arc<Queue<&str>> = Queue::named(Backoff::default(), "volumes", &metrics);
    other.add("v");
    queue.add("a");
    queue.add("a");
    run_for(&queue, 1, 1, async |_, times| if times == 1 { Err(broken()) } else { Ok(Next::Done) }).await;
    let text = metrics.text();
    for line in [
        "workqueue_depth{name=\"claims\"} 0",
        "workqueue_depth{name=\"volumes\"} 1",
        "workqueue_adds_total{name=\"claims\"} 2",
        "workqueue_retries_total{name=\"claims\"} 1",
        "workqueue_work_duration_seconds_count{name=\"claims\"} 2",
        "workqueue_queue_duration_seconds_count{name=\"claims\"} 2",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

/// Once it spun here until a hand was free, and in virtual time for ever.
#[tokio::test(start_paused = true)]
async fn what_becomes_due_while_all_hands_are_full_waits_for_one() {
    let queue = Queue::new(Backoff::default());
    queue.add("a");
    queue.add_after("b", Duration::from_secs(1));
    let log = run_for(&queue, 1, 5, async |_, _| {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(Next::Done)
    });
    assert_eq!(log.await, [(0, "a"), (3000, "b")]);
}
