//! Standard output for one who speaks a protocol over it: nobody else in the process, and nothing that the process starts, writes
//! there any more.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::fd::AsFd as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{io::AsyncWrite, sync::oneshot};

use crate::env::world::Blocking;

/// Takes standard output: what is written to it from now on goes to standard error, and what this answers leads where it led.
///
/// # Errors
/// There is no standard output, or no room for another descriptor.
pub fn take_standard_output() -> io::Result<File> {
    let own = File::from(rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?);
    if rustix::stdio::dup2_stdout(io::stderr()).is_err() {
        rustix::stdio::dup2_stdout(OpenOptions::new().write(true).open("/dev/null")?.as_fd())?;
    }
    Ok(own)
}

/// A file that is written beside the runtime. What was given to it is written once it is flushed.
pub struct Outlet {
    file: Arc<File>,
    blocking: Arc<dyn Blocking>,
    writing: Option<oneshot::Receiver<io::Result<()>>>,
}

impl Outlet {
    /// Writes into this file.
    pub fn new(file: File, blocking: Arc<dyn Blocking>) -> Self {
        Self { file: Arc::new(file), blocking, writing: None }
    }

    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writing) = &mut self.writing else { return Poll::Ready(Ok(())) };
        let written = ready!(Pin::new(writing).poll(cx));
        self.writing = None;
        Poll::Ready(written.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())))
    }
}

impl AsyncWrite for Outlet {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_written(cx))?;
        let (file, owned, (told, writing)) = (Arc::clone(&self.file), bytes.to_vec(), oneshot::channel());
        self.writing = Some(writing);
        self.blocking.run(Box::new(move || {
            // Whoever waited for it may be gone.
            let _ = told.send((&*file).write_all(&owned));
        }));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_written(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;
    use crate::env::real::world::Threads;

    #[tokio::test]
    async fn what_was_flushed_is_written_and_a_reader_that_is_gone_is_told() {
        let (reading, writing) = io::pipe().unwrap();
        let blocking: Arc<dyn Blocking> = Arc::new(Threads(tokio::runtime::Handle::current()));
        let mut outlet = Outlet::new(File::from(std::os::fd::OwnedFd::from(writing)), blocking);
        outlet.write_all(b"one\n").await.unwrap();
        outlet.flush().await.unwrap();
        let mut reading = reading;
        let mut bytes = [0; 4];
        io::Read::read_exact(&mut reading, &mut bytes).unwrap();
        assert_eq!(&bytes, b"one\n");
        drop(reading);
        outlet.write_all(b"two\n").await.unwrap();
        assert!(outlet.flush().await.is_err());
    }
}
