-- The transactions as Citus takes them, and on which node each routine runs: that of its warehouse. Delivery is
-- PostgreSQL's.

-- New-Order (clause 2.4). See PostgreSQL's for what it returns and why it is a procedure. An update names one
-- warehouse, so that it goes to one shard; those of other warehouses are on other nodes. Warehouses come in ascending
-- order, and stock is locked in the order of (in_pass, in_supply_w_id, in_i_id), as elsewhere.
CREATE OR REPLACE PROCEDURE tpcc.new_order(
    in_w_id           integer,
    in_d_id           integer,
    in_c_id           integer,
    in_number         integer[],
    in_supply_w_id    integer[],
    in_i_id           integer[],
    in_quantity       integer[],
    in_pass           integer[],
    INOUT out_o_id       integer,
    INOUT out_c_last     text,
    INOUT out_c_credit   text,
    INOUT out_o_entry_d  timestamptz,
    INOUT out_c_discount numeric,
    INOUT out_w_tax      numeric,
    INOUT out_d_tax      numeric,
    INOUT out_number     integer[],
    INOUT out_i_name     text[],
    INOUT out_i_price    numeric[],
    INOUT out_s_quantity integer[],
    INOUT out_brand      text[]
)
LANGUAGE plpgsql
AS $$
DECLARE
    ol_cnt    integer := cardinality(in_number);
    valid     integer;
    part      record;
    changed   record;
    ordered   integer[] := '{}';
    suppliers integer[] := '{}';
    counts    integer[] := '{}';
    dist_info text[] := '{}';
BEGIN
    SELECT w_tax, c_discount, c_last, c_credit
      INTO STRICT out_w_tax, out_c_discount, out_c_last, out_c_credit
      FROM tpcc.warehouse JOIN tpcc.customer ON c_w_id = w_id
     WHERE w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;

    UPDATE tpcc.district
       SET d_next_o_id = d_next_o_id + 1
     WHERE d_w_id = in_w_id AND d_id = in_d_id
    RETURNING d_next_o_id - 1, d_tax INTO STRICT out_o_id, out_d_tax;

    INSERT INTO tpcc.orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (in_w_id, in_d_id, out_o_id, in_c_id, CURRENT_TIMESTAMP, NULL, ol_cnt,
            (in_w_id = ALL (in_supply_w_id))::integer)
    RETURNING o_entry_d INTO STRICT out_o_entry_d;

    INSERT INTO tpcc.new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w_id, in_d_id, out_o_id);

    out_number := '{}';
    out_i_name := '{}';
    out_i_price := '{}';
    out_s_quantity := '{}';
    out_brand := '{}';
    FOR part IN
        SELECT line.pass, line.supply_w_id, array_agg(line.number) AS numbers, array_agg(line.i_id) AS items,
               array_agg(line.quantity) AS quantities
          FROM unnest(in_number, in_supply_w_id, in_i_id, in_quantity, in_pass)
               AS line (number, supply_w_id, i_id, quantity, pass)
         GROUP BY line.pass, line.supply_w_id
         ORDER BY line.pass, line.supply_w_id
    LOOP
        FOR changed IN
            UPDATE tpcc.stock
               SET s_quantity = CASE WHEN s_quantity >= line.quantity + 10 THEN s_quantity - line.quantity
                                     ELSE s_quantity - line.quantity + 91 END,
                   s_ytd = s_ytd + line.quantity,
                   s_order_cnt = s_order_cnt + 1,
                   s_remote_cnt = s_remote_cnt + (part.supply_w_id <> in_w_id)::integer
              FROM unnest(part.numbers, part.items, part.quantities) AS line (number, i_id, quantity)
              JOIN tpcc.item ON item.i_id = line.i_id
             WHERE s_w_id = part.supply_w_id AND s_i_id = line.i_id
            RETURNING line.number, line.i_id, line.quantity, i_name, i_price, s_quantity,
                      CASE in_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                                   WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                                   WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                                   WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10 END AS dist_info,
                      CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand
        LOOP
            out_number := out_number || changed.number;
            out_i_name := out_i_name || changed.i_name::text;
            out_i_price := out_i_price || changed.i_price;
            out_s_quantity := out_s_quantity || changed.s_quantity;
            out_brand := out_brand || changed.brand;
            ordered := ordered || changed.i_id;
            suppliers := suppliers || part.supply_w_id;
            counts := counts || changed.quantity;
            dist_info := dist_info || changed.dist_info::text;
        END LOOP;
    END LOOP;

    INSERT INTO tpcc.order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                 ol_quantity, ol_amount, ol_dist_info)
    SELECT in_w_id, in_d_id, out_o_id, line.number, line.i_id, line.supply_w_id, NULL, line.quantity,
           line.quantity * line.i_price, line.dist_info
      FROM unnest(out_number, ordered, suppliers, counts, out_i_price, dist_info)
           AS line (number, i_id, supply_w_id, quantity, i_price, dist_info);

    IF cardinality(out_number) < ol_cnt THEN
        SELECT count(item.i_id) INTO valid FROM unnest(in_i_id) AS line (i_id) JOIN tpcc.item ON item.i_id = line.i_id;
        IF cardinality(out_number) < valid THEN
            RAISE EXCEPTION 'New-Order: stock rows are missing for an order of warehouse %', in_w_id;
        END IF;
        out_o_entry_d := NULL;
        ROLLBACK;
    END IF;
