//! Input and output of a transaction, and for profile `tpc-a` the messages of 100 and 200 bytes in which they are
//! encoded. Their layout is Graymark's own: the standard specifies their sizes and fields.

use super::profile::{PROFILES, Profile};
use crate::workload::value::Money;

/// Bytes of a request.
pub const REQUEST: usize = 100;
/// Bytes of a reply.
pub const REPLY: usize = 200;

/// A deposit or withdrawal entered by a teller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its profile.
    pub profile: &'static Profile,
    /// The teller's branch.
    pub branch: i32,
    /// The teller.
    pub teller: i32,
    /// The account, in 15 % of all cases of another branch.
    pub account: i32,
    /// Added to the balances of all three.
    pub amount: Money,
}

impl Transfer {
    /// The account's branch.
    pub fn account_branch(&self) -> i32 {
        self.account / self.profile.account_radix
    }

    /// Whether the account is of another branch than the teller.
    pub fn is_remote(&self) -> bool {
        self.account_branch() != self.branch
    }
}

/// The input of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The transfer itself.
    Transfer(Transfer),
    /// An encoded request.
    Message([u8; REQUEST]),
}

/// The output of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The account's new balance.
    Balance(Money),
    /// An encoded reply.
    Message([u8; REPLY]),
}

/// Fields of a message with offset and width; numbers are right-aligned.
const ACCOUNT: (usize, usize) = (0, 10);
const TELLER: (usize, usize) = (10, 10);
const BRANCH: (usize, usize) = (20, 10);
const AMOUNT: (usize, usize) = (30, 14);
const BALANCE: (usize, usize) = (44, 20);

impl Input {
    /// In the form that the terminals of the transfer's profile send.
    pub fn of(transfer: Transfer) -> Input {
        if !transfer.profile.messages {
            return Input::Transfer(transfer);
        }
        let mut message = [b' '; REQUEST];
        write(&mut message, &transfer);
        Input::Message(message)
    }

    /// Decodes the transfer. The error names the field that a message lacks.
    pub fn transfer(&self) -> Result<Transfer, String> {
        match self {
            Input::Transfer(transfer) => Ok(*transfer),
            Input::Message(message) => read(message),
        }
    }
}

impl Output {
    /// In the form that the terminal that sent `input` expects.
    pub fn of(input: &Input, transfer: &Transfer, balance: Money) -> Output {
        match input {
            Input::Transfer(_) => Output::Balance(balance),
            Input::Message(_) => {
                let mut message = [b' '; REPLY];
                write(&mut message, transfer);
                put(&mut message, BALANCE, balance.0);
                Output::Message(message)
            }
        }
    }

    /// The account's new balance. The error names the field that a message lacks.
    pub fn balance(&self) -> Result<Money, String> {
        match self {
            Output::Balance(balance) => Ok(*balance),
            Output::Message(message) => number(message, BALANCE).map(Money),
        }
    }
}

fn write(message: &mut [u8], transfer: &Transfer) {
    put(message, ACCOUNT, transfer.account.into());
    put(message, TELLER, transfer.teller.into());
    put(message, BRANCH, transfer.branch.into());
    put(message, AMOUNT, transfer.amount.0);
}

/// Writes a number right-aligned into its field. A field is as wide as its largest number.
fn put(message: &mut [u8], (place, width): (usize, usize), number: i64) {
    let mut left = number.unsigned_abs();
    for at in (place..place + width).rev() {
        message[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            if number < 0 {
                message[at.saturating_sub(1).max(place)] = b'-';
            }
            return;
        }
    }
}

fn read(message: &[u8]) -> Result<Transfer, String> {
    let id = |field| number(message, field).and_then(|id| i32::try_from(id).map_err(|_| unreadable(field)));
    let profile = PROFILES.iter().find(|profile| profile.messages).ok_or("no profile has messages")?;
    Ok(Transfer {
        profile,
        branch: id(BRANCH)?,
        teller: id(TELLER)?,
        account: id(ACCOUNT)?,
        amount: Money(number(message, AMOUNT)?),
    })
}

fn number(message: &[u8], field: (usize, usize)) -> Result<i64, String> {
    let text = message.get(field.0..field.0 + field.1).and_then(|field| std::str::from_utf8(field).ok());
    text.and_then(|text| text.trim_start().parse().ok()).ok_or_else(|| unreadable(field))
}

fn unreadable((place, width): (usize, usize)) -> String {
    format!("a message has no number in its {width} bytes from {place}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(
            branch in 0..21_474_i32,
            teller in 0..214_740_i32,
            account: i32,
            amount in -999_999..=999_999_i64,
            balance: i32,
        ) {
            let account = account & i32::MAX;
            let transfer = Transfer { profile: &PROFILES[2], branch, teller, account, amount: Money(amount) };
            let input = Input::of(transfer);
            prop_assert!(matches!(input, Input::Message(message) if message.len() == 100));
            prop_assert_eq!(input.transfer(), Ok(transfer));
            let output = Output::of(&input, &transfer, Money(balance.into()));
            prop_assert!(matches!(output, Output::Message(message) if message.len() == 200));
            prop_assert_eq!(output.balance(), Ok(Money(balance.into())));
        }

        #[test]
        fn no_message_makes_it_panic(message: [u8; 32]) {
            let mut request = [0; REQUEST];
            request.iter_mut().zip(message.iter().cycle()).for_each(|(to, from)| *to = *from);
            let _ = Input::Message(request).transfer();
        }
    }

    #[test]
    fn without_messages_nothing_is_written() {
        let transfer =
            Transfer { profile: &PROFILES[0], branch: 1, teller: 1_000_003, account: 2_000_007, amount: Money(-5) };
        assert_eq!(Input::of(transfer), Input::Transfer(transfer));
        assert!(transfer.is_remote());
        assert_eq!(Output::of(&Input::of(transfer), &transfer, Money(7)).balance(), Ok(Money(7)));
    }

    #[test]
    fn the_widest_numbers_fit_their_fields() {
        let mut message = [b' '; REPLY];
        put(&mut message, BALANCE, i64::MIN + 1);
        assert_eq!(number(&message, BALANCE), Ok(i64::MIN + 1));
        put(&mut message, AMOUNT, -999_999_999_999);
        assert_eq!(number(&message, AMOUNT), Ok(-999_999_999_999));
    }
}
