//! Times as people read them, and texts within a width.

use std::time::Duration;

use lineside::automation::unix_micros::UnixMicros;

/// How long something takes or took, with about two digits.
pub(super) fn length(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// When a moment is, seen from now.
pub(super) fn seen_from(now: UnixMicros, moment: UnixMicros) -> String {
    if moment > now {
        format!("in {}", length(moment.since(now)))
    } else {
        format!("{} ago", length(now.since(moment)))
    }
}

/// A word, and a text about it if there is one.
pub(super) fn wide(word: &str, text: &str) -> String {
    if text.is_empty() { word.to_owned() } else { format!("{word}: {text}") }
}

#[cfg(test)]
mod tests {
    use lineside::wire::stamp;

    use super::*;

    #[test]
    fn a_length_has_the_unit_that_fits() {
        let lengths = [3, 59_999, 60_000, 7_200_000, 172_800_000].map(|ms| length(Duration::from_millis(ms)));
        assert_eq!(lengths, ["3 ms", "59 s", "1 min", "2 h", "2 d"]);
    }

    #[test]
    fn a_moment_is_before_or_after_now() {
        let now = UnixMicros::millis(10_000);
        assert_eq!(seen_from(now, UnixMicros::millis(4_000)), "6 s ago");
        assert_eq!(seen_from(now, UnixMicros::millis(12_500)), "in 2 s");
        assert_eq!(stamp(UnixMicros(1_500)), "1970-01-01T00:00:00.001Z");
        assert_eq!(stamp(UnixMicros::NEVER), UnixMicros::NEVER.to_string());
    }
}
