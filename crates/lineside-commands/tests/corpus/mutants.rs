//! Changed forms of a command: signs taken out or put in, ends cut off, parts doubled.

use fastrand::Rng;

const SIGNS: &[u8] = b"'\"$(){}`\\;|&<>\n#~*[]!=-/ x";

/// A form of the command with one to three changes.
pub(crate) fn mutant(command: &str, random: &mut Rng) -> String {
    let mut chars: Vec<char> = command.chars().collect();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..=chars.len());
        match random.u8(..4) {
            0 if at < chars.len() => drop(chars.remove(at)),
            1 if at < chars.len() => chars.truncate(at),
            2 => {
                let part: Vec<char> = chars[at..].to_vec();
                chars.extend(part);
            }
            _ => chars.insert(at, char::from(SIGNS[random.usize(..SIGNS.len())])),
        }
    }
    chars.into_iter().collect()
}
