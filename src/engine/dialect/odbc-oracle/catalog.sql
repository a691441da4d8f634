-- Graymark's own tables in Oracle's types, and queries in addition to those for any database. Names are in upper case
-- in the catalog.

-- name: create parts
CREATE TABLE graymark_parts (
    table_name VARCHAR2(40) NOT NULL, part INTEGER NOT NULL, loaded_rows NUMBER(19) NOT NULL,
    loaded_bytes NUMBER(19) NOT NULL, PRIMARY KEY (table_name, part));

-- name: procedures
SELECT name, text
FROM all_source
WHERE owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') AND type = 'PROCEDURE'
ORDER BY name, line;

-- name: invalid procedures
SELECT name, text
FROM all_errors
WHERE owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') AND type = 'PROCEDURE' AND attribute = 'ERROR'
ORDER BY name, sequence;

-- name: columns
-- SELECT * leaves out invisible columns. Those that are hidden and virtual belong to indexes and statistics.
SELECT LOWER(table_name), LOWER(column_name)
FROM all_tab_cols
WHERE owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') AND NOT (hidden_column = 'YES' AND virtual_column = 'YES');

-- name: dependents
SELECT 'table',
    CASE c.owner WHEN r.owner THEN LOWER(c.table_name) ELSE LOWER(c.owner || '.' || c.table_name) END,
    LOWER(r.table_name)
FROM all_constraints c JOIN all_constraints r ON r.owner = c.r_owner AND r.constraint_name = c.r_constraint_name
WHERE c.constraint_type = 'R' AND r.owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')
UNION
SELECT 'view', LOWER(owner || '.' || name), LOWER(referenced_name)
FROM all_dependencies
WHERE type = 'VIEW' AND referenced_type = 'TABLE' AND referenced_owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA');
