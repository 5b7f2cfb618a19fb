//! What the standard variables say.

use std::collections::HashMap;
use std::time::Duration;

/// Where things go, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The URLs of the collector; `None` for what is not sent.
    pub(crate) traces: Option<String>,
    pub(crate) metrics: Option<String>,
    pub(crate) logs: Option<String>,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) timeout: Duration,
    /// How often metrics are sent.
    pub(crate) interval: Duration,
    pub(crate) resource: Vec<(String, String)>,
    /// Whether what tools are called with, and the reasons of hooks, are sent as well.
    pub(crate) content: bool,
}

/// Why nothing is sent although a collector is named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadSettingsError {
    /// Another protocol is asked for.
    #[error("OTEL_EXPORTER_OTLP_PROTOCOL is `{0}`, and lineside sends http/protobuf alone")]
    Protocol(String),
    /// A number is none.
    #[error("{0} is `{1}`, and no number of milliseconds")]
    Number(&'static str, String),
}

impl Settings {
    /// Reads them: `OTEL_EXPORTER_OTLP_ENDPOINT`, or that of a signal as `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, without which
    /// there are none; `OTEL_EXPORTER_OTLP_HEADERS` and `…_TIMEOUT`; `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER` and
    /// `OTEL_LOGS_EXPORTER`, which may be `none`; `OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_SERVICE_NAME`,
    /// `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_SDK_DISABLED`, and `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`.
    ///
    /// # Errors
    /// What is asked for cannot be done; nothing is sent then.
    pub fn read<'v>(variable: impl Fn(&str) -> Option<&'v str>) -> Result<Option<Self>, ReadSettingsError> {
        let set = |name: &str| variable(name).map(str::trim).filter(|text| !text.is_empty());
        let is_on = |name: &str| set(name).is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let base = set("OTEL_EXPORTER_OTLP_ENDPOINT").map(|url| url.trim_end_matches('/'));
        let of = |signal: &str| {
            if set(&format!("OTEL_{signal}_EXPORTER")).is_some_and(|text| text != "otlp") {
                return None;
            }
            let own = set(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")).map(str::to_owned);
            own.or_else(|| Some(format!("{}/v1/{}", base?, signal.to_ascii_lowercase())))
        };
        let [traces, metrics, logs] = [of("TRACES"), of("METRICS"), of("LOGS")];
        if is_on("OTEL_SDK_DISABLED") || traces.is_none() && metrics.is_none() && logs.is_none() {
            return Ok(None);
        }
        if let Some(other) = set("OTEL_EXPORTER_OTLP_PROTOCOL").filter(|text| *text != "http/protobuf") {
            return Err(ReadSettingsError::Protocol(other.to_owned()));
        }
        let millis = |name: &'static str, usual: u64| match set(name) {
            None => Ok(Duration::from_millis(usual)),
            Some(text) => text
                .parse()
                .map(Duration::from_millis)
                .map_err(|_| ReadSettingsError::Number(name, text.to_owned())),
        };
        let pairs = |name: &str| -> Vec<(String, String)> {
            let pairs = set(name).unwrap_or_default().split(',').filter_map(|pair| pair.split_once('='));
            pairs.map(|(key, value)| (key.trim().to_owned(), decoded(value.trim()))).collect()
        };
        let mut resource = vec![("service.name".to_owned(), "lineside".to_owned())];
        resource.extend(pairs("OTEL_RESOURCE_ATTRIBUTES"));
        resource.extend(set("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name.to_owned())));
        Ok(Some(Self {
            traces,
            metrics,
            logs,
            headers: pairs("OTEL_EXPORTER_OTLP_HEADERS").into_iter().collect(),
            timeout: millis("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000)?,
            interval: millis("OTEL_METRIC_EXPORT_INTERVAL", 60_000)?.max(Duration::from_millis(100)),
            resource,
            content: is_on("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
        }))
    }
}

/// A value in which bytes may stand as `%20`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        let byte = match (first, others) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        bytes.push(byte.unwrap_or(*first));
        rest = others.get(if byte.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &'static str)]) -> Result<Option<Settings>, ReadSettingsError> {
        Settings::read(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    }

    #[test]
    fn nothing_is_sent_unless_a_collector_is_named() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[("OTEL_SERVICE_NAME", "x")]), Ok(None));
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        assert_eq!(read(&[endpoint, ("OTEL_SDK_DISABLED", "true")]), Ok(None));
        let none = ["OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"];
        let none = none.map(|name| (name, "none"));
        assert_eq!(read(&[endpoint, none[0], none[1], none[2]]), Ok(None));
        let settings = read(&[endpoint, none[1]]).unwrap().unwrap();
        assert_eq!(settings.traces.as_deref(), Some("http://c:4318/v1/traces"));
        assert_eq!((settings.metrics, settings.content), (None, false));
    }

    #[test]
    fn the_standard_variables_are_read_and_what_cannot_be_done_is_named() {
        let settings = read(&[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/x"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20YQ==, x-a = 100%"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_RESOURCE_ATTRIBUTES", "team=a,service.name=b"),
            ("OTEL_SERVICE_NAME", "c"),
        ]);
        let settings = settings.unwrap().unwrap();
        assert_eq!((settings.traces.as_deref(), settings.logs), (Some("https://t/x"), None));
        assert_eq!((&*settings.headers["authorization"], &*settings.headers["x-a"]), ("Basic YQ==", "100%"));
        assert_eq!(settings.timeout, Duration::from_millis(250));
        assert_eq!(settings.resource.last().map(|(_, value)| &**value), Some("c"));
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c");
        let wrong = read(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        assert_eq!(wrong, Err(ReadSettingsError::Protocol("grpc".to_owned())));
        assert!(read(&[endpoint, ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")]).is_err());
    }
}
