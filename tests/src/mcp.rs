//! Clients of `frith mcp`: one that nobody here wrote, and one that sees each line as it is.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rmcp::{
    ClientHandler, RoleClient, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation, InitializeResult, JsonObject,
        ProtocolVersion, ReadResourceRequestParams, ReadResourceResult, RequestMetaObject, Resource, Tool,
    },
    service::{NotificationContext, RunningService, ServiceError},
};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::wait::PATIENCE;

/// A client over the connection of a server, as a host would be one.
pub struct Client {
    service: RunningService<RoleClient, Listening>,
    changes: Arc<AtomicUsize>,
    // Dropped last: the service ends in it.
    runtime: Runtime,
}

struct Listening {
    version: ProtocolVersion,
    changes: Arc<AtomicUsize>,
}

impl ClientHandler for Listening {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("test-host", "1");
        ClientConfig::new(ClientCapabilities::default(), client).with_protocol_version(self.version.clone())
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

impl Client {
    /// One that speaks the newest version with a hello.
    ///
    /// # Panics
    /// The server does not understand it.
    #[track_caller]
    pub fn over(stream: UnixStream) -> Self {
        Self::of_version(stream, ProtocolVersion::V_2025_11_25)
    }

    /// One that asks for this version.
    ///
    /// # Panics
    /// The server does not understand it.
    #[track_caller]
    pub fn of_version(stream: UnixStream, version: ProtocolVersion) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime can be made");
        let changes = Arc::new(AtomicUsize::new(0));
        let listening = Listening { version, changes: Arc::clone(&changes) };
        let service = runtime.block_on(async {
            stream.set_nonblocking(true).expect("a socket can be told not to block");
            let stream = tokio::net::UnixStream::from_std(stream).expect("a socket can be watched");
            let serving = listening.serve(tokio::io::split(stream));
            tokio::time::timeout(PATIENCE, serving).await.expect("the server says hello in time").expect("the server says hello")
        });
        Self { service, changes, runtime }
    }

    /// What the server said of itself.
    ///
    /// # Panics
    /// It said nothing.
    #[track_caller]
    pub fn server(&self) -> InitializeResult {
        let info = self.service.peer_info().expect("the server said what it is");
        serde_json::from_value(serde_json::to_value(&*info).expect("it has a form in JSON")).expect("it is what a hello answers")
    }

    /// The tools it lists.
    ///
    /// # Panics
    /// It does not answer.
    #[track_caller]
    pub fn tools(&self) -> Vec<Tool> {
        self.within(self.service.list_all_tools())
    }

    /// Their names.
    #[track_caller]
    pub fn tool_names(&self) -> Vec<String> {
        self.tools().into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// How often the server said that its tools are others now.
    pub fn changes(&self) -> usize {
        self.changes.load(Ordering::SeqCst)
    }

    /// Calls a tool.
    ///
    /// # Panics
    /// It does not answer, or not as a tool.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        self.within(self.service.call_tool(params(tool, arguments)))
    }

    /// Calls a tool and says this beside the call.
    ///
    /// # Panics
    /// As [`Client::call`].
    #[track_caller]
    pub fn call_with(&self, meta: Value, tool: &str, arguments: Value) -> CallToolResult {
        let mut params = params(tool, arguments);
        params.meta = Some(serde_json::from_value::<RequestMetaObject>(meta).expect("it is an object"));
        self.within(self.service.call_tool(params))
    }

    /// What a tool answers that must not refuse.
    ///
    /// # Panics
    /// It refuses.
    #[track_caller]
    pub fn ok(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result.is_error, Some(true), "{tool}: {}", text(&result));
        result.structured_content.unwrap_or_else(|| panic!("{tool} says nothing as data"))
    }

    /// The words in which a tool refuses.
    ///
    /// # Panics
    /// It does not.
    #[track_caller]
    pub fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result.is_error, Some(true), "{tool}: {}", text(&result));
        text(&result)
    }

    /// The resources it lists.
    ///
    /// # Panics
    /// It does not answer.
    #[track_caller]
    pub fn resources(&self) -> Vec<Resource> {
        self.within(self.service.list_all_resources())
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// The server knows none of this address.
    pub fn read(&self, uri: &str) -> Result<ReadResourceResult, ServiceError> {
        self.runtime.block_on(self.service.read_resource(ReadResourceRequestParams::new(uri)))
    }

    #[track_caller]
    fn within<T>(&self, asked: impl Future<Output = Result<T, ServiceError>>) -> T {
        let answered = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
        answered.expect("the server answers in time").expect("the server answers")
    }
}

fn params(tool: &str, arguments: Value) -> CallToolRequestParams {
    let arguments: JsonObject = serde_json::from_value(arguments).expect("arguments are an object");
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}

/// The text of an answer.
pub fn text(result: &CallToolResult) -> String {
    let blocks = result.content.iter().map(|block| serde_json::to_value(block).unwrap_or_default());
    blocks.filter_map(|block| block["text"].as_str().map(str::to_owned)).collect::<Vec<_>>().join("\n")
}

/// A client that writes lines and reads lines.
pub struct Lines {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
    number: u64,
}

impl Lines {
    /// One over a server's connection, with whom nothing was spoken yet.
    ///
    /// # Panics
    /// The connection cannot be used twice.
    pub fn over(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket can be told to give up");
        let lines = BufReader::new(stream.try_clone().expect("a socket can be opened twice"));
        Self { stream, lines, number: 0 }
    }

    /// Says hello, and answers what the server said.
    #[track_caller]
    pub fn greet(&mut self, version: &str) -> Value {
        let client = json!({ "name": "lines", "version": "1" });
        let hello = self.ask("initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client }));
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        hello
    }

    /// Asks, and answers the line with the answer; what else the server says before is passed over.
    ///
    /// # Panics
    /// A line is none of the protocol, or no answer comes.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        loop {
            let line = self.message().expect("the server answers");
            if line["id"] == id {
                return line;
            }
        }
    }

    /// Asks without waiting, and answers the number of the request.
    #[track_caller]
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.number += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": self.number, "method": method, "params": params }));
        self.number
    }

    /// Says something.
    ///
    /// # Panics
    /// Nobody reads it.
    #[track_caller]
    pub fn say(&mut self, message: &Value) {
        self.say_raw(&format!("{message}\n"));
    }

    /// Says it as it is.
    ///
    /// # Panics
    /// Nobody reads it.
    #[track_caller]
    pub fn say_raw(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).expect("the server reads");
    }

    /// The next message; none when the server ended.
    ///
    /// # Panics
    /// What comes is no line of the protocol.
    #[track_caller]
    pub fn message(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => {
                let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no line of the protocol: {line:?}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                Some(message)
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("the server says nothing: {error}"),
        }
    }

    /// Ends what the server reads.
    ///
    /// # Panics
    /// It ended already.
    pub fn close(&self) {
        self.stream.shutdown(std::net::Shutdown::Write).expect("the server is there");
    }
}
