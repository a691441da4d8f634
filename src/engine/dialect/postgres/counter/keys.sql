-- name: counter_pkey
ALTER TABLE counter.counter ADD CONSTRAINT counter_pkey PRIMARY KEY (id);
