//! Graymark's integration tests: one file a user story, one binary for all of them.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test ends with a panic")]

mod support;

mod ab;
mod acid;
mod bank;
mod bank_conditions;
mod bank_verdict;
mod compare;
mod conformance;
mod consistency;
mod counters;
mod deliveries;
mod doctor;
mod experiment;
mod first_result;
mod foreign_tables;
mod grid;
mod hosts;
mod interrupt;
mod library;
mod list;
mod live;
mod lost_commits;
mod mistakes;
mod mysql;
mod odbc;
mod open_loop;
mod options;
mod outage;
mod postgres;
mod predict;
mod records;
mod report;
mod reproduce;
mod restore;
mod resume;
mod screens;
mod simulate;
mod sqlite;
mod stages;
mod sweep;
mod verdict;
mod virtuoso;
mod watch;
mod why;
