-- Queries for Db2 in addition to those for any database. Names are in upper case in the catalog.

-- name: procedures
SELECT LOWER(routinename), text
FROM SYSCAT.ROUTINES
WHERE routinetype = 'P' AND routineschema = CURRENT SCHEMA AND language = 'SQL';

-- name: columns
-- SELECT * leaves out hidden columns.
SELECT LOWER(tabname), LOWER(colname)
FROM SYSCAT.COLUMNS
WHERE tabschema = CURRENT SCHEMA;

-- name: dependents
SELECT 'table',
    CASE tabschema WHEN CURRENT SCHEMA THEN LOWER(tabname) ELSE LOWER(TRIM(tabschema) || '.' || tabname) END,
    LOWER(reftabname)
FROM SYSCAT.REFERENCES
WHERE reftabschema = CURRENT SCHEMA
UNION
SELECT 'view', LOWER(TRIM(tabschema) || '.' || tabname), LOWER(bname)
FROM SYSCAT.TABDEP
WHERE dtype = 'V' AND btype = 'T' AND bschema = CURRENT SCHEMA;
