-- Differences of Aurora DSQL. Transactions read a snapshot and never wait: of two deliveries that take the same order,
-- one fails at its commit and is retried, so that nothing needs to be locked.

-- name: delivery_take
-- access: write
DELETE FROM tpcc.new_order
 USING (SELECT no_d_id AS d_id, min(no_o_id) AS o_id
          FROM tpcc.new_order
         WHERE no_w_id = $1::integer AND no_d_id = ANY ($2::integer[])
         GROUP BY no_d_id) AS oldest
 WHERE no_w_id = $1::integer AND no_d_id = oldest.d_id AND no_o_id = oldest.o_id
RETURNING no_d_id, no_o_id;

-- name: delivery_lines
-- access: write
UPDATE tpcc.order_line
   SET ol_delivery_d = CURRENT_TIMESTAMP
  FROM unnest($2::integer[], $3::integer[]) AS taken (d_id, o_id)
 WHERE ol_w_id = $1::integer AND ol_d_id = taken.d_id AND ol_o_id = taken.o_id
RETURNING ol_d_id, ol_amount;
