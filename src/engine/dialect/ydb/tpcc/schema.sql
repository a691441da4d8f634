-- The nine tables of TPC-C in YDB, in the directory `tpcc` of the database.
--
-- Money is Int64 in cents and a tax or discount Int32 in 1/10000: exact, and the same in every version of YDB. Dates
-- are Timestamp, in microseconds. To read them: SELECT w_ytd / 100.0, w_tax / 10000.0 FROM `tpcc/warehouse`;
--
-- Every table of YDB has a primary key. HISTORY, which has none in the standard, gets one from its warehouse, its date
-- and a number that nothing else uses. All keys but that of ITEM begin with the warehouse, and {partitions} stands for
-- the settings that split a table into ranges of the first column of its key: of warehouses, or of items. Foreign keys
-- do not exist in YDB. Secondary indexes come after the rows (`keys.sql`), for a bulk upsert takes no table with one.
--
-- https://ydb.tech/docs/en/concepts/datamodel/table
-- https://ydb.tech/docs/en/yql/reference/syntax/create_table/

-- name: warehouse
CREATE TABLE IF NOT EXISTS warehouse (
    w_id       Int32 NOT NULL,
    w_name     Utf8  NOT NULL,
    w_street_1 Utf8  NOT NULL,
    w_street_2 Utf8  NOT NULL,
    w_city     Utf8  NOT NULL,
    w_state    Utf8  NOT NULL,
    w_zip      Utf8  NOT NULL,
    w_tax      Int32 NOT NULL,
    w_ytd      Int64 NOT NULL,
    PRIMARY KEY (w_id)
) WITH ({partitions});

-- name: district
CREATE TABLE IF NOT EXISTS district (
    d_id        Int32 NOT NULL,
    d_w_id      Int32 NOT NULL,
    d_name      Utf8  NOT NULL,
    d_street_1  Utf8  NOT NULL,
    d_street_2  Utf8  NOT NULL,
    d_city      Utf8  NOT NULL,
    d_state     Utf8  NOT NULL,
    d_zip       Utf8  NOT NULL,
    d_tax       Int32 NOT NULL,
    d_ytd       Int64 NOT NULL,
    d_next_o_id Int32 NOT NULL,
    PRIMARY KEY (d_w_id, d_id)
) WITH ({partitions});

-- name: customer
CREATE TABLE IF NOT EXISTS customer (
    c_id           Int32     NOT NULL,
    c_d_id         Int32     NOT NULL,
    c_w_id         Int32     NOT NULL,
    c_first        Utf8      NOT NULL,
    c_middle       Utf8      NOT NULL,
    c_last         Utf8      NOT NULL,
    c_street_1     Utf8      NOT NULL,
    c_street_2     Utf8      NOT NULL,
    c_city         Utf8      NOT NULL,
    c_state        Utf8      NOT NULL,
    c_zip          Utf8      NOT NULL,
    c_phone        Utf8      NOT NULL,
    c_since        Timestamp NOT NULL,
    c_credit       Utf8      NOT NULL,
    c_credit_lim   Int64     NOT NULL,
    c_discount     Int32     NOT NULL,
    c_balance      Int64     NOT NULL,
    c_ytd_payment  Int64     NOT NULL,
    c_payment_cnt  Int32     NOT NULL,
    c_delivery_cnt Int32     NOT NULL,
    c_data         Utf8      NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id)
) WITH ({partitions});

-- name: history
CREATE TABLE IF NOT EXISTS history (
    h_c_id   Int32     NOT NULL,
    h_c_d_id Int32     NOT NULL,
    h_c_w_id Int32     NOT NULL,
    h_d_id   Int32     NOT NULL,
    h_w_id   Int32     NOT NULL,
    h_date   Timestamp NOT NULL,
    h_amount Int64     NOT NULL,
    h_data   Utf8      NOT NULL,
    h_number Uint64    NOT NULL,
    PRIMARY KEY (h_w_id, h_date, h_number)
) WITH ({partitions});

-- name: new_order
CREATE TABLE IF NOT EXISTS new_order (
    no_o_id Int32 NOT NULL,
    no_d_id Int32 NOT NULL,
    no_w_id Int32 NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) WITH ({partitions});

-- name: orders
CREATE TABLE IF NOT EXISTS orders (
    o_id         Int32     NOT NULL,
    o_d_id       Int32     NOT NULL,
    o_w_id       Int32     NOT NULL,
    o_c_id       Int32     NOT NULL,
    o_entry_d    Timestamp NOT NULL,
    o_carrier_id Int32,
    o_ol_cnt     Int32     NOT NULL,
    o_all_local  Int32     NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id)
) WITH ({partitions});

-- name: order_line
CREATE TABLE IF NOT EXISTS order_line (
    ol_o_id        Int32 NOT NULL,
    ol_d_id        Int32 NOT NULL,
    ol_w_id        Int32 NOT NULL,
    ol_number      Int32 NOT NULL,
    ol_i_id        Int32 NOT NULL,
    ol_supply_w_id Int32 NOT NULL,
    ol_delivery_d  Timestamp,
    ol_quantity    Int32 NOT NULL,
    ol_amount      Int64 NOT NULL,
    ol_dist_info   Utf8  NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) WITH ({partitions});

-- name: item
-- keys: 100000
CREATE TABLE IF NOT EXISTS item (
    i_id    Int32 NOT NULL,
    i_im_id Int32 NOT NULL,
    i_name  Utf8  NOT NULL,
    i_price Int64 NOT NULL,
    i_data  Utf8  NOT NULL,
    PRIMARY KEY (i_id)
) WITH ({partitions});

-- name: stock
CREATE TABLE IF NOT EXISTS stock (
    s_i_id       Int32 NOT NULL,
    s_w_id       Int32 NOT NULL,
    s_quantity   Int32 NOT NULL,
    s_dist_01    Utf8  NOT NULL,
    s_dist_02    Utf8  NOT NULL,
    s_dist_03    Utf8  NOT NULL,
    s_dist_04    Utf8  NOT NULL,
    s_dist_05    Utf8  NOT NULL,
    s_dist_06    Utf8  NOT NULL,
    s_dist_07    Utf8  NOT NULL,
    s_dist_08    Utf8  NOT NULL,
    s_dist_09    Utf8  NOT NULL,
    s_dist_10    Utf8  NOT NULL,
    s_ytd        Int32 NOT NULL,
    s_order_cnt  Int32 NOT NULL,
    s_remote_cnt Int32 NOT NULL,
    s_data       Utf8  NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id)
) WITH ({partitions});
