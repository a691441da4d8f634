-- Closes a private MySQL before it takes connections: its administrator gets the password, from wherever he comes, and
-- nobody enters without a name. The statements go to no log. Each has a line of its own.
SET SESSION sql_log_off = ON;
SET SESSION sql_log_bin = OFF;
ALTER USER 'root'@'localhost' IDENTIFIED WITH mysql_native_password BY '{password}';
CREATE USER IF NOT EXISTS 'root'@'127.0.0.1' IDENTIFIED WITH mysql_native_password BY '{password}';
ALTER USER 'root'@'127.0.0.1' IDENTIFIED WITH mysql_native_password BY '{password}';
GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
DROP USER IF EXISTS ''@'localhost';
