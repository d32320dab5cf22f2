//! How often something may be done: so often in the long run, and a few times more at once.

use std::time::Duration;

use tokio::time::Instant;

/// Turns at a distance. One that nobody takes is kept, up to the burst.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    gap: Duration,
    burst: Duration,
    next: Instant,
}

impl Pace {
    /// A turn each `gap`, and `burst` more at once.
    pub fn new(gap: Duration, burst: u32, now: Instant) -> Self {
        Self { gap, burst: gap.saturating_mul(burst), next: now }
    }

    /// When the next turn is: in the past where it was kept.
    pub fn turn(&self, now: Instant) -> Instant {
        self.next.max(now.checked_sub(self.burst).unwrap_or(now))
    }

    /// Takes the turn of that moment.
    pub fn take(&mut self, turn: Instant) {
        self.next = turn + self.gap;
    }

    /// Takes the next turn, whenever it is. Returns how long until then.
    pub fn wait(&mut self, now: Instant) -> Duration {
        let turn = self.turn(now);
        self.take(turn);
        turn.saturating_duration_since(now)
    }

    /// Takes a turn if there is one now.
    pub fn try_take(&mut self, now: Instant) -> bool {
        let turn = self.turn(now);
        if turn > now {
            return false;
        }
        self.take(turn);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_millis(10);
    const BURST: u32 = 16;

    #[test]
    fn who_comes_now_and_then_never_waits() {
        let start = Instant::now();
        let mut pace = Pace::new(GAP, BURST, start);
        for second in 1..100 {
            for step in 0..BURST {
                let now = start + Duration::from_secs(second) + Duration::from_millis(step.into());
                assert_eq!(pace.wait(now), Duration::ZERO, "{second} {step}");
            }
        }
    }

    #[test]
    fn who_comes_all_the_time_waits_for_the_gap_and_no_longer() {
        let start = Instant::now();
        let mut pace = Pace::new(GAP, BURST, start);
        let (mut now, mut turns) = (start + Duration::from_secs(10), 0);
        let end = now + Duration::from_secs(1);
        while now < end {
            now += Duration::from_micros(100);
            let wait = pace.wait(now);
            assert!(wait <= GAP, "{wait:?}");
            now += wait;
            turns += 1;
        }
        assert!((100..=102 + BURST).contains(&turns), "{turns}");
    }

    #[test]
    fn nothing_is_taken_where_there_is_no_turn() {
        let now = Instant::now();
        let mut pace = Pace::new(GAP, 0, now);
        assert!(pace.try_take(now));
        for early in 0..10 {
            assert!(!pace.try_take(now + Duration::from_millis(early)), "{early}");
        }
        assert!(pace.try_take(now + GAP));
    }
}
