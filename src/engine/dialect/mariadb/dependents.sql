-- Objects in the server that depend on tables of the connection's database: foreign keys of tables, and views. The
-- server stores the definition of a view with qualified names; it shows views to users with the privilege.

-- name: dependents
SELECT 'table' AS kind,
       CASE WHEN table_schema = DATABASE() THEN table_name ELSE CONCAT(table_schema, '.', table_name) END AS dependent,
       referenced_table_name AS needed
  FROM information_schema.key_column_usage
 WHERE referenced_table_schema = DATABASE()
UNION
SELECT 'view', CONCAT(v.table_schema, '.', v.table_name), t.table_name
  FROM information_schema.views v
  JOIN information_schema.tables t
    ON t.table_schema = DATABASE() 
       AND LOCATE(CONCAT('`', t.table_schema, '`.`', t.table_name, '`'), v.view_definition) > 0;
