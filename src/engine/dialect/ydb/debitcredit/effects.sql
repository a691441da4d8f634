-- name: effects
-- title: History rows: one for each committed transaction, and none for others
SELECT COUNT(*) AS history_rows FROM history;
