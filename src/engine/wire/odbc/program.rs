//! A dialect's statement taken apart: the SQL statements that it is made of, each with the places of its parameters.

/// What a question mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `?1`: an argument, counted from 0, or what was chosen.
    Argument(usize),
    /// `?note`: the workload's note.
    Note,
    /// `?*`: all columns as a JSON array of rows.
    Json,
    /// `?*4`: the first columns, row by row, with commas between all values.
    List(usize),
    /// `?>`: a text that a procedure returns.
    Output,
}

/// What comes of a step's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// They are the answer, if it is the last step.
    Answer,
    /// The last column of the middle one becomes this parameter, counted from 0: a number, or a date.
    Chosen { parameter: usize, time: bool },
}

/// One SQL statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// With question marks.
    pub sql: String,
    /// What each question mark stands for.
    pub places: Vec<Place>,
    pub role: Role,
}

impl Step {
    /// Whether it may change something.
    pub(super) fn writes(&self) -> bool {
        !self.sql.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select"))
    }
}

/// Takes a text apart at its semicolons. Comments are left out: some drivers look for question marks in them, too.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut step = empty();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("--") {
            let (line, after) = comment.split_once('\n').unwrap_or((comment, ""));
            if let Some(role) = chosen(line.trim()) {
                step.role = role;
            }
            rest = after;
        } else if let Some(quoted) = rest.strip_prefix('\'') {
            let end = quoted.find('\'').map_or(rest.len(), |at| at + 2);
            step.sql.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if let Some((place, after)) = place(rest) {
            step.sql.push('?');
            step.places.push(place);
            rest = after;
        } else if let Some(after) = rest.strip_prefix(';') {
            end(&mut step, &mut steps);
            rest = after;
        } else {
            step.sql.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    end(&mut step, &mut steps);
    steps
}

fn empty() -> Step {
    Step { sql: String::new(), places: Vec::new(), role: Role::Answer }
}

fn end(step: &mut Step, steps: &mut Vec<Step>) {
    let mut ended = std::mem::replace(step, empty());
    ended.sql = ended.sql.trim().to_owned();
    if !ended.sql.is_empty() {
        steps.push(ended);
    }
}

/// A parameter, and what follows it.
fn place(text: &str) -> Option<(Place, &str)> {
    if let Some(after) = text.strip_prefix("?note") {
        return Some((Place::Note, after));
    }
    if let Some(after) = text.strip_prefix("?>") {
        return Some((Place::Output, after));
    }
    if let Some(after) = text.strip_prefix("?*") {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = after.split_at(digits);
        return Some((number.parse().map_or(Place::Json, Place::List), after));
    }
    parameter(text).map(|(number, after)| (Place::Argument(number), after))
}

/// `?1` or `$1`, and what follows.
fn parameter(text: &str) -> Option<(usize, &str)> {
    let digits = text.strip_prefix(['?', '$'])?;
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let number: usize = digits.get(..length)?.parse().ok()?;
    Some((number.checked_sub(1)?, digits.get(length..)?))
}

fn chosen(comment: &str) -> Option<Role> {
    let mut words = comment.strip_prefix("chosen: ")?.split(' ');
    let (parameter, _) = parameter(words.next()?)?;
    Some(Role::Chosen { parameter, time: words.next() == Some("time") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart_at_its_semicolons() {
        let text = "-- ?9 a comment; no more\n-- chosen: ?3 time\nSELECT ?1, 'it''s; ?2 not' FROM a WHERE b = \
            ?12;\nUPDATE a SET b = $2::text, c = ?note\n;";
        let found = steps(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].sql, "SELECT ?, 'it''s; ?2 not' FROM a WHERE b = ?");
        let arguments = [0, 11].map(Place::Argument);
        assert_eq!((&found[0].places[..], found[0].role), (&arguments[..], Role::Chosen { parameter: 2, time: true }));
        assert_eq!(found[1].sql, "UPDATE a SET b = ?::text, c = ?");
        assert_eq!((&found[1].places[..], found[1].role), (&[Place::Argument(1), Place::Note][..], Role::Answer));
        assert!(!found[0].writes() && found[1].writes());
        assert!(steps("-- nothing\n ; ").is_empty());
        assert_eq!(steps("SELECT 'open").len(), 1);
        let call = &steps("{call f (?2, ?*, ?*4, ?>)}")[0];
        assert_eq!(call.sql, "{call f (?, ?, ?, ?)}");
        assert_eq!(call.places, [Place::Argument(1), Place::Json, Place::List(4), Place::Output]);
    }
}
