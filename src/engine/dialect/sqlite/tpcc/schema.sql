-- The nine tables of TPC-C in SQLite.
--
-- Money is an INTEGER of cents, a tax or discount an INTEGER of 1/10000, a date an INTEGER of microseconds since
-- 1970-01-01 UTC, for SQLite has no exact decimal and no date type. To read them: SELECT w_ytd / 100.0, w_tax / 10000.0
-- FROM warehouse; SELECT datetime(o_entry_d / 1000000, 'unixepoch') FROM orders;
--
-- Tables with small rows are kept in the order of their primary key (WITHOUT ROWID); customer, stock and history have
-- rows so wide that SQLite keeps them better by row number. A line that ends in "only with foreign keys" is left out
-- unless they are asked for. What has the note "phase: keys" is made when the rows are there.

-- name: warehouse
CREATE TABLE warehouse (
    w_id       INTEGER PRIMARY KEY,
    w_name     TEXT NOT NULL,
    w_street_1 TEXT NOT NULL,
    w_street_2 TEXT NOT NULL,
    w_city     TEXT NOT NULL,
    w_state    TEXT NOT NULL,
    w_zip      TEXT NOT NULL,
    w_tax      INTEGER NOT NULL,
    w_ytd      INTEGER NOT NULL
) STRICT;

-- name: district
CREATE TABLE district (
    d_id        INTEGER NOT NULL,
    d_w_id      INTEGER NOT NULL,
    d_name      TEXT NOT NULL,
    d_street_1  TEXT NOT NULL,
    d_street_2  TEXT NOT NULL,
    d_city      TEXT NOT NULL,
    d_state     TEXT NOT NULL,
    d_zip       TEXT NOT NULL,
    d_tax       INTEGER NOT NULL,
    d_ytd       INTEGER NOT NULL,
    d_next_o_id INTEGER NOT NULL,
    FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id), -- only with foreign keys
    PRIMARY KEY (d_w_id, d_id)
) STRICT, WITHOUT ROWID;

-- name: customer
CREATE TABLE customer (
    c_id           INTEGER NOT NULL,
    c_d_id         INTEGER NOT NULL,
    c_w_id         INTEGER NOT NULL,
    c_first        TEXT NOT NULL,
    c_middle       TEXT NOT NULL,
    c_last         TEXT NOT NULL,
    c_street_1     TEXT NOT NULL,
    c_street_2     TEXT NOT NULL,
    c_city         TEXT NOT NULL,
    c_state        TEXT NOT NULL,
    c_zip          TEXT NOT NULL,
    c_phone        TEXT NOT NULL,
    c_since        INTEGER NOT NULL,
    c_credit       TEXT NOT NULL,
    c_credit_lim   INTEGER NOT NULL,
    c_discount     INTEGER NOT NULL,
    c_balance      INTEGER NOT NULL,
    c_ytd_payment  INTEGER NOT NULL,
    c_payment_cnt  INTEGER NOT NULL,
    c_delivery_cnt INTEGER NOT NULL,
    c_data         TEXT NOT NULL,
    FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id), -- only with foreign keys
    PRIMARY KEY (c_w_id, c_d_id, c_id)
) STRICT;

-- name: history
CREATE TABLE history (
    h_c_id   INTEGER NOT NULL,
    h_c_d_id INTEGER NOT NULL,
    h_c_w_id INTEGER NOT NULL,
    h_d_id   INTEGER NOT NULL,
    h_w_id   INTEGER NOT NULL,
    h_date   INTEGER NOT NULL,
    h_amount INTEGER NOT NULL,
    h_data   TEXT NOT NULL
    , FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id) -- only with foreign keys
    , FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id) -- only with foreign keys
) STRICT;

-- name: new_order
CREATE TABLE new_order (
    no_o_id INTEGER NOT NULL,
    no_d_id INTEGER NOT NULL,
    no_w_id INTEGER NOT NULL,
    FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id), -- only with foreign keys
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) STRICT, WITHOUT ROWID;

-- name: orders
CREATE TABLE orders (
    o_id         INTEGER NOT NULL,
    o_d_id       INTEGER NOT NULL,
    o_w_id       INTEGER NOT NULL,
    o_c_id       INTEGER NOT NULL,
    o_entry_d    INTEGER NOT NULL,
    o_carrier_id INTEGER,
    o_ol_cnt     INTEGER NOT NULL,
    o_all_local  INTEGER NOT NULL,
    FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id), -- only with foreign keys
    PRIMARY KEY (o_w_id, o_d_id, o_id)
) STRICT, WITHOUT ROWID;

-- name: order_line
CREATE TABLE order_line (
    ol_o_id        INTEGER NOT NULL,
    ol_d_id        INTEGER NOT NULL,
    ol_w_id        INTEGER NOT NULL,
    ol_number      INTEGER NOT NULL,
    ol_i_id        INTEGER NOT NULL,
    ol_supply_w_id INTEGER NOT NULL,
    ol_delivery_d  INTEGER,
    ol_quantity    INTEGER NOT NULL,
    ol_amount      INTEGER NOT NULL,
    ol_dist_info   TEXT NOT NULL,
    FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id), -- only with foreign keys
    FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id), -- only with foreign keys
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) STRICT, WITHOUT ROWID;

-- name: item
CREATE TABLE item (
    i_id    INTEGER PRIMARY KEY,
    i_im_id INTEGER NOT NULL,
    i_name  TEXT NOT NULL,
    i_price INTEGER NOT NULL,
    i_data  TEXT NOT NULL
) STRICT;

-- name: stock
CREATE TABLE stock (
    s_i_id       INTEGER NOT NULL,
    s_w_id       INTEGER NOT NULL,
    s_quantity   INTEGER NOT NULL,
    s_dist_01    TEXT NOT NULL,
    s_dist_02    TEXT NOT NULL,
    s_dist_03    TEXT NOT NULL,
    s_dist_04    TEXT NOT NULL,
    s_dist_05    TEXT NOT NULL,
    s_dist_06    TEXT NOT NULL,
    s_dist_07    TEXT NOT NULL,
    s_dist_08    TEXT NOT NULL,
    s_dist_09    TEXT NOT NULL,
    s_dist_10    TEXT NOT NULL,
    s_ytd        INTEGER NOT NULL,
    s_order_cnt  INTEGER NOT NULL,
    s_remote_cnt INTEGER NOT NULL,
    s_data       TEXT NOT NULL,
    FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id), -- only with foreign keys
    FOREIGN KEY (s_i_id) REFERENCES item (i_id), -- only with foreign keys
    PRIMARY KEY (s_w_id, s_i_id)
) STRICT;

-- name: customer_name
-- phase: keys
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id);

-- name: orders_customer
-- phase: keys
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
