//! Procedures of earlier versions of Graymark, whose loads did not note in the manifest that they created them. Later
//! versions do, so that nothing is added to this list.

use sha2::{Digest, Sha256};

/// A name and the digest of a body in each line.
const LIST: &str = include_str!("former.txt");

/// Whether an earlier version created a procedure with this body. Blanks and a last semicolon do not count.
pub fn is_former(name: &str, body: &str) -> bool {
    let words: Vec<&str> = body.trim().trim_end_matches(';').split_whitespace().collect();
    let hash = Sha256::digest(format!("{name} {}", words.join(" ")));
    let digest: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    LIST.lines().any(|line| line.split_once(' ') == Some((name, &digest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_procedure_of_an_earlier_version_is_known_by_its_body() {
        let former = "BEGIN
            DECLARE v_branch_id int DEFAULT in_teller_id DIV 1000000;
            DECLARE v_changed int DEFAULT 0;
            DECLARE v_balance decimal(14, 2);
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
                ROLLBACK;
                RESIGNAL;
            END;

            START TRANSACTION;
            UPDATE teller SET teller_balance = teller_balance + in_amount WHERE teller_id = in_teller_id;
            SET v_changed = v_changed + ROW_COUNT();
            UPDATE account SET account_balance = account_balance + in_amount WHERE account_id = in_account_id;
            SET v_changed = v_changed + ROW_COUNT();
            SELECT account_balance INTO v_balance FROM account WHERE account_id = in_account_id;
            INSERT INTO history (branch_id, teller_id, account_id, amount)
            VALUES (v_branch_id, in_teller_id, in_account_id, in_amount);
            UPDATE branch SET branch_balance = branch_balance + in_amount WHERE branch_id = v_branch_id;
            SET v_changed = v_changed + ROW_COUNT();
            IF v_changed <> 3 THEN
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'there is no such teller, account or branch';
            END IF;
            COMMIT;
            SELECT v_balance;
        END";
        assert!(is_former("debit_credit", former));
        assert!(!is_former("tpc", former));
        assert!(!is_former("debit_credit", &former.replace("COMMIT", "ROLLBACK")));
        assert!(!is_former("debit_credit", "SELECT 'victim'"));
    }
}
