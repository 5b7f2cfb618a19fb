//! `lineside mcp`: what agents may ask about the hooks that they are under, as tools of the Model Context Protocol over
//! standard input and output.
//!
//! An agent asks and proposes; nothing here puts a hook in force, trusts anything or answers a question.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use lineside::json::{Map, json};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as Described,
};
use rmcp::service::RequestContext;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};

use crate::daemon_paths::DaemonArgs;

mod drafts;
mod tools;

use tools::{TOOLS, Tool};

/// Serve agents what they may know of their hooks, over the Model Context Protocol.
///
/// An agent program starts it: the server is the command `lineside mcp`, over standard input and output.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    daemon: DaemonArgs,
}

const INSTRUCTIONS: &str = "Hooks decide what you may do here. Ask `explain_command` before a command that may be refused, and `why` after a \
     refusal. With `propose_hook` you leave a draft for a person, who alone puts hooks in force and answers questions.";

/// Runs the command until its input ends.
///
/// # Errors
/// The daemon's places are not known, or the peer does not speak the protocol.
pub(crate) async fn run(args: &McpArgs) -> Result<ExitCode> {
    let server = Server { daemon: args.daemon.clone() };
    // A place that is not known is said now and not to each question.
    server.daemon.paths()?;
    let running = server.serve(stdio_pipes()).await.context("the client has not begun the protocol")?;
    running.waiting().await.context("the server has failed")?;
    Ok(ExitCode::SUCCESS)
}

/// Answers an agent.
struct Server {
    daemon: DaemonArgs,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("lineside", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(described).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        let paths =
            self.daemon.paths().map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let asked = request.arguments.unwrap_or_default();
        let answer = match tool.arguments(&asked) {
            Ok(arguments) => (tool.answer)(arguments, paths).await,
            Err(error) => Err(error),
        };
        // A tool that cannot answer says so to the model, which can do something about it.
        let result = match answer {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(format!("{error:#}"))]),
        };
        Ok(result.into())
    }
}

/// A tool as the protocol has it.
fn described(tool: &Tool) -> Described {
    let properties = tool.takes.iter().map(|field| {
        (field.name.to_owned(), json!({"type": field.kind.as_str(), "description": field.about}))
    });
    let required: Vec<_> = tool.takes.iter().filter(|field| field.required).map(|field| field.name).collect();
    let schema = json!({
        "type": "object", "properties": properties.collect::<Map>(), "required": required, "additionalProperties": false,
    });
    let schema: JsonObject = serde_json::from_str(&schema.to_string()).unwrap_or_default();
    Described::new(tool.name, tool.about, schema)
}
