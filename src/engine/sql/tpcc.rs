//! The five transactions of TPC-C over the statement interface.

/// The statements that a dialect gives, by their names in its `statements.sql`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// w, d, c → w_tax, c_discount, c_last, c_credit
    NewOrderCustomer,
    /// w, d → o_id, d_tax; d_next_o_id grows by one
    NewOrderDistrict,
    /// \[place, i_id\] → place, i_price, i_name, i_data of those that exist
    NewOrderItem,
    /// d, \[place, supply_w, i_id, quantity, remote (0 or 1)\] → place, s_quantity (new), s_dist_xx, s_data
    NewOrderStock,
    /// w, d, o_id, c, ol_cnt, all_local → o_entry_d
    NewOrderOrder,
    /// w, d, o_id
    NewOrderOpen,
    /// w, d, o_id, \[number, i_id, supply_w, quantity, amount, dist_info\]
    NewOrderLine,
    /// w, amount → w_name, street_1, street_2, city, state, zip
    PaymentWarehouse,
    /// w, d, amount → d_name, street_1, street_2, city, state, zip
    PaymentDistrict,
    /// w, d, c_w, c_d, c_id, amount → c_id, first, middle, last, street_1, street_2, city, state, zip, phone, since, credit, credit_lim,
    /// discount, balance (new), first 200 characters of data (new) or an empty text for good credit
    PaymentCustomerById,
    /// w, d, c_w, c_d, c_last, amount → as above
    PaymentCustomerByName,
    /// c_id, c_d, c_w, d, w, amount, data → h_date
    PaymentHistory,
    /// w, d, c_id → c_id, balance, first, middle, last, o_id, entry_d, carrier_id, ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d; a row a line by number
    OrderStatusById,
    /// w, d, c_last → as above
    OrderStatusByName,
    /// w, \[d\] → d, o_id taken out of new_order, for districts that have one
    DeliveryTake,
    /// w, carrier, \[d, o_id\] → d, o_c_id
    DeliveryOrder,
    /// w, \[d, o_id\] → d, amount; one or several rows a district, to be added up
    DeliveryLines,
    /// w, \[d, c_id, amount\]
    DeliveryCustomer,
    /// w, d, threshold → low_stock
    StockLevel,
}
