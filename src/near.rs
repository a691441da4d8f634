//! What was probably meant by a misspelt word.

use strsim::osa_distance;

/// Letters that may be wrong, missing, surplus or swapped with their neighbours.
const MOST: usize = 2;

/// The nearest of some words; `None` if none is near.
pub(crate) fn near<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distances = words.map(|other| (osa_distance(word, other), other));
    // In a short word, two wrong letters make another word.
    let near = distances.filter(|(distance, _)| *distance <= MOST && 3 * distance <= word.chars().count());
    near.min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_and_doubled_letters_are_near() {
        let words = ["run", "rows", "postgres", "postgresql"];
        let near = |word| near(word, words.into_iter());
        assert_eq!(near("rnu"), Some("run"));
        assert_eq!(near("postgress"), Some("postgres"));
        assert_eq!(near("oracle"), None);
        assert_eq!(near("ru"), None);
        assert_eq!(near(""), None);
    }
}
