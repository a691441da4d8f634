-- The five transactions of TPC-C in Virtuoso PL, one call each. A call is a transaction: it is committed when it
-- returns, unless it rolled back. A name in SQL is a column before it is a variable, so no variable has the name of a
-- column. Dates are returned as text, because the driver would format them differently.

-- name: customer_by_name
-- Of the namesakes in the order of C_FIRST the one at position n/2, rounded up (clauses 2.5.2.2 and 2.6.2.2).
CREATE PROCEDURE tpcc.DBA.customer_by_name (IN in_w_id INTEGER, IN in_d_id INTEGER, IN in_last VARCHAR)
{
  DECLARE namesakes, chosen INTEGER;
  DECLARE bearer CURSOR FOR
    SELECT c_id FROM tpcc.DBA.customer
     WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_last
     ORDER BY c_first, c_id;
  SELECT COUNT(*) INTO namesakes FROM tpcc.DBA.customer
   WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_last;
  IF (namesakes = 0)
    SIGNAL ('GM001', 'there is no customer of this name');
  namesakes := (namesakes + 1) / 2;
  OPEN bearer;
  WHILE (namesakes > 0)
    {
      FETCH bearer INTO chosen;
      namesakes := namesakes - 1;
    }
  CLOSE bearer;
  RETURN chosen;
};

-- name: new_order
-- New-Order (clause 2.4). in_lines holds number, supplying warehouse, item and quantity of each line, all separated by
-- commas, in the order in which stock is to be locked. A row for the order comes first, then a row for each line. If an
-- item is unused, the work of the other lines is done before all is rolled back (clause 2.4.2.3); then out_o_entry_d is
-- null, and no lines follow.
CREATE PROCEDURE tpcc.DBA.new_order (IN in_w_id INTEGER, IN in_d_id INTEGER, IN in_c_id INTEGER,
                                     IN in_all_local INTEGER, IN in_lines VARCHAR)
{
  DECLARE out_o_id, out_number, out_s_quantity, item_id, supply_w_id, quantity, ol_cnt, place, unused INTEGER;
  DECLARE out_c_last, out_c_credit, out_o_entry_d, out_i_name, out_brand, item_data, stock_data, dist_info VARCHAR;
  DECLARE out_c_discount, out_w_tax, out_d_tax, out_i_price DECIMAL;
  DECLARE entered DATETIME;
  DECLARE lines, told ANY;

  result_names (out_o_id, out_c_last, out_c_credit, out_o_entry_d, out_c_discount, out_w_tax, out_d_tax,
                out_number, out_i_name, out_i_price, out_s_quantity, out_brand);
  DECLARE EXIT HANDLER FOR NOT FOUND
    { ROLLBACK WORK; SIGNAL ('GM001', 'New-Order: a customer, district or stock row is missing'); };

  lines := split_and_decode (in_lines, 0, '\0\0,');
  ol_cnt := length (lines) / 4;
  told := make_array (ol_cnt, 'any');
  unused := 0;

  SELECT c_discount, c_last, c_credit, w_tax INTO out_c_discount, out_c_last, out_c_credit, out_w_tax
    FROM tpcc.DBA.customer, tpcc.DBA.warehouse
   WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id AND w_id = in_w_id;

  UPDATE tpcc.DBA.district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w_id AND d_id = in_d_id;
  SELECT d_next_o_id - 1, d_tax INTO out_o_id, out_d_tax FROM tpcc.DBA.district
   WHERE d_w_id = in_w_id AND d_id = in_d_id;

  entered := curutcdatetime ();
  INSERT INTO tpcc.DBA.orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
  VALUES (out_o_id, in_d_id, in_w_id, in_c_id, entered, NULL, ol_cnt, in_all_local);
  INSERT INTO tpcc.DBA.new_order (no_o_id, no_d_id, no_w_id) VALUES (out_o_id, in_d_id, in_w_id);

  FOR (place := 0; place < ol_cnt; place := place + 1)
    {
      out_number := atoi (lines[4 * place]);
      supply_w_id := atoi (lines[4 * place + 1]);
      item_id := atoi (lines[4 * place + 2]);
      quantity := atoi (lines[4 * place + 3]);
      out_i_name := NULL;
      FOR (SELECT i_price AS price, i_name AS name, i_data AS data FROM tpcc.DBA.item WHERE i_id = item_id) DO
        {
          out_i_price := price;
          out_i_name := name;
          item_data := data;
        }
      IF (out_i_name IS NULL)
        unused := 1;
      ELSE
        {
          UPDATE tpcc.DBA.stock
             SET s_quantity = CASE WHEN s_quantity >= quantity + 10 THEN s_quantity - quantity
                                   ELSE s_quantity - quantity + 91 END,
                 s_ytd = s_ytd + quantity,
                 s_order_cnt = s_order_cnt + 1,
                 s_remote_cnt = s_remote_cnt + CASE WHEN supply_w_id <> in_w_id THEN 1 ELSE 0 END
           WHERE s_w_id = supply_w_id AND s_i_id = item_id;
          SELECT s_quantity, s_data,
                 CASE in_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                              WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                              WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO out_s_quantity, stock_data, dist_info
            FROM tpcc.DBA.stock
           WHERE s_w_id = supply_w_id AND s_i_id = item_id;
          INSERT INTO tpcc.DBA.order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                           ol_quantity, ol_amount, ol_dist_info)
          VALUES (out_o_id, in_d_id, in_w_id, out_number, item_id, supply_w_id, NULL, quantity, quantity * out_i_price,
                  dist_info);
          out_brand := 'G';
          IF (strstr (item_data, 'ORIGINAL') IS NOT NULL AND strstr (stock_data, 'ORIGINAL') IS NOT NULL)
            out_brand := 'B';
          told[place] := vector (out_number, out_i_name, out_i_price, out_s_quantity, out_brand);
        }
    }

  IF (unused)
    {
      ROLLBACK WORK;
      result (out_o_id, out_c_last, out_c_credit, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
      RETURN;
    }
  out_o_entry_d := CAST (entered AS VARCHAR);
  result (out_o_id, out_c_last, out_c_credit, out_o_entry_d, out_c_discount, out_w_tax, out_d_tax, NULL, NULL, NULL,
          NULL, NULL);
  FOR (place := 0; place < ol_cnt; place := place + 1)
    result (NULL, NULL, NULL, NULL, NULL, NULL, NULL, told[place][0], told[place][1], told[place][2], told[place][3],
            told[place][4]);
};

