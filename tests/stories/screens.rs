//! A user looks at the screens of the emulated terminals.

use assert_cmd::Command;

fn screens(arguments: &[&str]) -> String {
    let output = Command::cargo_bin("graymark")
        .unwrap()
        .arg("screens")
        .args(arguments)
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn all_five_screens_are_printed_in_the_order_of_the_standard() {
    let text = screens(&[]);
    let lines = text.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 5 * 24 + 4, "24 lines each, and an empty line between two");
    let one_by_one = ["new-order", "payment", "order-status", "delivery", "stock-level"].map(|name| screens(&[name]));
    assert_eq!(text, one_by_one.join("\n"));
    assert!(
        one_by_one.iter().all(|screen| screen.lines().count() == 24 && screen.lines().all(|line| line.len() == 80))
    );
    for (screen, title) in one_by_one.iter().zip(["New Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]) {
        assert_eq!(screen.lines().next().map(str::trim), Some(title));
    }
    assert!(one_by_one[0].contains("PRICALLYOUGHT") && one_by_one[3].contains("Delivery has been queued"));
}

#[test]
fn a_transaction_may_be_named_as_in_a_record() {
    assert_eq!(screens(&["stock_level"]), screens(&["stock-level"]));
}

#[test]
fn an_unknown_transaction_is_refused_in_one_line() {
    let output = Command::cargo_bin("graymark")
        .unwrap()
        .args(["screens", "refund"])
        .assert()
        .code(2)
        .get_output()
        .stderr
        .clone();
    let message = String::from_utf8(output).unwrap();
    assert!(message.lines().count() == 1 && message.contains("refund") && message.contains("new-order"), "{message}");
}
