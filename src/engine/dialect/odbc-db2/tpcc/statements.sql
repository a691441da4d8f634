-- Statements that Db2 takes in another form: SUBSTRING has a unit.

-- name: payment_customer_by_id
-- ?1 w_id, ?2 d_id, ?3 c_w_id, ?4 c_d_id, ?5 c_id, ?6 amount
UPDATE customer
SET c_balance = c_balance - ?6,
    c_ytd_payment = c_ytd_payment + ?6,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN SUBSTRING(?note || c_data, 1, 500, OCTETS) ELSE c_data END
WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?5;
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN SUBSTRING(c_data, 1, 200, OCTETS) ELSE '' END
FROM customer
WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?5;

-- name: payment_customer_by_name
-- ?1 w_id, ?2 d_id, ?3 c_w_id, ?4 c_d_id, ?5 c_last, ?6 amount
-- chosen: ?7
SELECT c_id FROM customer WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_last = ?5 ORDER BY c_first, c_id;
UPDATE customer
SET c_balance = c_balance - ?6,
    c_ytd_payment = c_ytd_payment + ?6,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN SUBSTRING(?note || c_data, 1, 500, OCTETS) ELSE c_data END
WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?7;
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN SUBSTRING(c_data, 1, 200, OCTETS) ELSE '' END
FROM customer
WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?7;
