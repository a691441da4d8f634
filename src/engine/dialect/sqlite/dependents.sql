-- What else in the file hangs on its tables: foreign keys of tables. Who reads a view is not kept.

-- name: dependents
SELECT 'table' AS kind, s.name AS dependent, k."table" AS needed
  FROM sqlite_schema s JOIN pragma_foreign_key_list(s.name) k
 WHERE s.type = 'table'
 ORDER BY 2, 3;
