//! A text that is too long becomes its head and its tail, with a marker between them.

use super::tokens::{Size, quarters, tokens};

/// The head and the tail of a text, within `most`, with a marker between them; `None` when it fits as it is.
///
/// The marker is made by `marker`, which is given how many bytes are left out. A marker that alone is more than half
/// of `most` is left out too. In time linear in the text.
///
/// ```
/// use lineside_core::context::{Size, cut};
///
/// let most = Size { bytes: 40, tokens: 40 };
/// let text = "line\n".repeat(100);
/// let cut_text = cut(&text, most, |left_out| format!("[{left_out} bytes]")).unwrap();
/// assert!(cut_text.len() <= 40 && cut_text.contains("bytes]"));
/// assert_eq!(cut("short", most, |_| String::new()), None);
/// ```
#[must_use]
pub fn cut(text: &str, most: Size, marker: impl Fn(usize) -> String) -> Option<String> {
    if text.len() <= most.bytes && tokens(text) <= most.tokens {
        return None;
    }
    // No marker is longer than the one that leaves everything out.
    let longest = Size::of(&marker(text.len()));
    let marked = longest.bytes <= most.bytes / 2 && longest.tokens <= most.tokens / 2;
    let room = if marked { most - longest } else { most };
    let half = Size { bytes: room.bytes / 2, tokens: room.tokens / 2 };
    if !marked {
        return Some(head(text, room).to_owned());
    }
    let head = head(text, half);
    let tail = tail(text.get(head.len()..).unwrap_or_default(), half);
    let left_out = text.len() - head.len() - tail.len();
    Some([head, &marker(left_out), tail].concat())
}

/// As much of the beginning as fits.
fn head(text: &str, most: Size) -> &str {
    let mut left = most.tokens.saturating_mul(4);
    let mut end = 0;
    for (start, c) in text.char_indices() {
        let next = start + c.len_utf8();
        let cost = quarters(text.get(start..next).unwrap_or_default());
        if next > most.bytes || cost > left {
            break;
        }
        left -= cost;
        end = next;
    }
    text.get(..end).unwrap_or_default()
}

/// As much of the end as fits.
fn tail(text: &str, most: Size) -> &str {
    let mut left = most.tokens.saturating_mul(4);
    let mut begin = text.len();
    for (start, c) in text.char_indices().rev() {
        let cost = quarters(text.get(start..start + c.len_utf8()).unwrap_or_default());
        if text.len() - start > most.bytes || cost > left {
            break;
        }
        left -= cost;
        begin = start;
    }
    text.get(begin..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marker(left_out: usize) -> String {
        format!("[{left_out} left out]")
    }

    #[test]
    fn the_head_and_the_tail_stay() {
        let text = format!("begin{}end", "x".repeat(1000));
        let cut = cut(&text, Size { bytes: 60, tokens: 100 }, marker).unwrap();
        assert!(cut.starts_with("beginx") && cut.ends_with("xend"), "{cut}");
        let kept = cut.len() - "[965 left out]".len();
        assert!(cut.contains(&marker(text.len() - kept)), "{cut}");
    }

    /// Whether a text is within a measure.
    fn fits(text: &str, most: Size) -> bool {
        text.len() <= most.bytes && super::tokens(text) <= most.tokens
    }

    proptest! {
        #[test]
        fn the_ends_are_as_long_as_fits(
            text in "(a|й|你|🦀|\n){0,40}", bytes in 0_usize..80, tokens in 0_usize..40
        ) {
            let most = Size { bytes, tokens };
            let borders = || text.char_indices().map(|(start, _)| start).chain([text.len()]);
            let mut heads = borders().rev().filter_map(|end| text.get(..end));
            prop_assert_eq!(Some(head(&text, most)), heads.find(|head| fits(head, most)));
            let mut tails = borders().filter_map(|begin| text.get(begin..));
            prop_assert_eq!(Some(tail(&text, most)), tails.find(|tail| fits(tail, most)));
        }

        #[test]
        fn c03_nothing_is_over_its_bound(
            text in "(a|й|你|🦀|\n){0,200}", bytes in 0_usize..300, tokens in 0_usize..100
        ) {
            let most = Size { bytes, tokens };
            match cut(&text, most, marker) {
                None => prop_assert!(text.len() <= bytes && super::tokens(&text) <= tokens),
                Some(cut) => {
                    prop_assert!(text.len() > bytes || super::tokens(&text) > tokens);
                    prop_assert!(cut.len() <= bytes && super::tokens(&cut) <= tokens, "{:?}", cut);
                }
            }
        }
    }
}
