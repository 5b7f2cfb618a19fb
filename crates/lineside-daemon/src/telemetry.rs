//! What is sent to a collector of OpenTelemetry; with the feature `otel`, and where the environment of the daemon names one.

use lineside::core::Diagnostic;

use crate::settings::Settings;

/// What is sent.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    #[cfg(feature = "otel")]
    exporter: Option<std::sync::Arc<lineside::otel::Exporter>>,
}

impl Telemetry {
    /// What the settings ask for, and what of it cannot be done.
    #[cfg(feature = "otel")]
    pub(crate) fn of(settings: &Settings) -> (Self, Option<Diagnostic>) {
        use lineside::otel::{Exporter, Settings as OtelSettings};
        let variable = |name: &str| settings.places.environment.get(name).map(String::as_str);
        let wrong = |error: &dyn std::fmt::Display| {
            let text = format!("nothing is sent to a collector of OpenTelemetry: {error}");
            (Self::default(), Some(Diagnostic::error(None, text)))
        };
        match OtelSettings::read(variable) {
            Ok(None) => (Self::default(), None),
            Ok(Some(settings)) => match Exporter::start(&settings) {
                Ok(exporter) => (Self { exporter: Some(exporter.into()) }, None),
                Err(error) => wrong(&error),
            },
            Err(error) => wrong(&error),
        }
    }

    /// That this program cannot do what is asked for.
    #[cfg(not(feature = "otel"))]
    pub(crate) fn of(settings: &Settings) -> (Self, Option<Diagnostic>) {
        let asked = settings.places.environment.contains_key("OTEL_EXPORTER_OTLP_ENDPOINT");
        let text =
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and this lineside was built without the feature `otel`";
        (Self::default(), asked.then(|| Diagnostic::warning(None, text)))
    }

    /// What is wrong with it now: the collector takes nothing, or something was lost.
    #[cfg(feature = "otel")]
    pub(crate) fn findings(&self) -> Vec<(&'static str, String)> {
        let Some(exporter) = &self.exporter else { return Vec::new() };
        let loss = exporter.loss();
        let waiting = exporter.waiting();
        let trouble = loss.trouble.map(|why| {
            ("error", format!("the collector takes nothing: {why}; {waiting} spans and records wait for it"))
        });
        let lost = (loss.lost > 0).then(|| {
            let text = format!("{} spans, records and signals did not come to the collector", loss.lost);
            ("warning", text)
        });
        trouble.into_iter().chain(lost).collect()
    }

    #[cfg(not(feature = "otel"))]
    pub(crate) fn findings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

#[cfg(feature = "otel")]
mod sending {
    use std::sync::Arc;
    use std::time::Duration;

    use lineside::Bus;
    use lineside::core::SessionId;
    use lineside::otel::Exporter;
    use tokio::task::{spawn_blocking, yield_now};
    use tokio::time::{sleep, timeout};
    use tokio_util::sync::CancellationToken;

    use super::Telemetry;
    use crate::feed::{Feed, What};

    /// How far behind the feed it reads, how often it sends, and how long it rests when nothing was taken.
    const BEHIND: Duration = Duration::from_millis(100);
    const EVERY: Duration = Duration::from_secs(1);
    const REST: Duration = Duration::from_secs(5);

    /// How long the end of the daemon waits for a collector; less than for its clients.
    const LAST: Duration = Duration::from_secs(1);

    const AT_ONCE: usize = 64;

    impl Telemetry {
        /// Reads the feed from here on and sends what becomes of it, until this token is cancelled, and what there is then.
        pub(crate) async fn export(
            &self,
            feed: &Feed,
            bus: &Bus,
            mut after: u64,
            ending: &CancellationToken,
        ) {
            let Some(exporter) = &self.exporter else { return };
            let mut news = feed.watch_behind();
            let hearing = async {
                loop {
                    hear(feed, bus, exporter, &mut after).await;
                    if *news.borrow_and_update() <= after && news.changed().await.is_err() {
                        return;
                    }
                    sleep(BEHIND).await;
                }
            };
            let sending = async {
                loop {
                    sleep(if exporter.send().await { EVERY } else { REST }).await;
                }
            };
            tokio::select! {
                () = ending.cancelled() => {}
                () = hearing => {}
                () = sending => {}
            }
            hear(feed, bus, exporter, &mut after).await;
            let ended = timeout(LAST, async {
                exporter.send().await;
                let exporter = Arc::clone(exporter);
                spawn_blocking(move || exporter.end()).await
            });
            if ended.await.is_err() {
                tracing::warn!("ended before the collector had taken everything");
            }
        }
    }

    async fn hear(feed: &Feed, bus: &Bus, exporter: &Exporter, after: &mut u64) {
        let source = |session: &SessionId| Some(bus.find(session.as_str())?.source().clone());
        loop {
            let (lost, entries) = feed.after(*after, AT_ONCE);
            *after += lost;
            if lost > 0 {
                exporter.lose(lost);
            }
            let Some(last) = entries.last() else { return };
            *after = last.id;
            for entry in &entries {
                match &entry.what {
                    What::Signal(signal) => exporter.hear(signal, entry.at, source),
                    What::Lost(lost) => exporter.lose(*lost),
                }
            }
            yield_now().await;
        }
    }
}
