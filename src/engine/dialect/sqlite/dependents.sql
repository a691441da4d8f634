-- Objects in the file that depend on its tables: foreign keys of tables, and views, by their texts.

-- name: dependents
SELECT 'table' AS kind, s.name AS dependent, k."table" AS needed
  FROM sqlite_master s JOIN pragma_foreign_key_list(s.name) k
 WHERE s.type = 'table'
UNION
SELECT 'view', v.name, t.name
  FROM sqlite_master v JOIN sqlite_master t ON t.type = 'table' AND instr(lower(v.sql), lower(t.name)) > 0
 WHERE v.type = 'view';