-- name: payment
-- Payment (clause 2.5): the customer by number or, if that is null, by last name. in_amount is a text with two
-- decimals, as C_DATA takes it.
CREATE PROCEDURE tpcc.DBA.payment (IN in_w_id INTEGER, IN in_d_id INTEGER, IN in_c_w_id INTEGER, IN in_c_d_id INTEGER,
                                   IN in_c_id INTEGER, IN in_c_last VARCHAR, IN in_amount VARCHAR)
{
  DECLARE paid DATETIME;
  DECLARE warehouse_name, out_w_street_1, out_w_street_2, out_w_city, out_w_state, out_w_zip VARCHAR;
  DECLARE district_name, out_d_street_1, out_d_street_2, out_d_city, out_d_state, out_d_zip VARCHAR;
  DECLARE out_c_first, out_c_middle, out_c_last, out_c_street_1, out_c_street_2, out_c_city, out_c_state,
          out_c_zip VARCHAR;
  DECLARE out_c_phone, out_c_since, out_c_credit, out_c_data, out_h_date VARCHAR;
  DECLARE out_c_id INTEGER;
  DECLARE amount, out_c_credit_lim, out_c_discount, out_c_balance DECIMAL;

  result_names (out_h_date, out_w_street_1, out_w_street_2, out_w_city, out_w_state, out_w_zip,
                out_d_street_1, out_d_street_2, out_d_city, out_d_state, out_d_zip,
                out_c_id, out_c_first, out_c_middle, out_c_last, out_c_street_1, out_c_street_2, out_c_city,
                out_c_state, out_c_zip, out_c_phone, out_c_since, out_c_credit, out_c_credit_lim, out_c_discount,
                out_c_balance, out_c_data);
  DECLARE EXIT HANDLER FOR NOT FOUND
    { ROLLBACK WORK; SIGNAL ('GM001', 'Payment: a customer, district or warehouse is missing'); };

  amount := CAST (in_amount AS DECIMAL);
  out_c_id := in_c_id;
  IF (out_c_id IS NULL)
    out_c_id := tpcc.DBA.customer_by_name (in_c_w_id, in_c_d_id, in_c_last);

  UPDATE tpcc.DBA.customer
     SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1
   WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = out_c_id;
  SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, CAST (c_since AS VARCHAR),
         c_credit, c_credit_lim, c_discount, c_balance, c_data
    INTO out_c_first, out_c_middle, out_c_last, out_c_street_1, out_c_street_2, out_c_city, out_c_state, out_c_zip,
         out_c_phone, out_c_since, out_c_credit, out_c_credit_lim, out_c_discount, out_c_balance, out_c_data
    FROM tpcc.DBA.customer
   WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = out_c_id;
  IF (out_c_credit = 'BC')
    {
      out_c_data := left (concat (sprintf ('%4d %2d %4d %2d %4d $%7s ', out_c_id, in_c_d_id, in_c_w_id, in_d_id,
                                           in_w_id, in_amount),
                                  out_c_data), 500);
      UPDATE tpcc.DBA.customer SET c_data = out_c_data
       WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = out_c_id;
      out_c_data := left (out_c_data, 200);
    }
  ELSE
    out_c_data := '';

  UPDATE tpcc.DBA.district SET d_ytd = d_ytd + amount WHERE d_w_id = in_w_id AND d_id = in_d_id;
  SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO district_name, out_d_street_1, out_d_street_2, out_d_city, out_d_state, out_d_zip
    FROM tpcc.DBA.district
   WHERE d_w_id = in_w_id AND d_id = in_d_id;

  -- The hottest row comes last: others wait for it until the commit.
  UPDATE tpcc.DBA.warehouse SET w_ytd = w_ytd + amount WHERE w_id = in_w_id;
  SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO warehouse_name, out_w_street_1, out_w_street_2, out_w_city, out_w_state, out_w_zip
    FROM tpcc.DBA.warehouse
   WHERE w_id = in_w_id;

  paid := curutcdatetime ();
  INSERT INTO tpcc.DBA.history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
  VALUES (out_c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, paid, amount,
          concat (warehouse_name, '    ', district_name));

  out_h_date := CAST (paid AS VARCHAR);
  result (out_h_date, out_w_street_1, out_w_street_2, out_w_city, out_w_state, out_w_zip,
          out_d_street_1, out_d_street_2, out_d_city, out_d_state, out_d_zip,
          out_c_id, out_c_first, out_c_middle, out_c_last, out_c_street_1, out_c_street_2, out_c_city, out_c_state,
          out_c_zip, out_c_phone, out_c_since, out_c_credit, out_c_credit_lim, out_c_discount, out_c_balance,
          out_c_data);
};

