//! A watch on its way to the client: its lines are left out, repeated, held back or cut.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::Kind;
use super::layer::{Ask, Body, BoxError, Layer, broken, patience};

/// How many of its past lines a watch may repeat.
const PAST: usize = 8;

/// The body of a watch, with faults.
pub(super) fn body(layer: Layer, ask: Ask, number: u64, body: Body) -> Body {
    let lines = Lines {
        layer,
        ask,
        number,
        body,
        line: 0,
        unread: BytesMut::new(),
        out: VecDeque::new(),
        past: VecDeque::new(),
        ended: false,
    };
    let frames = stream::unfold(lines, |mut lines| async move {
        let next = lines.next().await?;
        Some((next.map(Frame::data), lines))
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

struct Lines {
    layer: Layer,
    ask: Ask,
    number: u64,
    body: Body,
    line: u64,
    unread: BytesMut,
    out: VecDeque<Bytes>,
    past: VecDeque<Bytes>,
    /// It is over once `out` is empty.
    ended: bool,
}

impl Lines {
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if self.layer.life.is_over() {
                return std::future::pending().await;
            }
            if let Some(bytes) = self.out.pop_front() {
                // An empty piece stands for a connection that breaks here.
                return Some(if bytes.is_empty() { Err(broken()) } else { Ok(bytes) });
            }
            if self.ended {
                return None;
            }
            if let Some(line) = self.take_line() {
                self.deliver(line).await;
                continue;
            }
            match self.body.frame().await? {
                Ok(frame) => self.unread.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn take_line(&mut self) -> Option<Bytes> {
        let end = self.unread.iter().position(|byte| *byte == b'\n')?;
        Some(self.unread.split_to(end + 1).freeze())
    }

    async fn deliver(&mut self, line: Bytes) {
        let event = [self.number, self.line];
        self.line += 1;
        let roll = |kind| self.layer.roll(kind, &event);
        let fault = |what: &str| self.layer.fault(&self.ask, &format!("{what}: {}", shown(&line)));

        if let Some(draw) = roll(Kind::WatchCut) {
            fault("cut in");
            let half = line.slice(..1 + (draw as usize / 2) % (line.len().max(2) - 1));
            self.out.push_back(half);
            if draw.is_multiple_of(2) {
                self.out.push_back(Bytes::new());
            }
            self.ended = true;
            return;
        }
        if roll(Kind::WatchGoneEvent).is_some() {
            fault("410 instead of");
            let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}"#;
            self.out.push_back(format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n").into());
            self.ended = true;
            return;
        }
        if roll(Kind::WatchDrop).is_some() {
            fault("left out");
            return;
        }
        let delay = roll(Kind::WatchDelay).map(patience).unwrap_or(Duration::ZERO);
        if !delay.is_zero() {
            fault(&format!("held back for {delay:?}"));
            tokio::time::sleep(delay).await;
        }
        self.out.push_back(line.clone());
        self.past.push_back(line.clone());
        if self.past.len() > PAST {
            self.past.pop_front();
        }
        if let Some(draw) = self.layer.roll(Kind::WatchRepeat, &event) {
            let again = self.past[draw as usize % self.past.len()].clone();
            self.layer.fault(&self.ask, &format!("again: {}", shown(&again)));
            self.out.push_back(again);
        }
    }
}

/// A line as the trace shows it.
fn shown(line: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Line {
        r#type: String,
        object: Object,
    }
    #[derive(serde::Deserialize)]
    struct Object {
        metadata: Meta,
    }
    #[derive(Default, serde::Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Meta {
        name: String,
        resource_version: String,
    }
    match serde_json::from_slice::<Line>(line) {
        Ok(line) => {
            format!("{} {} at {}", line.r#type, line.object.metadata.name, line.object.metadata.resource_version)
        }
        Err(_) => "a line".to_owned(),
    }
}
