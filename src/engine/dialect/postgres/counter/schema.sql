CREATE TABLE counter.counter (
    id    integer NOT NULL,
    value integer NOT NULL
);

CREATE TABLE counter.step (
    counter_id integer NOT NULL,
    value      integer NOT NULL
);
