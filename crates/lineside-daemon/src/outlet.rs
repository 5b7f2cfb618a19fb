//! What the settings have told of something, as JSON: a program, on its standard input, or a server, as a body.

use std::path::PathBuf;
use std::time::Duration;

use lineside::core::exchange::{Addresses, Post, Posted};
use lineside::core::invocation::{Environment, Exit, Invocation, Limits, Program};
use lineside::exec::{HttpClient, Runner};

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How much is kept of what it answers.
const KEPT: usize = 4 << 10;

/// A program or a server. What it answers is not looked at, but whether it has taken what it was given.
pub(crate) enum Outlet {
    /// A program with its arguments. It is started in `/`.
    Command(Vec<String>, Runner),
    /// A URL with headers.
    Post(Post, HttpClient),
}

impl Outlet {
    pub(crate) fn command(words: &[String]) -> Self {
        Self::Command(words.to_vec(), Runner::new())
    }

    pub(crate) fn post(url: &str, addresses: Addresses, headers: Vec<(String, String)>) -> Self {
        let (url, body) = (url.to_owned(), Vec::new());
        let post = Post { url, addresses, headers, body, timeout: LIMIT, body_bytes: KEPT };
        Self::Post(post, HttpClient::new())
    }

    /// Hands it a text over; why it was not taken, if it was not.
    pub(crate) async fn take(&self, text: Vec<u8>) -> Result<(), String> {
        match self {
            Self::Command(words, runner) => {
                let invocation = Invocation {
                    program: Program::argv(words),
                    stdin: text,
                    environment: Environment::default(),
                    files: Vec::new(),
                    working_directory: Some(PathBuf::from("/")),
                    limits: Limits {
                        timeout: LIMIT,
                        stdout_bytes: KEPT,
                        stderr_bytes: KEPT,
                        ..Limits::default()
                    },
                };
                let program = words.first().map_or("", String::as_str);
                match runner.run(&invocation).await.exit {
                    Exit::Code(0) => Ok(()),
                    Exit::Code(status) => Err(format!("{program} ended with exit status {status}")),
                    Exit::NotStarted { why } => Err(why),
                    Exit::TimedOut { after } => {
                        Err(format!("{program} had not ended after {} s", after.as_secs()))
                    }
                    other => Err(format!("{program} ended: {other:?}")),
                }
            }
            Self::Post(post, client) => match client.post(&Post { body: text, ..post.clone() }).await {
                Posted::Answered { status: 200..=299, .. } => Ok(()),
                Posted::Answered { status, .. } => Err(format!("the server answered with status {status}")),
                Posted::Redirected { .. } => Err("the server says that it is elsewhere".to_owned()),
                Posted::TimedOut { after } => Err(format!("no answer after {} s", after.as_secs())),
                Posted::Unreachable { why } => Err(why),
            },
        }
    }

    /// Ends what it has started.
    pub(crate) async fn end(&self) {
        if let Self::Command(_, runner) = self {
            runner.drain().await;
        }
    }
}
