-- The five transactions on the server (--via procedures): one round trip each.
--
-- They do what statements.sql does, in the same order of locks: customer, district, warehouse; new_order, orders,
-- order_line, customer. Isolation: each statement of a procedure has a snapshot of its own at READ COMMITTED; what is
-- read in order to be written is read by the statement that writes it. The transactions that only read are one
-- statement, that is one snapshot.

-- New-Order (clause 2.4) is a procedure, as only a procedure can roll back and still answer: after an unused item the
-- standard asks for a real rollback and for O_ID, C_LAST and C_CREDIT on the screen. A function would have to raise an
-- error for it, with the values in the error's text, and one order in a hundred would fill the server's log. A CALL
-- takes 10 to 25 µs more of the server than a SELECT of a function (measured on PostgreSQL 15), a few parts in a
-- hundred of a New-Order.
--
-- The lines come in ascending order of (in_pass, in_supply_w_id, in_i_id): stock is locked in this order. Lines of a
-- repeated stock row have passes 0, 1, and so on, for each has to see the quantity that the one before it left. The
-- returned arrays are in any one order; out_number says which line stands where. What they hold counts only if the
-- order was placed; then out_o_entry_d is not null.
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
    ol_cnt integer := cardinality(in_number);
    valid  integer;
BEGIN
    SELECT w_tax, c_discount, c_last, c_credit
      INTO STRICT out_w_tax, out_c_discount, out_c_last, out_c_credit
      FROM tpcc.warehouse CROSS JOIN tpcc.customer
     WHERE w_id = in_w_id
       AND c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;

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
    FOR this_pass IN 0 .. in_pass[ol_cnt] LOOP
        WITH changed AS (
            UPDATE tpcc.stock
               SET s_quantity = CASE WHEN s_quantity >= line.quantity + 10 THEN s_quantity - line.quantity
                                     ELSE s_quantity - line.quantity + 91 END,
                   s_ytd = s_ytd + line.quantity,
                   s_order_cnt = s_order_cnt + 1,
                   s_remote_cnt = s_remote_cnt + (line.supply_w_id <> in_w_id)::integer
              FROM unnest(in_number, in_supply_w_id, in_i_id, in_quantity, in_pass)
                   AS line (number, supply_w_id, i_id, quantity, pass)
              JOIN tpcc.item ON item.i_id = line.i_id
             WHERE s_w_id = line.supply_w_id AND s_i_id = line.i_id AND line.pass = this_pass
            RETURNING line.number, line.i_id, line.supply_w_id, line.quantity, i_name, i_price, s_quantity,
                      CASE in_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                                   WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                                   WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                                   WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10 END AS dist_info,
                      CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand
        ), inserted AS (
            INSERT INTO tpcc.order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                         ol_quantity, ol_amount, ol_dist_info)
            SELECT in_w_id, in_d_id, out_o_id, number, i_id, supply_w_id, NULL, quantity, quantity * i_price, dist_info
              FROM changed
        )
        SELECT out_number || array_agg(number), out_i_name || array_agg(i_name), out_i_price || array_agg(i_price),
               out_s_quantity || array_agg(s_quantity), out_brand || array_agg(brand)
          INTO out_number, out_i_name, out_i_price, out_s_quantity, out_brand
          FROM changed;
    END LOOP;

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

-- Payment (clause 2.5): the customer by number or, if that is null, by last name.
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

    UPDATE tpcc.customer
       SET c_balance = c_balance - in_amount,
           c_ytd_payment = c_ytd_payment + in_amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE c_credit WHEN 'BC' THEN left(format('%4s %2s %4s %2s %4s $%7s %s',
                                                          c_id, c_d_id, c_w_id, in_d_id, in_w_id, in_amount,
                                                          c_data), 500)
                                  ELSE c_data END
     WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = out_c_id
    RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
              c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END
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

-- Order-Status (clause 2.6), by number and by last name: a row a line of the customer's newest order.
CREATE OR REPLACE FUNCTION tpcc.order_status_by_id(in_w_id integer, in_d_id integer, in_c_id integer)
RETURNS TABLE (
    c_id integer, c_balance numeric, c_first varchar, c_middle bpchar, c_last varchar,
    o_id integer, o_entry_d timestamptz, o_carrier_id integer,
    ol_supply_w_id integer, ol_i_id integer, ol_quantity integer, ol_amount numeric, ol_delivery_d timestamptz
)
LANGUAGE sql STABLE
AS $$
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
$$;

CREATE OR REPLACE FUNCTION tpcc.order_status_by_name(in_w_id integer, in_d_id integer, in_c_last text)
RETURNS TABLE (
    c_id integer, c_balance numeric, c_first varchar, c_middle bpchar, c_last varchar,
    o_id integer, o_entry_d timestamptz, o_carrier_id integer,
    ol_supply_w_id integer, ol_i_id integer, ol_quantity integer, ol_amount numeric, ol_delivery_d timestamptz
)
LANGUAGE sql STABLE
AS $$
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
$$;

