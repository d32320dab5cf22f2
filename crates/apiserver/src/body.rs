//! Response bodies: whole, in pieces, or as they come.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use http_body::{Frame, SizeHint};

/// A response body.
pub struct Body(Kind);

enum Kind {
    Pieces(VecDeque<Bytes>),
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    /// Nothing.
    pub fn empty() -> Self {
        Self(Kind::Pieces(VecDeque::new()))
    }

    /// One piece.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Pieces(VecDeque::from([bytes.into()])))
    }

    /// Pieces that are there already.
    pub fn pieces(pieces: VecDeque<Bytes>) -> Self {
        Self(Kind::Pieces(pieces))
    }

    /// Pieces that come in time.
    pub fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Kind::Stream(Box::pin(stream)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().0 {
            Kind::Pieces(pieces) => Poll::Ready(pieces.pop_front().map(|piece| Ok(Frame::data(piece)))),
            Kind::Stream(stream) => {
                stream.as_mut().poll_next(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Pieces(pieces) if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Pieces(pieces) => SizeHint::with_exact(pieces.iter().map(|p| p.len() as u64).sum()),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}
