-- name: effects
-- title: History rows: one for each committed transaction, and none for others
SELECT count(*) AS history_rows FROM history;
