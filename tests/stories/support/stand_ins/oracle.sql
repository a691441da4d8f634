-- What a MariaDB with sql_mode=ORACLE lacks of Oracle: a function, two procedures and the catalog views, as far as the
-- dialect `oracle` asks for them.
CREATE FUNCTION sys_context(namespace VARCHAR(40), parameter VARCHAR(40)) RETURNS VARCHAR(64) RETURN DATABASE();
CREATE PROCEDURE raise_application_error(IN number INT, IN words VARCHAR(200))
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = words;
CREATE DATABASE DBMS_STATS;
CREATE PROCEDURE DBMS_STATS.GATHER_TABLE_STATS(IN owner VARCHAR(64), IN table_name VARCHAR(64)) SELECT 1 INTO @done;
CREATE VIEW all_source AS
SELECT routine_schema AS owner, routine_name AS name, 'PROCEDURE' AS type, 1 AS line, routine_definition AS text
  FROM information_schema.routines
 WHERE routine_type = 'PROCEDURE';
CREATE VIEW all_errors AS
SELECT owner, name, type, line AS sequence, 'ERROR' AS attribute, text FROM all_source WHERE 1 = 0;
CREATE VIEW all_tab_cols AS
SELECT table_schema AS owner, table_name, column_name, IF(extra LIKE '%INVISIBLE%', 'YES', 'NO') AS hidden_column,
       IF(is_generated = 'ALWAYS', 'YES', 'NO') AS virtual_column
  FROM information_schema.columns;
CREATE TABLE all_constraints (owner VARCHAR(64), table_name VARCHAR(64), constraint_name VARCHAR(64),
                              r_owner VARCHAR(64), r_constraint_name VARCHAR(64), constraint_type CHAR(1));
CREATE TABLE all_dependencies (owner VARCHAR(64), name VARCHAR(64), type VARCHAR(20), referenced_owner VARCHAR(64),
                               referenced_name VARCHAR(64), referenced_type VARCHAR(20));
SET GLOBAL sql_mode = 'ORACLE,STRICT_TRANS_TABLES';