-- name: order_status
-- Order-Status (clause 2.6), by number or, if that is null, by last name: a row a line of the customer's newest order.
CREATE PROCEDURE tpcc.DBA.order_status (IN in_w_id INTEGER, IN in_d_id INTEGER, IN in_c_id INTEGER,
                                        IN in_c_last VARCHAR)
{
  DECLARE out_c_id, out_o_id, out_carrier_id, out_supply_w_id, out_i_id, out_quantity INTEGER;
  DECLARE out_c_first, out_c_middle, out_c_last, out_entry_d, out_delivery_d VARCHAR;
  DECLARE out_balance, out_amount DECIMAL;

  result_names (out_c_id, out_balance, out_c_first, out_c_middle, out_c_last, out_o_id, out_entry_d, out_carrier_id,
                out_supply_w_id, out_i_id, out_quantity, out_amount, out_delivery_d);
  DECLARE EXIT HANDLER FOR NOT FOUND { SIGNAL ('GM001', 'Order-Status: a customer or its order is missing'); };

  out_c_id := in_c_id;
  IF (out_c_id IS NULL)
    out_c_id := tpcc.DBA.customer_by_name (in_w_id, in_d_id, in_c_last);
  SELECT c_balance, c_first, c_middle, c_last INTO out_balance, out_c_first, out_c_middle, out_c_last
    FROM tpcc.DBA.customer
   WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = out_c_id;
  SELECT TOP 1 o_id, CAST (o_entry_d AS VARCHAR), o_carrier_id INTO out_o_id, out_entry_d, out_carrier_id
    FROM tpcc.DBA.orders
   WHERE o_w_id = in_w_id AND o_d_id = in_d_id AND o_c_id = out_c_id
   ORDER BY o_id DESC;
  FOR (SELECT ol_supply_w_id AS supply_w_id, ol_i_id AS item_id, ol_quantity AS quantity, ol_amount AS amount,
              CAST (ol_delivery_d AS VARCHAR) AS delivery_d
         FROM tpcc.DBA.order_line
        WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id = out_o_id
        ORDER BY ol_number) DO
    result (out_c_id, out_balance, out_c_first, out_c_middle, out_c_last, out_o_id, out_entry_d, out_carrier_id,
            supply_w_id, item_id, quantity, amount, delivery_d);
};

