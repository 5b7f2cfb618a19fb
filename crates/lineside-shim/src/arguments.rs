//! The arguments behind `hook`: a host, the name of an event where the entry states it, the document of a setting that
//! hands it over as an argument, and places that are not those of the account.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::slice::Iter;
use std::sync::Arc;
use std::time::Duration;

use lineside_account::Named;

use crate::gates::{HOSTS, Host};

/// Which call it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) host: Host,
    pub(crate) event: Option<String>,
    /// The document, where it does not come on standard input.
    pub(crate) document: Option<Arc<Vec<u8>>>,
    /// How long the entry lets its command run, where that is not the usual time.
    pub(crate) within: Option<Duration>,
    /// The places that the entry was installed with, where they are not the account's own.
    pub(crate) named: Named,
}

/// The event of a document that comes as an argument: the setting `notify` of Codex, which takes no answer.
const NOTIFY: &str = "notify";

/// The longest time of an entry, in seconds.
const LONGEST: u64 = 24 * 60 * 60;

/// Why the arguments are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadArgumentsError {
    /// No host is named.
    NoHost,
    /// There is no such host.
    UnknownHost(String),
    /// `--event` has no value that is text.
    NoEvent,
    /// `--notify` has no document behind it.
    NoDocument,
    /// `--within` has no number of seconds behind it that an entry may have.
    NoTime,
    /// The option of a place has no absolute path.
    NoPlace(String),
    /// Something else.
    Unknown(String),
}

impl fmt::Display for ReadArgumentsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usage = "use: lineside hook HOST [--event NAME] [--within SECONDS] [--home DIR] [--config DIR] [--state DIR] [--socket PATH]";
        match self {
            Self::NoHost => write!(f, "`hook` needs the name of a host; {usage}")?,
            Self::UnknownHost(name) => write!(f, "there is no host {name:?}; {usage}")?,
            Self::NoDocument => write!(f, "`--notify` needs a document; {usage}")?,
            Self::NoEvent => write!(f, "`--event` needs the name of an event; {usage}")?,
            Self::NoTime => write!(f, "`--within` needs a number of seconds from 2 to {LONGEST}; {usage}")?,
            Self::NoPlace(option) => write!(f, "`{option}` needs an absolute path; {usage}")?,
            Self::Unknown(argument) => write!(f, "`hook` does not take {argument:?}; {usage}")?,
        }
        let names: Vec<_> = HOSTS.iter().map(|host| host.name()).collect();
        write!(f, " with one of {}", names.join(", "))
    }
}

impl Arguments {
    /// Reads `HOST [--event NAME] [--within SECONDS] [--notify DOCUMENT]` and places, in any order; `--event=NAME` is the same.
    pub(crate) fn read(arguments: &[OsString]) -> Result<Self, ReadArgumentsError> {
        let (mut host, mut event, mut document, mut within) = (None, None, None, None);
        let mut named = Named::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--event") => {
                    let name = arguments.next().and_then(|name| name.to_str());
                    event = Some(name.ok_or(ReadArgumentsError::NoEvent)?.to_owned());
                }
                Some("--notify") => {
                    let text = arguments.next().ok_or(ReadArgumentsError::NoDocument)?;
                    document = Some(Arc::new(text.as_bytes().to_vec()));
                    event = event.or_else(|| Some(NOTIFY.to_owned()));
                }
                Some("--within") => {
                    let seconds = arguments.next().and_then(|seconds| seconds.to_str()?.parse().ok());
                    let seconds = seconds.filter(|seconds| (2..=LONGEST).contains(seconds));
                    within = Some(Duration::from_secs(seconds.ok_or(ReadArgumentsError::NoTime)?));
                }
                Some(text) if text.starts_with("--event=") => {
                    event = text.strip_prefix("--event=").map(str::to_owned);
                }
                Some(text) if text.starts_with("--") => place(&mut named, argument, &mut arguments)?,
                Some(text) if host.is_none() && !text.starts_with('-') => {
                    let named = Host::named(text);
                    host = Some(named.ok_or_else(|| ReadArgumentsError::UnknownHost(text.to_owned()))?);
                }
                _ => return Err(unknown(argument)),
            }
        }
        let event = event.filter(|event| !event.is_empty());
        Ok(Self { host: host.ok_or(ReadArgumentsError::NoHost)?, event, document, within, named })
    }

    /// Reads places alone.
    pub(crate) fn places(arguments: &[OsString]) -> Result<Named, ReadArgumentsError> {
        let (mut named, mut arguments) = (Named::default(), arguments.iter());
        while let Some(argument) = arguments.next() {
            place(&mut named, argument, &mut arguments)?;
        }
        Ok(named)
    }
}

