//! The way to the host: what is handed out counts as delivered once it was written there, and not before.

use std::sync::Arc;

use frith_actors::env::{real::stdio::Outlet, world::Blocking};
use rmcp::{
    RoleServer,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::io::Stdin;

use crate::call::{Handing, told_apart};

/// Standard input and the host's end of what was standard output.
pub struct ToHost {
    lines: AsyncRwTransport<RoleServer, Stdin, Outlet>,
    handing: Handing,
    blocking: Arc<dyn Blocking>,
}

impl ToHost {
    /// Reads standard input, and writes into `outlet`.
    pub fn new(outlet: Outlet, handing: Handing, blocking: Arc<dyn Blocking>) -> Self {
        Self { lines: AsyncRwTransport::new_server(tokio::io::stdin(), outlet), handing, blocking }
    }
}

impl Transport<RoleServer> for ToHost {
    type Error = std::io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answers = match &message {
            JsonRpcMessage::Response(response) => Some(told_apart(&response.id)),
            JsonRpcMessage::Error(error) => error.id.as_ref().map(told_apart),
            _ => None,
        };
        let (sending, handing, blocking) = (self.lines.send(message), self.handing.clone(), Arc::clone(&self.blocking));
        async move {
            let sent = sending.await;
            if let Some(request) = answers {
                let is_written = sent.is_ok();
                blocking.run(Box::new(move || handing.end(&request, is_written)));
            }
            sent
        }
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.lines.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.lines.close()
    }
}
