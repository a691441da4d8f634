-- Objects in the database that depend on tables of the connection's schema: foreign keys of tables, tables that inherit
-- from them, views, and sequences that belong to their columns (OWNED BY).

-- name: dependents
SELECT 'table' AS kind,
       CASE WHEN n.nspname = current_schema() THEN c.relname::text ELSE n.nspname || '.' || c.relname END AS dependent,
       t.relname::text AS needed
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_class t ON t.oid = k.confrelid
  JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace
 WHERE k.contype = 'f' AND s.nspname = current_schema()
UNION
SELECT 'table',
       CASE WHEN n.nspname = current_schema() THEN c.relname::text ELSE n.nspname || '.' || c.relname END,
       t.relname::text
  FROM pg_catalog.pg_inherits i
  JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_class t ON t.oid = i.inhparent
  JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace
 WHERE s.nspname = current_schema()
UNION
SELECT 'view',
       CASE WHEN n.nspname = current_schema() THEN v.relname::text ELSE n.nspname || '.' || v.relname END,
       t.relname::text
  FROM pg_catalog.pg_rewrite r
  JOIN pg_catalog.pg_depend d ON d.objid = r.oid AND d.refobjid <> r.ev_class
  JOIN pg_catalog.pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
  JOIN pg_catalog.pg_namespace n ON n.oid = v.relnamespace
  JOIN pg_catalog.pg_class t ON t.oid = d.refobjid
  JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace
 WHERE s.nspname = current_schema()
UNION
SELECT 'sequence', c.relname::text, t.relname::text
  FROM pg_catalog.pg_depend d
  JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind = 'S'
  JOIN pg_catalog.pg_class t ON t.oid = d.refobjid
  JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace
 WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
   AND d.deptype = 'a' AND s.nspname = current_schema()
 ORDER BY 1, 2, 3;
