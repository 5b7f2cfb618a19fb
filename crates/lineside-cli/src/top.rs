//! `lineside top`: all agents in one terminal, as they are now. Reads the stream of signals as `tap` does, and draws at most
//! ten times a second, and only what is another than before.

use std::io::{IsTerminal as _, stdin, stdout};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use crossterm::event::{Event, EventStream};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use lineside::Client;
use lineside::client::{RequestError, Signals};
use lineside::json::{Map, Value};
use lineside::log::Query;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::control::NO_DAEMON;
use crate::daemon_paths::DaemonArgs;
use crate::interrupt::Interrupt;
use crate::log::{GRAMMAR, now, query_text};
use crate::style::{Styles, tell};

mod keys;
mod view;
mod ask;
mod sessions;
mod pages;
mod spans;
mod state;
mod input;
mod screen;
mod terminal;

use ask::{Ask, Asked, Told};
use state::{Link, Top};
use terminal::Taken;

/// Show all agents as they are now: a tree of sessions, questions, jobs, hooks; `?` names the keys.
///
/// A person answers questions there, and retries or drops jobs; below an agent it shows, and changes nothing.
#[derive(Debug, Args)]
#[command(after_help = GRAMMAR)]
pub(crate) struct TopArgs {
    /// Which sessions, by a decision that is found in them, such as `verdict:refused host:codex`.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    #[command(flatten)]
    daemon: DaemonArgs,
}

/// How often the screen is drawn at most.
const TICK: Duration = Duration::from_millis(100);
/// How often it is looked whether times have changed.
const IDLE: Duration = Duration::from_secs(1);
/// Signals are read until none has come for so long, and then the stream is left alone for a while, so that many are one
/// wake-up.
const QUIET: Duration = Duration::from_millis(2);
const REST: Duration = Duration::from_millis(25);
/// How many signals are read before keys are looked at again.
const AT_ONCE: usize = 512;
/// How often it is looked whether there is a daemon again.
const AGAIN: Duration = Duration::from_millis(250);

/// Runs the command.
///
/// # Errors
/// There is no terminal, no daemon, or the query is none.
pub(crate) async fn run(args: &TopArgs, styles: Styles) -> Result<ExitCode> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if !stdin().is_terminal() || !stdout().is_terminal() || is_dumb {
        bail!(
            "`lineside top` needs a terminal; `lineside tap` prints what happens line by line, and `lineside status` how \
             the daemon stands"
        );
    }
    let query = query_text(&args.query);
    Query::parse(&query, now())?;
    let asked = Asked { daemon: args.daemon.clone(), paths: args.daemon.paths()? };
    let client = Client::new(&asked.paths.socket);
    // Everything that the daemon still has, so that the screen does not begin with nothing.
    let signals = match client.signals_as_logged("", Some("0")).await {
        Ok(signals) => signals,
        Err(error) if error.is_no_daemon() => {
            tell(&format!("lineside: {error}; `lineside serve --detached` starts one"));
            return Ok(ExitCode::from(NO_DAEMON));
        }
        Err(error) => return Err(error.into()),
    };
    let mut interrupt = Interrupt::watch()?;
    crossterm::style::force_color_output(styles.out.has_colours());
    let taken = Taken::take()?;
    let mut live = Live {
        top: Top::new(styles.out, query, now().as_millisecond()),
        asked,
        client,
        signals: Some(signals),
        last: None,
        asks: FuturesUnordered::new(),
        next: None,
        taken,
        drawn: Vec::new(),
    };
    let ended = interrupt.before(live.run()).await;
    // The terminal is a shell's again before anything is said in it.
    drop(live);
    ended.unwrap_or_else(|interrupted| Ok(ExitCode::from(interrupted.exit_status())))
}

/// What goes on while it runs.
struct Live {
    top: Top,
    asked: Asked,
    client: Client,
    signals: Option<Signals>,
    /// Where it was when that ended.
    last: Option<String>,
    asks: FuturesUnordered<LocalBoxFuture<'static, (Ask, Told)>>,
    /// The stream of the next daemon, while there is none.
    next: Option<LocalBoxFuture<'static, Result<Signals, RequestError>>>,
    taken: Taken,
    drawn: Vec<ratatui::text::Line<'static>>,
}

