CREATE OR REPLACE FUNCTION counter.step(p_id integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_value integer;
BEGIN
    UPDATE counter.counter SET value = value + 1 WHERE id = p_id RETURNING value INTO v_value;
    INSERT INTO counter.step (counter_id, value) VALUES (p_id, v_value);
    RETURN v_value;
END
$$;