fn unknown(argument: &OsStr) -> ReadArgumentsError {
    ReadArgumentsError::Unknown(argument.to_string_lossy().into_owned())
}

/// Reads the option of a place, whose path may stand behind it.
fn place(
    named: &mut Named,
    option: &OsStr,
    behind: &mut Iter<'_, OsString>,
) -> Result<(), ReadArgumentsError> {
    let text = option.to_str().ok_or_else(|| unknown(option))?;
    let (name, inline) = text.split_once('=').map_or((text, None), |(name, path)| (name, Some(path)));
    let place = named.option(name).ok_or_else(|| unknown(option))?;
    let path = inline.map(PathBuf::from).or_else(|| behind.next().map(PathBuf::from));
    let path = path.filter(|path| path.is_absolute());
    *place = Some(path.ok_or_else(|| ReadArgumentsError::NoPlace(name.to_owned()))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Arguments, ReadArgumentsError> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Arguments::read(&arguments)
    }

    #[test]
    fn a_host_and_an_event_are_read_in_any_order() {
        let call = |event: Option<&str>| Arguments {
            host: Host::Copilot,
            event: event.map(str::to_owned),
            document: None,
            within: None,
            named: Named::default(),
        };
        assert_eq!(read(&["copilot"]), Ok(call(None)));
        assert_eq!(read(&["copilot", "--event", "preToolUse"]), Ok(call(Some("preToolUse"))));
        assert_eq!(read(&["--event=preToolUse", "copilot"]), Ok(call(Some("preToolUse"))));
        assert_eq!(read(&["copilot", "--event", ""]), Ok(call(None)));
    }

    #[test]
    fn a_document_may_be_an_argument() {
        // CX-3
        let document = Some(Arc::new(b"{\"type\": 1}".to_vec()));
        let event = Some(NOTIFY.to_owned());
        let call = Arguments { host: Host::Codex, event, document, within: None, named: Named::default() };
        assert_eq!(read(&["codex", "--notify", "{\"type\": 1}"]), Ok(call));
        assert_eq!(read(&["codex", "--notify"]), Err(ReadArgumentsError::NoDocument));
    }

    #[test]
    fn the_time_of_an_entry_is_a_number_of_seconds() {
        let of = |seconds| read(&["codex", "--within", seconds]).map(|arguments| arguments.within);
        assert_eq!(of("601"), Ok(Some(Duration::from_secs(601))));
        for wrong in ["1", "-5", "10min", "86401", ""] {
            assert_eq!(of(wrong), Err(ReadArgumentsError::NoTime), "{wrong}");
        }
        assert_eq!(read(&["codex", "--within"]), Err(ReadArgumentsError::NoTime));
    }

    #[test]
    fn places_are_absolute_paths_behind_their_options() {
        let found =
            read(&["--home", "/h", "claude", "--socket=/s", "--state", "/x", "--config", "/c"]).unwrap();
        assert_eq!(
            found.named.arguments(),
            ["--home", "/h", "--config", "/c", "--state", "/x", "--socket", "/s"]
        );
        for wrong in [&["claude", "--home"][..], &["claude", "--home", "h"], &["claude", "--home="]] {
            assert_eq!(read(wrong), Err(ReadArgumentsError::NoPlace("--home".to_owned())), "{wrong:?}");
        }
    }

    #[test]
    fn anything_else_is_refused_and_named() {
        assert_eq!(read(&[]), Err(ReadArgumentsError::NoHost));
        assert_eq!(read(&["vim"]), Err(ReadArgumentsError::UnknownHost("vim".to_owned())));
        assert_eq!(read(&["claude", "--event"]), Err(ReadArgumentsError::NoEvent));
        assert_eq!(read(&["claude", "codex"]), Err(ReadArgumentsError::Unknown("codex".to_owned())));
        let told = read(&["claude", "-x"]).unwrap_err().to_string();
        assert!(told.starts_with("`hook` does not take \"-x\"; use: lineside hook HOST"), "{told}");
    }
}