impl Live {
    async fn run(&mut self) -> Result<ExitCode> {
        let mut keys = EventStream::new();
        let (mut draws, mut reads) = (Instant::now(), Instant::now());
        let mut is_news = true;
        while !self.top.is_over {
            let at = Instant::now();
            if at >= draws {
                self.draw()?;
                is_news = false;
                draws = Instant::now() + TICK;
            }
            let looks = if is_news { draws } else { draws - TICK + IDLE };
            tokio::select! {
                event = keys.next() => match event {
                    Some(Ok(event)) => {
                        self.input(&event);
                        is_news = true;
                    }
                    // The terminal is gone.
                    _ => break,
                },
                told = self.asks.next(), if !self.asks.is_empty() => {
                    if let Some((ask, told)) = told {
                        self.top.take(&ask, told, now().as_millisecond());
                    }
                    is_news = true;
                }
                signal = next(&mut self.signals, reads) => {
                    let is_quiet = self.hear(signal).await;
                    reads = Instant::now() + if is_quiet { REST } else { Duration::ZERO };
                    is_news = true;
                }
                signals = connected(&mut self.next) => {
                    self.next = None;
                    match signals {
                        Ok(signals) => {
                            self.signals = Some(signals);
                            self.top.links(Link::Up);
                        }
                        Err(_) => self.connect(),
                    }
                    is_news = true;
                }
                () = sleep_until(looks) => is_news = true,
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn input(&mut self, event: &Event) {
        match event {
            Event::Key(key) => self.top.press(*key),
            Event::Mouse(mouse) => self.top.point(*mouse),
            // What stands there may be broken.
            Event::Resize(..) => self.drawn.clear(),
            _ => {}
        }
    }

    /// Takes in what has come of the stream, and says whether that is all.
    async fn hear(&mut self, first: Option<Map>) -> bool {
        let now = now().as_millisecond();
        let mut next = first;
        for _ in 0..AT_ONCE {
            let Some(line) = next else {
                self.last = self.signals.take().and_then(|signals| signals.last().map(str::to_owned));
                self.top.links(Link::Down);
                self.connect();
                return true;
            };
            // What it has no more of at the beginning is not lost: this was not there.
            let is_before =
                self.top.fleet.heard() == 0 && line.get("kind").and_then(Value::as_str) == Some("lost");
            if !is_before {
                self.top.hear(&line, now);
            }
            let Some(signals) = &mut self.signals else { return true };
            match timeout(QUIET, signals.next()).await {
                Ok(further) => next = further,
                Err(_) => return true,
            }
        }
        false
    }

    /// Goes on where it was as soon as there is a daemon.
    fn connect(&mut self) {
        let (client, last) = (self.client.clone(), self.last.clone());
        self.next = Some(
            async move {
                sleep(AGAIN).await;
                client.signals_as_logged("", last.as_deref().or(Some("0"))).await
            }
            .boxed_local(),
        );
    }

    /// Draws, if anything is another than before.
    fn draw(&mut self) -> Result<()> {
        let now = now().as_millisecond();
        self.top.fleet.settle(now);
        for ask in self.top.due(now) {
            self.asks.push(self.asked.clone().ask(ask).boxed_local());
        }
        let size = self.taken.screen.size()?;
        let lines = self.top.screen((size.width.into(), size.height.into()), now);
        if lines != self.drawn {
            self.drawn.clone_from(&lines);
            self.taken.screen.draw(|frame| screen::draw(frame, lines))?;
        }
        Ok(())
    }
}

/// The next signal, not before a time. Cancel safe.
async fn next(signals: &mut Option<Signals>, at: Instant) -> Option<Map> {
    sleep_until(at).await;
    match signals {
        Some(signals) => signals.next().await,
        None => std::future::pending().await,
    }
}

async fn connected(
    next: &mut Option<LocalBoxFuture<'static, Result<Signals, RequestError>>>,
) -> Result<Signals, RequestError> {
    match next {
        Some(next) => next.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