-- name: delivery
-- Delivery (clause 2.7): all districts of a warehouse in one transaction; a row for each order that was delivered. An
-- order that another delivery took while this one waited for it is left to that one, and the next one is taken.
CREATE PROCEDURE tpcc.DBA.delivery (IN in_w_id INTEGER, IN in_carrier_id INTEGER)
{
  DECLARE out_d_id, out_o_id, customer_id INTEGER;
  DECLARE amount DECIMAL;
  DECLARE delivery_d DATETIME;
  DECLARE told ANY;

  result_names (out_d_id, out_o_id);
  DECLARE EXIT HANDLER FOR NOT FOUND
    { ROLLBACK WORK; SIGNAL ('GM001', 'Delivery: an order or its customer is missing'); };

  delivery_d := curutcdatetime ();
  told := make_array (11, 'any');
  FOR (out_d_id := 1; out_d_id <= 10; out_d_id := out_d_id + 1)
    {
again:
      out_o_id := NULL;
      FOR (SELECT TOP 1 no_o_id AS oldest FROM tpcc.DBA.new_order
           WHERE no_w_id = in_w_id AND no_d_id = out_d_id ORDER BY no_o_id) DO
        out_o_id := oldest;
      told[out_d_id] := out_o_id;
      IF (out_o_id IS NOT NULL)
        {
          DELETE FROM tpcc.DBA.new_order WHERE no_w_id = in_w_id AND no_d_id = out_d_id AND no_o_id = out_o_id;
          IF (row_count () = 0)
            GOTO again;
          SELECT o_c_id INTO customer_id FROM tpcc.DBA.orders
           WHERE o_w_id = in_w_id AND o_d_id = out_d_id AND o_id = out_o_id;
          UPDATE tpcc.DBA.orders SET o_carrier_id = in_carrier_id
           WHERE o_w_id = in_w_id AND o_d_id = out_d_id AND o_id = out_o_id;
          UPDATE tpcc.DBA.order_line SET ol_delivery_d = delivery_d
           WHERE ol_w_id = in_w_id AND ol_d_id = out_d_id AND ol_o_id = out_o_id;
          SELECT SUM (ol_amount) INTO amount FROM tpcc.DBA.order_line
           WHERE ol_w_id = in_w_id AND ol_d_id = out_d_id AND ol_o_id = out_o_id;
          UPDATE tpcc.DBA.customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
           WHERE c_w_id = in_w_id AND c_d_id = out_d_id AND c_id = customer_id;
          IF (row_count () <> 1 OR amount IS NULL)
            {
              ROLLBACK WORK;
              SIGNAL ('GM001', 'Delivery: an order has no lines or no customer');
            }
        }
    }
  FOR (out_d_id := 1; out_d_id <= 10; out_d_id := out_d_id + 1)
    IF (told[out_d_id] IS NOT NULL)
      result (out_d_id, told[out_d_id]);
};

-- name: stock_level
-- Stock-Level (clause 2.8): distinct items of the district's last twenty orders whose stock is below the threshold.
CREATE PROCEDURE tpcc.DBA.stock_level (IN in_w_id INTEGER, IN in_d_id INTEGER, IN in_threshold INTEGER)
{
  DECLARE next_o_id, out_low_stock INTEGER;

  result_names (out_low_stock);
  DECLARE EXIT HANDLER FOR NOT FOUND { SIGNAL ('GM001', 'Stock-Level: there is no such district'); };

  SELECT d_next_o_id INTO next_o_id FROM tpcc.DBA.district WHERE d_w_id = in_w_id AND d_id = in_d_id;
  SELECT COUNT (DISTINCT s_i_id) INTO out_low_stock
    FROM tpcc.DBA.order_line, tpcc.DBA.stock
   WHERE ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id >= next_o_id - 20 AND ol_o_id < next_o_id
     AND s_w_id = in_w_id AND s_i_id = ol_i_id AND s_quantity < in_threshold;
  result (out_low_stock);
};
