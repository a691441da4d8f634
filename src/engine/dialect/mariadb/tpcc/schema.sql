-- The nine tables of TPC-C (clause 1.3).
--
-- Types: identifiers, counts and quantities are integers, wide enough for twice the populated range (1.4.11) and for
-- counters of long runs. Money and rates are exact decimals (1.3.1). Dates are UTC; TIMESTAMP would end in 2038, the
-- standard's dates do in 2100. Texts are compared byte by byte: the order of C_FIRST must not depend on a language.
--
-- InnoDB keeps a table in the order of its primary key, so that this is there from the beginning, and rows are loaded
-- in its order.

-- name: warehouse
CREATE TABLE IF NOT EXISTS warehouse (
    w_id       int           NOT NULL,
    w_name     varchar(10)   NOT NULL,
    w_street_1 varchar(20)   NOT NULL,
    w_street_2 varchar(20)   NOT NULL,
    w_city     varchar(20)   NOT NULL,
    w_state    char(2)       NOT NULL,
    w_zip      char(9)       NOT NULL,
    w_tax      decimal(4, 4) NOT NULL,
    w_ytd      decimal(12, 2) NOT NULL,
    PRIMARY KEY (w_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: district
CREATE TABLE IF NOT EXISTS district (
    d_id        int           NOT NULL,
    d_w_id      int           NOT NULL,
    d_name      varchar(10)   NOT NULL,
    d_street_1  varchar(20)   NOT NULL,
    d_street_2  varchar(20)   NOT NULL,
    d_city      varchar(20)   NOT NULL,
    d_state     char(2)       NOT NULL,
    d_zip       char(9)       NOT NULL,
    d_tax       decimal(4, 4) NOT NULL,
    d_ytd       decimal(12, 2) NOT NULL,
    d_next_o_id int           NOT NULL,
    PRIMARY KEY (d_w_id, d_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: customer
CREATE TABLE IF NOT EXISTS customer (
    c_id           int           NOT NULL,
    c_d_id         int           NOT NULL,
    c_w_id         int           NOT NULL,
    c_first        varchar(16)   NOT NULL,
    c_middle       char(2)       NOT NULL,
    c_last         varchar(16)   NOT NULL,
    c_street_1     varchar(20)   NOT NULL,
    c_street_2     varchar(20)   NOT NULL,
    c_city         varchar(20)   NOT NULL,
    c_state        char(2)       NOT NULL,
    c_zip          char(9)       NOT NULL,
    c_phone        char(16)      NOT NULL,
    c_since        datetime(6)   NOT NULL,
    c_credit       char(2)       NOT NULL,
    c_credit_lim   decimal(12, 2) NOT NULL,
    c_discount     decimal(4, 4) NOT NULL,
    c_balance      decimal(12, 2) NOT NULL,
    c_ytd_payment  decimal(12, 2) NOT NULL,
    c_payment_cnt  int           NOT NULL,
    c_delivery_cnt int           NOT NULL,
    c_data         varchar(500)  NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: history
-- Only inserted. Without a primary key InnoDB numbers the rows by itself, out of sight.
CREATE TABLE IF NOT EXISTS history (
    h_c_id   int           NOT NULL,
    h_c_d_id int           NOT NULL,
    h_c_w_id int           NOT NULL,
    h_d_id   int           NOT NULL,
    h_w_id   int           NOT NULL,
    h_date   datetime(6)   NOT NULL,
    h_amount decimal(6, 2) NOT NULL,
    h_data   varchar(24)   NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: new_order
-- Inserted and deleted, a queue for each district.
CREATE TABLE IF NOT EXISTS new_order (
    no_o_id int NOT NULL,
    no_d_id int NOT NULL,
    no_w_id int NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: orders
CREATE TABLE IF NOT EXISTS orders (
    o_id         int         NOT NULL,
    o_d_id       int         NOT NULL,
    o_w_id       int         NOT NULL,
    o_c_id       int         NOT NULL,
    o_entry_d    datetime(6) NOT NULL,
    o_carrier_id int,
    o_ol_cnt     int         NOT NULL,
    o_all_local  int         NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: order_line
CREATE TABLE IF NOT EXISTS order_line (
    ol_o_id        int           NOT NULL,
    ol_d_id        int           NOT NULL,
    ol_w_id        int           NOT NULL,
    ol_number      int           NOT NULL,
    ol_i_id        int           NOT NULL,
    ol_supply_w_id int           NOT NULL,
    ol_delivery_d  datetime(6),
    ol_quantity    int           NOT NULL,
    ol_amount      decimal(6, 2) NOT NULL,
    ol_dist_info   char(24)      NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: item
-- Only read.
CREATE TABLE IF NOT EXISTS item (
    i_id    int           NOT NULL,
    i_im_id int           NOT NULL,
    i_name  varchar(24)   NOT NULL,
    i_price decimal(5, 2) NOT NULL,
    i_data  varchar(50)   NOT NULL,
    PRIMARY KEY (i_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: stock
CREATE TABLE IF NOT EXISTS stock (
    s_i_id       int         NOT NULL,
    s_w_id       int         NOT NULL,
    s_quantity   int         NOT NULL,
    s_ytd        int         NOT NULL,
    s_order_cnt  int         NOT NULL,
    s_remote_cnt int         NOT NULL,
    s_dist_01    char(24)    NOT NULL,
    s_dist_02    char(24)    NOT NULL,
    s_dist_03    char(24)    NOT NULL,
    s_dist_04    char(24)    NOT NULL,
    s_dist_05    char(24)    NOT NULL,
    s_dist_06    char(24)    NOT NULL,
    s_dist_07    char(24)    NOT NULL,
    s_dist_08    char(24)    NOT NULL,
    s_dist_09    char(24)    NOT NULL,
    s_dist_10    char(24)    NOT NULL,
    s_data       varchar(50) NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
