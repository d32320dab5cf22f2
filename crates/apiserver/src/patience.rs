//! A stream that does not wait for ever: neither for a client that never says what it speaks, nor for one that never reads.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// The first bytes of HTTP/2: until they are there, or are others, nobody knows what the client speaks, and no time limit of
/// either protocol has begun.
const PREFACE: usize = 24;

/// A stream with time limits for its beginning and for its writes.
pub struct Patient<S> {
    stream: S,
    /// Runs until the client has said what it speaks.
    beginning: Option<Pin<Box<Sleep>>>,
    /// How much it has said.
    said: usize,
    /// How long a write may wait for the client.
    stall: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    /// A stream whose client has `beginning` to say what it speaks, and `stall` to read some of what it is sent.
    pub fn new(stream: S, beginning: Duration, stall: Duration) -> Self {
        Self { stream, beginning: Some(Box::pin(tokio::time::sleep(beginning))), said: 0, stall, stalled: None }
    }

    fn written<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let stall = self.stall;
        let timer = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        if timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")));
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut this.stream).poll_read(cx, buffer);
        let Some(timer) = &mut this.beginning else { return outcome };
        if outcome.is_ready() {
            let fresh = buffer.filled().get(before..).unwrap_or_default();
            // No method of HTTP/1 begins as the preface does.
            let other = this.said == 0 && fresh.first().is_some_and(|byte| *byte != b'P');
            this.said += fresh.len();
            if other || this.said >= PREFACE {
                this.beginning = None;
            }
            return outcome;
        }
        if timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client says nothing")));
        }
        Poll::Pending
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.written(cx, outcome)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write_vectored(cx, pieces);
        this.written(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_flush(cx);
        this.written(cx, outcome)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_shutdown(cx);
        this.written(cx, outcome)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const BEGINNING: Duration = Duration::from_secs(10);
    const STALL: Duration = Duration::from_secs(60);

    async fn read(say: &[u8]) -> io::Result<usize> {
        let (mut client, server) = tokio::io::duplex(100);
        client.write_all(say).await.unwrap();
        let mut server = Patient::new(server, BEGINNING, STALL);
        let mut buffer = [0; 100];
        let mut total = 0;
        loop {
            let next = tokio::time::timeout(Duration::from_secs(100), server.read(&mut buffer)).await;
            match next {
                Ok(read) => total += read?,
                Err(_) => return Ok(total),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_or_half_a_preface_is_left() {
        assert_eq!(read(b"").await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(read(b"PRI * HTTP/2.0\r\n").await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        // From here on the protocols have their own limits.
        assert_eq!(read(b"G").await.unwrap(), 1);
        assert_eq!(read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap(), 24);
    }

    #[tokio::test(start_paused = true)]
    async fn who_never_reads_is_left() {
        let (_client, server) = tokio::io::duplex(100);
        let mut server = Patient::new(server, BEGINNING, STALL);
        assert_eq!(server.write_all(&[0; 1000]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
