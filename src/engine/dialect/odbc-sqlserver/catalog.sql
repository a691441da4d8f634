-- Queries for SQL Server in addition to those for any database.

-- name: settings
SELECT 'collation', CAST(DATABASEPROPERTYEX(DB_NAME(), 'Collation') AS varchar(128))
UNION ALL SELECT 'recovery', CAST(DATABASEPROPERTYEX(DB_NAME(), 'Recovery') AS varchar(128))
UNION ALL
SELECT 'read_committed_snapshot', CAST(is_read_committed_snapshot_on AS varchar(10))
FROM sys.databases WHERE database_id = DB_ID()
UNION ALL
SELECT 'delayed_durability', CAST(delayed_durability_desc AS varchar(60))
FROM sys.databases WHERE database_id = DB_ID();

-- name: procedures
SELECT p.name, m.definition
FROM sys.procedures p JOIN sys.sql_modules m ON m.object_id = p.object_id
WHERE p.schema_id = SCHEMA_ID();

-- name: dependents
SELECT 'table', SCHEMA_NAME(child.schema_id) + '.' + child.name, parent.name
FROM sys.foreign_keys k
JOIN sys.tables child ON child.object_id = k.parent_object_id
JOIN sys.tables parent ON parent.object_id = k.referenced_object_id
WHERE parent.schema_id = SCHEMA_ID() AND child.schema_id <> SCHEMA_ID()
UNION
SELECT 'table', child.name, parent.name
FROM sys.foreign_keys k
JOIN sys.tables child ON child.object_id = k.parent_object_id
JOIN sys.tables parent ON parent.object_id = k.referenced_object_id
WHERE parent.schema_id = SCHEMA_ID() AND child.schema_id = SCHEMA_ID()
UNION
SELECT 'view', SCHEMA_NAME(v.schema_id) + '.' + v.name, t.name
FROM sys.sql_expression_dependencies d
JOIN sys.views v ON v.object_id = d.referencing_id
JOIN sys.tables t ON t.object_id = d.referenced_id
WHERE t.schema_id = SCHEMA_ID();
