//! Multi-line examples at the end of `--help`, by command.

pub(super) const GRAYMARK: &str = "\
Examples:
  graymark bench                                   load, check, run, check and report, with SQLite
  graymark bench --db postgres:local -w 4          the same on a private PostgreSQL that Graymark starts and stops
  graymark bench debitcredit -b 100                the same with DebitCredit instead of TPC-C
  graymark load tpcc --db postgres://me@host/db -w 100
  graymark run tpcc --db postgres://me@host/db --clients 16 --duration 10m";

pub(super) const CHECK: &str = "\
Examples:
  graymark check tpcc --db sqlite:tpcc.db
  graymark check tpcc --deep --db postgres://me@dbhost/bench";

pub(super) const RUN: &str = "\
Examples:
  graymark run tpcc --db sqlite:tpcc.db --clients 2 --duration 5m
  graymark run tpcc --db 'postgres:local?data=/srv/bench' --fault '15s: kill' --fault '40s: delay 5ms for 10s'
  graymark run --plan graymark-runs/20260131T120000Z-tpcc-sqlite/plan.toml";

pub(super) const ACID: &str = "\
Examples:
  graymark acid tpcc --db postgres:local -w 2 --all-levels
  graymark acid tpcc --db postgres://me@dbhost/bench --isolation serializable --json
  graymark acid tpcc --db mysql:local --crash kill --times 10
  graymark acid tpcc --db postgres:local --crash power --times 10 --set synchronous_commit=off
  graymark acid tpcc --db postgres:local --crash media --times 2
  graymark acid tpcc --db postgres://me@dbhost/bench --crash-with ./power-off --recover-with ./power-on
  graymark acid debitcredit --db sqlite:bank.db -b 2";

pub(super) const DOCTOR: &str = "\
Examples:
  graymark doctor --db postgres://me@dbhost/bench > report.txt
  graymark doctor --db 'mysql://me@dbhost/?dialect=mysql-plain' --json";

pub(super) const REPRODUCE: &str = "\
Examples:
  graymark reproduce gray --minutes 5
  graymark reproduce tsuei --full --out tsuei
  graymark reproduce tsuei --out tsuei --resume";

pub(super) const REPORT: &str = "\
Examples:
  graymark report                                      the newest record
  graymark report before --full                        the full report of the record named before
  graymark report graymark-runs/20260131T120000Z-tpcc-sqlite
  graymark report --table graymark-runs/*
  graymark report before after --html=both.html        a page that overlays both";

pub(super) const EXPLAIN: &str = "\
Examples:
  graymark explain                       all dips and latency peaks of the newest record
  graymark explain before --at 212s
  graymark explain before --at 3m32s --json";

pub(super) const WATCH: &str = "\
Examples:
  graymark watch                the newest run in progress in graymark-runs
  graymark watch nightly        the run with this name

Keys: p pauses the display, e shows errors, q quits.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  graymark completions bash > /etc/bash_completion.d/graymark
  graymark completions zsh > ~/.zfunc/_graymark
  graymark completions fish > ~/.config/fish/completions/graymark.fish";
