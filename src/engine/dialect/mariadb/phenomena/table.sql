-- A difference of MariaDB and MySQL: only InnoDB has transactions.

-- name: create
-- access: write
CREATE TABLE graymark_phenomena (k INTEGER NOT NULL PRIMARY KEY, g INTEGER NOT NULL, v INTEGER NOT NULL)
    ENGINE = InnoDB;