END;
$$;

-- Payment (clause 2.5): the customer by number or, if that is null, by last name. The note in C_DATA is made before the
-- update: in a CASE, Citus takes only functions that depend on nothing but what they are given.
CREATE OR REPLACE FUNCTION tpcc.payment(
    in_w_id   integer,
    in_d_id   integer,
    in_c_w_id integer,
    in_c_d_id integer,
    in_c_id   integer,
    in_c_last text,
    in_amount numeric,
    OUT out_h_date     timestamptz,
    OUT out_w_street_1 text,
    OUT out_w_street_2 text,
    OUT out_w_city     text,
    OUT out_w_state    text,
    OUT out_w_zip      text,
    OUT out_d_street_1 text,
    OUT out_d_street_2 text,
    OUT out_d_city     text,
    OUT out_d_state    text,
    OUT out_d_zip      text,
    OUT out_c_id       integer,
    OUT out_c_first    text,
    OUT out_c_middle   text,
    OUT out_c_last     text,
    OUT out_c_street_1 text,
    OUT out_c_street_2 text,
    OUT out_c_city     text,
    OUT out_c_state    text,
    OUT out_c_zip      text,
    OUT out_c_phone    text,
    OUT out_c_since    timestamptz,
    OUT out_c_credit   text,
    OUT out_c_credit_lim numeric,
    OUT out_c_discount numeric,
    OUT out_c_balance  numeric,
    OUT out_c_data     text
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    warehouse_name text;
    district_name  text;
    note           text;
BEGIN
    out_c_id := in_c_id;
    IF out_c_id IS NULL THEN
        SELECT namesake.c_id
          INTO STRICT out_c_id
          FROM (SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS total
                  FROM tpcc.customer
                 WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last) AS namesake
         WHERE namesake.place = (namesake.total + 1) / 2;
    END IF;

    note := format('%4s %2s %4s %2s %4s $%7s ', out_c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, in_amount);
    UPDATE tpcc.customer
       SET c_balance = c_balance - in_amount,
           c_ytd_payment = c_ytd_payment + in_amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE WHEN c_credit = 'BC' THEN left(note || c_data, 500) ELSE c_data END
     WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = out_c_id
    RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
              c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) ELSE '' END
      INTO STRICT out_c_first, out_c_middle, out_c_last, out_c_street_1, out_c_street_2, out_c_city, out_c_state,
                  out_c_zip, out_c_phone, out_c_since, out_c_credit, out_c_credit_lim, out_c_discount, out_c_balance,
                  out_c_data;

    UPDATE tpcc.district
       SET d_ytd = d_ytd + in_amount
     WHERE d_w_id = in_w_id AND d_id = in_d_id
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
      INTO STRICT district_name, out_d_street_1, out_d_street_2, out_d_city, out_d_state, out_d_zip;

    -- The hottest row comes last: others wait for it until the commit.
    UPDATE tpcc.warehouse
       SET w_ytd = w_ytd + in_amount
     WHERE w_id = in_w_id
    RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
      INTO STRICT warehouse_name, out_w_street_1, out_w_street_2, out_w_city, out_w_state, out_w_zip;

    INSERT INTO tpcc.history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (out_c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, CURRENT_TIMESTAMP, in_amount,
            warehouse_name || '    ' || district_name)
    RETURNING h_date INTO STRICT out_h_date;
END;
$$;

-- The transactions that only read. Citus takes no parameters in functions of the language SQL.

