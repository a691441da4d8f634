-- What MariaDB and MySQL are told otherwise than all others: only InnoDB has transactions.

-- name: create
-- access: write
CREATE TABLE graymark_phenomena (k INTEGER NOT NULL PRIMARY KEY, g INTEGER NOT NULL, v INTEGER NOT NULL) ENGINE = InnoDB;
