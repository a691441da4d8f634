-- Removes the routines of procedures.sql; the tables are removed by their names.
DROP FUNCTION IF EXISTS debitcredit.debit_credit;
DROP FUNCTION IF EXISTS debitcredit.tpc;
