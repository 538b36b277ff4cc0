//! What hookbox is to a server: a client that can do nothing but call tools.

use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::service::{RequestContext, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};

use crate::mcp::meter::Meter;

/// Refuses what a server asks of its client: no sampling, no questions to the user, no list of directories.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client;

impl ClientHandler for Client {
    // Sampling and questions are refused by the trait itself.
    #[expect(deprecated, reason = "roots are on their way out; until then they are refused")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<rmcp::model::ListRootsRequestMethod>())
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("hookbox", env!("CARGO_PKG_VERSION")),
        )
    }
}

/// A transport that lets through what a client of tools needs: answers, and a bounded number of requests, to be
/// refused. Notifications are dropped here, before anything is done about each of them.
pub(super) struct Quiet<T> {
    pub(super) inner: T,
    pub(super) meter: Arc<Meter>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Quiet<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message: ServerJsonRpcMessage = self.inner.receive().await?;
            match &message {
                JsonRpcMessage::Notification(_) => {}
                JsonRpcMessage::Request(_) if !self.meter.answers() => {}
                _ => return Some(message),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
