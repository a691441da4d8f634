//! Statements of other people's sessions, without what they contain of data.

/// Verbs of statements in which `SET` assigns columns.
const ASSIGN_COLUMNS: [&str; 6] = ["update", "insert", "replace", "merge", "with", "explain"];
/// Characters that begin or end a literal or a comment on some server.
const MARKS: [char; 7] = ['\'', '"', '`', '$', '/', '*', '\r'];

/// A statement whose literals are replaced by `?` and whose comments are removed. A number, a parameter and the value
/// of a setting count as literals; so does a name in double quotes, which MySQL takes for a text.
///
/// Servers differ in what begins and ends a literal. Where a statement can be read in two ways, the rest of it is
/// replaced.
pub(super) fn masked(statement: &str) -> String {
    let (mut masked, mut rest) = (Masked::default(), statement);
    while let Some(first) = rest.chars().next() {
        rest = masked.token(first, rest);
    }
    masked.text
}

/// The beginning of a statement, masked.
#[derive(Default)]
struct Masked {
    text: String,
    /// The first word of the statement in progress, in lower case.
    verb: String,
    /// Whether the words up to the end of the statement in progress may be values of a setting.
    sets: bool,
}

impl Masked {
    /// Adds the token at the start of `text`, and returns the text behind it.
    fn token<'a>(&mut self, first: char, text: &'a str) -> &'a str {
        let after = &text[first.len_utf8()..];
        match first {
            '\'' | '"' => self.quoted(first, after),
            '`' => self.name(after),
            '$' => self.dollar(after),
            '#' => self.line_comment(after, false),
            '-' if after.starts_with('-') => {
                let comment = after.trim_start_matches('-');
                let is_certain = comment.len() + 1 == after.len() && comment.starts_with(char::is_whitespace);
                self.line_comment(comment, is_certain)
            }
            '/' if after.starts_with('*') => self.block_comment(&after[1..]),
            digit if digit.is_ascii_digit() => {
                self.hide();
                after.trim_start_matches(|c: char| is_word(c) || c == '.')
            }
            letter if is_word(letter) => self.word(text),
            other => {
                if other == ';' {
                    (self.verb, self.sets) = (String::new(), false);
                }
                self.text.push(other);
                after
            }
        }
    }

    /// Stands for a literal. One mark is enough for several in a row: a doubled quote joins two.
    fn hide(&mut self) {
        if !self.text.ends_with('?') {
            self.text.push('?');
        }
    }

    /// Stands for all that follows.
    fn hide_rest<'a>(&mut self) -> &'a str {
        self.hide();
        ""
    }

    /// A text. Whether a backslash before the quote continues it differs between servers and their settings.
    fn quoted<'a>(&mut self, quote: char, after: &'a str) -> &'a str {
        match after.split_once(quote) {
            Some((content, rest)) if !content.ends_with('\\') => {
                self.hide();
                rest
            }
            _ => self.hide_rest(),
        }
    }

    /// A name in MySQL's quotes.
    fn name<'a>(&mut self, after: &'a str) -> &'a str {
        match after.split_once('`') {
            Some((name, rest)) if name.chars().all(is_word) => {
                self.text.extend(["`", name, "`"]);
                rest
            }
            _ => self.hide_rest(),
        }
    }

    /// A parameter, or a text between two equal tags, such as `$body$`: MySQL takes those for names.
    fn dollar<'a>(&mut self, after: &'a str) -> &'a str {
        let behind = after.trim_start_matches(|c: char| is_word(c) && c != '$');
        let tag = &after[..after.len() - behind.len()];
        let Some(body) = behind.strip_prefix('$') else {
            self.hide();
            return behind;
        };
        match body.split_once(&format!("${tag}$")) {
            Some((text, rest)) if !text.contains(MARKS) => {
                self.hide();
                rest
            }
            _ => self.hide_rest(),
        }
    }

    /// A comment up to the end of the line, on some servers. If it is not certain on all, it has to be without marks.
    fn line_comment<'a>(&mut self, after: &'a str, is_certain: bool) -> &'a str {
        let (comment, rest) = after.split_once('\n').unwrap_or((after, ""));
        let comment = comment.trim_end_matches('\r');
        if (is_certain && !comment.contains('\r')) || !comment.contains(MARKS) {
            self.text.push(' ');
            return rest;
        }
        self.hide_rest()
    }

    /// A comment between `/*` and `*/`. PostgreSQL nests them, and MySQL executes what is in some.
    fn block_comment<'a>(&mut self, after: &'a str) -> &'a str {
        match after.split_once("*/") {
            Some((comment, rest))
                if !comment.contains("/*") && !comment.starts_with('!') && !comment.starts_with("M!") =>
            {
                self.text.push(' ');
                rest
            }
            _ => self.hide_rest(),
        }
    }

    /// A word, which is kept unless it may be the value of a setting.
    fn word<'a>(&mut self, text: &'a str) -> &'a str {
        let rest = text.trim_start_matches(is_word);
        let word = &text[..text.len() - rest.len()];
        if self.verb.is_empty() {
            self.verb = word.to_ascii_lowercase();
        }
        if self.sets {
            self.hide();
        } else {
            self.text.push_str(word);
        }
        self.sets |= word.eq_ignore_ascii_case("set") && !ASSIGN_COLUMNS.contains(&self.verb.as_str());
        rest
    }
}

/// Whether a character may be part of a name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_literal_is_replaced_and_the_names_stay() {
        for (statement, expected) in [
            ("SELECT w_ytd FROM tpcc.warehouse FOR UPDATE", "SELECT w_ytd FROM tpcc.warehouse FOR UPDATE"),
            ("insert into public.users values ('bob', 'it''s')", "insert into public.users values (?, ?)"),
            ("UPDATE c2024 SET b = b + 1.5e3, c = X WHERE d = $1", "UPDATE c2024 SET b = b + ?, c = X WHERE d = ?"),
            ("SELECT 0xAB, x'41', E'a', _utf8\"b\", .5", "SELECT ?, x?, E?, _utf8?, .?"),
            ("DO $body$ begin end $body$; SELECT $$a$$, t$x$", "DO ?; SELECT ?, t$x$"),
            ("SELECT `name` -- it's mine\nFROM t /* \"why\" */ WHERE a = 'b'", "SELECT `name`  \nFROM t   WHERE a = ?"),
            ("SET app.key = hunter2; SELECT a", "SET ?.? = ?; SELECT a"),
            ("ALTER ROLE me SET app.key TO hunter2", "ALTER ROLE me SET ?.? ? ?"),
        ] {
            let masked = masked(statement);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&masked), words(expected), "{statement}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_shows_nothing() {
        for statement in [
            "SELECT 'a\\', Q9, 'Q9'",
            "SELECT 'a\\' Q9 'b\\''",
            "SELECT \"a\\\" Q9",
            "SELECT 'Q9",
            "SELECT $a$ Q9",
            "SELECT $a$ 'x $a$ Q9'",
            "SELECT 1 --'\n Q9'",
            "SELECT 1 ---'\n Q9'",
            "SELECT 1 -- '\r, 'Q9'\n Q9'",
            "SELECT a #> '{b}', 'Q9'\n Q9'",
            "SELECT /* /* */ ' */ Q9'",
            "SELECT /*! ' */ Q9 ' */",
            "SELECT /* Q9 */ # Q9 \n 1 -- 'Q9",
            "SELECT `a 'Q9` Q9",
            "SELECT 'é$'',Q9'",
        ] {
            let masked = masked(statement);
            assert!(masked.starts_with("SELECT ") && !masked.contains("Q9"), "{statement}: {masked}");
        }
    }
}
