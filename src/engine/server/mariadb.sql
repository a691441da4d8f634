-- Closes a private server before it takes connections: its administrator gets the password, from wherever he comes, and
-- nobody enters without a name. Data directories that were made without a password are closed by it, too. The
-- statements go to no log.
SET SESSION sql_log_off = ON;
SET SESSION sql_log_bin = OFF;
UPDATE mysql.global_priv SET Priv = JSON_REMOVE(JSON_SET(Priv, '$.plugin', 'mysql_native_password', '$.authentication_string', PASSWORD('{password}')), '$.auth_or') WHERE User = 'root';
DELETE FROM mysql.global_priv WHERE User = '';
FLUSH PRIVILEGES;