-- Delivery (clause 2.7): all districts of a warehouse in one transaction. See delivery_take in statements.sql for how
-- the oldest open orders are taken; a district that gave none is asked once more, with a new snapshot, before it counts
-- as skipped.
CREATE OR REPLACE FUNCTION tpcc.delivery(
    in_w_id         integer,
    in_o_carrier_id integer,
    OUT out_d_id    integer[],
    OUT out_o_id    integer[]
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    without   integer[] := ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    customers integer[];
    amounts   numeric[];
    changed   integer;
BEGIN
    out_d_id := '{}';
    out_o_id := '{}';
    FOR attempt IN 1 .. 2 LOOP
        WITH oldest AS MATERIALIZED (
            SELECT queue.no_d_id, queue.no_o_id
              FROM unnest(without) AS district (d_id)
             CROSS JOIN LATERAL (SELECT no_d_id, no_o_id
                                   FROM tpcc.new_order
                                  WHERE no_w_id = in_w_id AND no_d_id = district.d_id
                                  ORDER BY no_o_id
                                  LIMIT 1
                                    FOR UPDATE) AS queue
        ), taken AS (
            DELETE FROM tpcc.new_order
             USING oldest
             WHERE new_order.no_w_id = in_w_id AND new_order.no_d_id = oldest.no_d_id
               AND new_order.no_o_id = oldest.no_o_id
            RETURNING new_order.no_d_id, new_order.no_o_id
        )
        SELECT out_d_id || array_agg(no_d_id ORDER BY no_d_id), out_o_id || array_agg(no_o_id ORDER BY no_d_id)
          INTO out_d_id, out_o_id
          FROM taken;
        EXIT WHEN cardinality(out_d_id) = 10;
        SELECT array_agg(d_id ORDER BY d_id) INTO without FROM unnest(without) AS district (d_id)
         WHERE d_id <> ALL (out_d_id);
    END LOOP;

    IF cardinality(out_d_id) > 0 THEN
        WITH ordered AS (
            UPDATE tpcc.orders
               SET o_carrier_id = in_o_carrier_id
              FROM unnest(out_d_id, out_o_id) AS taken (d_id, o_id)
             WHERE o_w_id = in_w_id AND o_d_id = taken.d_id AND orders.o_id = taken.o_id
            RETURNING taken.d_id, o_c_id
        )
        SELECT array_agg(o_c_id ORDER BY array_position(out_d_id, d_id)) INTO customers FROM ordered;

        WITH delivered AS (
            UPDATE tpcc.order_line
               SET ol_delivery_d = CURRENT_TIMESTAMP
              FROM unnest(out_d_id, out_o_id) AS taken (d_id, o_id)
             WHERE ol_w_id = in_w_id AND ol_d_id = taken.d_id AND ol_o_id = taken.o_id
            RETURNING ol_d_id, ol_amount
        ), summed AS (
            SELECT ol_d_id, sum(ol_amount) AS amount FROM delivered GROUP BY ol_d_id
        )
        SELECT array_agg(amount ORDER BY array_position(out_d_id, ol_d_id)) INTO amounts FROM summed;

        UPDATE tpcc.customer
           SET c_balance = c_balance + taken.amount,
               c_delivery_cnt = c_delivery_cnt + 1
          FROM unnest(out_d_id, customers, amounts) AS taken (d_id, c_id, amount)
         WHERE c_w_id = in_w_id AND c_d_id = taken.d_id AND customer.c_id = taken.c_id AND taken.amount IS NOT NULL;
        GET DIAGNOSTICS changed = ROW_COUNT;

        IF changed <> cardinality(out_d_id) OR cardinality(customers) <> changed OR cardinality(amounts) <> changed THEN
            RAISE EXCEPTION 'Delivery: an order, its lines or its customer are missing in warehouse %', in_w_id;
        END IF;
    END IF;
END;
$$;

-- Stock-Level (clause 2.8). See stock_level in statements.sql for why it is written so.
CREATE OR REPLACE FUNCTION tpcc.stock_level(in_w_id integer, in_d_id integer, in_threshold integer)
RETURNS TABLE (low_stock integer)
LANGUAGE sql STABLE
AS $$
    SELECT count(*)::integer
      FROM tpcc.stock
     WHERE s_w_id = in_w_id AND s_quantity < in_threshold
       AND s_i_id = ANY (ARRAY(
               SELECT ol_i_id
                 FROM tpcc.order_line
                WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id
                  AND ol_o_id >= (SELECT d_next_o_id - 20 FROM tpcc.district WHERE d_w_id = in_w_id AND d_id = in_d_id)
                  AND ol_o_id < (SELECT d_next_o_id FROM tpcc.district WHERE d_w_id = in_w_id AND d_id = in_d_id)));
$$;
