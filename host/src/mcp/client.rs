//! hookbox as the client of a server: it only calls tools.

use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::service::{RequestContext, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};

use crate::mcp::byte_limit::ByteLimit;

/// Refuses every request of a server: no sampling, no questions to the user, no list of directories.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client;

impl ClientHandler for Client {
    // The trait itself refuses sampling and questions.
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

/// A transport that only receives answers, and a bounded number of requests to refuse. It drops
/// notifications, before each of them causes work.
pub(super) struct Quiet<T> {
    pub(super) inner: T,
    pub(super) bytes: Arc<ByteLimit>,
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
                JsonRpcMessage::Request(_) if !self.bytes.may_refuse() => {}
                _ => return Some(message),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
