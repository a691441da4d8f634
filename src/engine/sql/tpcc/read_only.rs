//! Order-Status (clause 2.6) and Stock-Level (clause 2.8): one statement each, so that the result is consistent.

use arrayvec::ArrayVec;

use super::{Statement, call, describe, int, text};
use crate::engine::Failure;
use crate::engine::sql::{Connection, Row};
use crate::workload::tpcc::input;
use crate::workload::tpcc::output::{self, StatusLine};

pub(crate) async fn order_status(
    connection: &mut impl Connection,
    input: &input::OrderStatus,
) -> Result<output::OrderStatus, Failure> {
    let (statement, who) = super::customer(&input.customer, Statement::OrderStatusById, Statement::OrderStatusByName);
    let arguments = [int(input.w_id), int(input.d_id), who];
    let mut status: Option<output::OrderStatus> = None;
    let mut on_row = |_, row: &dyn Row| {
        let status = match &mut status {
            Some(status) => status,
            None => status.insert(order(row)?),
        };
        status
            .lines
            .try_push(line(row)?)
            .map_err(|_| Failure::Invalid(format!("Order-Status: order {} has too many lines", status.o_id)))
    };
    connection.exchange(&[call(statement, &arguments)], &mut on_row).await?;
    status.ok_or_else(|| {
        let who = describe(&input.customer);
        Failure::Invalid(format!(
            "Order-Status: no customer {who} with an order in district {} of warehouse {}",
            input.d_id, input.w_id
        ))
    })
}

fn order(row: &dyn Row) -> Result<output::OrderStatus, Failure> {
    Ok(output::OrderStatus {
        c_id: row.int(0)?,
        c_balance: row.money(1)?,
        c_first: text(row, 2)?,
        c_middle: text(row, 3)?,
        c_last: text(row, 4)?,
        o_id: row.int(5)?,
        o_entry_d: row.time(6)?,
        o_carrier_id: row.optional_int(7)?,
        lines: ArrayVec::new(),
    })
}

fn line(row: &dyn Row) -> Result<StatusLine, Failure> {
    Ok(StatusLine {
        ol_supply_w_id: row.int(8)?,
        ol_i_id: row.int(9)?,
        ol_quantity: row.int(10)?,
        ol_amount: row.money(11)?,
        ol_delivery_d: row.optional_time(12)?,
    })
}

pub(crate) async fn stock_level(
    connection: &mut impl Connection,
    input: &input::StockLevel,
) -> Result<output::StockLevel, Failure> {
    let arguments = [int(input.w_id), int(input.d_id), int(input.threshold)];
    let mut low_stock = None;
    let mut on_row = |_, row: &dyn Row| {
        low_stock = Some(row.int(0)?);
        Ok(())
    };
    connection.exchange(&[call(Statement::StockLevel, &arguments)], &mut on_row).await?;
    let low_stock = low_stock.ok_or_else(|| Failure::Invalid("Stock-Level: the database gave no count".to_owned()))?;
    Ok(output::StockLevel { low_stock })
}