-- Order-Status (clause 2.6), by number and by last name: a row a line of the customer's newest order.
CREATE OR REPLACE FUNCTION tpcc.order_status_by_id(in_w_id integer, in_d_id integer, in_c_id integer)
RETURNS TABLE (
    c_id integer, c_balance numeric, c_first varchar, c_middle bpchar, c_last varchar,
    o_id integer, o_entry_d timestamptz, o_carrier_id integer,
    ol_supply_w_id integer, ol_i_id integer, ol_quantity integer, ol_amount numeric, ol_delivery_d timestamptz
)
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT customer.c_id, customer.c_balance, customer.c_first, customer.c_middle, customer.c_last,
           newest.o_id, newest.o_entry_d, newest.o_carrier_id,
           line.ol_supply_w_id, line.ol_i_id, line.ol_quantity, line.ol_amount, line.ol_delivery_d
      FROM tpcc.customer
     CROSS JOIN LATERAL (SELECT orders.o_id, orders.o_entry_d, orders.o_carrier_id
                           FROM tpcc.orders
                          WHERE orders.o_w_id = in_w_id AND orders.o_d_id = in_d_id AND orders.o_c_id = customer.c_id
                          ORDER BY orders.o_id DESC
                          LIMIT 1) AS newest
      JOIN tpcc.order_line AS line ON line.ol_w_id = in_w_id AND line.ol_d_id = in_d_id AND line.ol_o_id = newest.o_id
     WHERE customer.c_w_id = in_w_id AND customer.c_d_id = in_d_id AND customer.c_id = in_c_id
     ORDER BY line.ol_number;
END;
$$;

CREATE OR REPLACE FUNCTION tpcc.order_status_by_name(in_w_id integer, in_d_id integer, in_c_last text)
RETURNS TABLE (
    c_id integer, c_balance numeric, c_first varchar, c_middle bpchar, c_last varchar,
    o_id integer, o_entry_d timestamptz, o_carrier_id integer,
    ol_supply_w_id integer, ol_i_id integer, ol_quantity integer, ol_amount numeric, ol_delivery_d timestamptz
)
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT namesake.c_id, namesake.c_balance, namesake.c_first, namesake.c_middle, namesake.c_last,
           newest.o_id, newest.o_entry_d, newest.o_carrier_id,
           line.ol_supply_w_id, line.ol_i_id, line.ol_quantity, line.ol_amount, line.ol_delivery_d
      FROM (SELECT customer.c_id, customer.c_balance, customer.c_first, customer.c_middle, customer.c_last,
                   row_number() OVER (ORDER BY customer.c_first, customer.c_id) AS place, count(*) OVER () AS total
              FROM tpcc.customer
             WHERE customer.c_w_id = in_w_id AND customer.c_d_id = in_d_id AND customer.c_last = in_c_last) AS namesake
     CROSS JOIN LATERAL (SELECT orders.o_id, orders.o_entry_d, orders.o_carrier_id
                           FROM tpcc.orders
                          WHERE orders.o_w_id = in_w_id AND orders.o_d_id = in_d_id AND orders.o_c_id = namesake.c_id
                          ORDER BY orders.o_id DESC
                          LIMIT 1) AS newest
      JOIN tpcc.order_line AS line ON line.ol_w_id = in_w_id AND line.ol_d_id = in_d_id AND line.ol_o_id = newest.o_id
     WHERE namesake.place = (namesake.total + 1) / 2
     ORDER BY line.ol_number;
END;
$$;

-- Stock-Level (clause 2.8). See stock_level in PostgreSQL's statements.sql for why it is written so.
CREATE OR REPLACE FUNCTION tpcc.stock_level(in_w_id integer, in_d_id integer, in_threshold integer)
RETURNS TABLE (low_stock integer)
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT count(*)::integer
      FROM tpcc.stock
     WHERE s_w_id = in_w_id AND s_quantity < in_threshold
       AND s_i_id = ANY (ARRAY(
               SELECT ol_i_id
                 FROM tpcc.order_line
                WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id
                  AND ol_o_id >= (SELECT d_next_o_id - 20 FROM tpcc.district WHERE d_w_id = in_w_id AND d_id = in_d_id)
                  AND ol_o_id < (SELECT d_next_o_id FROM tpcc.district WHERE d_w_id = in_w_id AND d_id = in_d_id)));
END;
$$;

-- Where they run.
SELECT create_distributed_function(
    'tpcc.new_order(integer, integer, integer, integer[], integer[], integer[], integer[], integer[], integer, text, '
    'text, timestamptz, numeric, numeric, numeric, integer[], text[], numeric[], integer[], text[])',
    'in_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_function(
    'tpcc.payment(integer, integer, integer, integer, integer, text, numeric)',
    'in_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_function(
    'tpcc.order_status_by_id(integer, integer, integer)', 'in_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_function(
    'tpcc.order_status_by_name(integer, integer, text)', 'in_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_function('tpcc.delivery(integer, integer)', 'in_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_function(
    'tpcc.stock_level(integer, integer, integer)', 'in_w_id', colocate_with => 'tpcc.warehouse');
