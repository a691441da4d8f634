-- What a MariaDB lacks of Db2: a function, a procedure and the catalog views, as far as the dialect `db2` asks for
-- them.
CREATE FUNCTION varchar_format(moment TIMESTAMP(6), format VARCHAR(40)) RETURNS VARCHAR(40)
    RETURN DATE_FORMAT(moment, '%Y-%m-%d %H:%i:%s.%f');
CREATE DATABASE SYSPROC;
CREATE PROCEDURE SYSPROC.ADMIN_CMD(IN command VARCHAR(200)) SELECT 1 INTO @done;
CREATE DATABASE SYSIBM;
CREATE TABLE SYSIBM.SYSDUMMY1 (ibmreqd CHAR(1));
INSERT INTO SYSIBM.SYSDUMMY1 VALUES ('Y');
CREATE DATABASE SYSCAT;
CREATE VIEW SYSCAT.ROUTINES AS
SELECT routine_schema AS routineschema, routine_name AS routinename, 'P' AS routinetype, 'SQL' AS language,
       routine_definition AS text
  FROM information_schema.routines
 WHERE routine_type = 'PROCEDURE';
CREATE VIEW SYSCAT.COLUMNS AS
SELECT table_schema AS tabschema, table_name AS tabname, column_name AS colname FROM information_schema.columns;
CREATE TABLE SYSCAT.REFERENCES (tabschema VARCHAR(64), tabname VARCHAR(64), reftabschema VARCHAR(64),
                                reftabname VARCHAR(64));
CREATE TABLE SYSCAT.TABDEP (tabschema VARCHAR(64), tabname VARCHAR(64), dtype CHAR(1), bschema VARCHAR(64),
                            bname VARCHAR(64), btype CHAR(1));
SET GLOBAL sql_mode = 'PIPES_AS_CONCAT,STRICT_TRANS_TABLES';
