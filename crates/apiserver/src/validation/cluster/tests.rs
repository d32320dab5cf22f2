//! Replays what the real server said.
