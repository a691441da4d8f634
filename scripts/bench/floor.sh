# The reference for a PostgreSQL load: psql COPY of prepared CSV files into bare tables in two sessions, and then the
# same keys, two at a time. Needs WORKLOAD, and lib.sh before it.

SQL=$HERE/src/engine/dialect/postgres/$WORKLOAD
SEED=7
# Two sessions of about equal bytes; NAME.PART is a part of the rows of table NAME.
case $WORKLOAD in
  tpcc) SCHEMA=schema.sql ONE="stock item history" OTHER="customer order_line orders new_order district warehouse" ;;
  debitcredit) SCHEMA=gray.sql ONE="account.0" OTHER="account.1 teller branch" ;;
  *) echo "no workload $WORKLOAD" >&2; exit 2 ;;
esac

# make_rows SCALE
make_rows() {
  local scale=$1 part table
  echo "generating the rows of scale $scale as CSV ..." >&2
  rm -rf "$WORK/rows"
  mkdir "$WORK/rows"
  for part in $ONE $OTHER; do
    table=${part%.*}
    [ "$part" != "$table" ] || "$GRAYMARK" rows "$WORKLOAD" "$table" -w "$scale" --seed $SEED >"$WORK/rows/$table.csv"
  done
  if [ "$WORKLOAD" = debitcredit ]; then
    "$GRAYMARK" rows debitcredit account -b "$scale" --seed $SEED |
      split -l $((scale * 5000)) -d -a 1 --additional-suffix=.csv - "$WORK/rows/account."
  fi
  echo "$(du -sm "$WORK/rows" | cut -f1) MB" >&2
}

# The rows have the standard's order of columns, from which the table stock differs.
columns() {
  [ "$1" != stock ] ||
    echo "(s_i_id, s_w_id, s_quantity, $(printf 's_dist_%02d, ' {1..10})s_ytd, s_order_cnt, s_remote_cnt, s_data)"
}

copy() {
  for part in "$@"; do
    echo "\\copy $WORKLOAD.${part%.*} $(columns "$part") FROM '$WORK/rows/$part.csv' (FORMAT csv)"
  done | sql floor
}

# floor: loads them, and prints the seconds.
floor() {
  sql postgres -c 'SET client_min_messages = warning' -c 'DROP DATABASE IF EXISTS floor' -c 'CREATE DATABASE floor'
  sql floor -c "CREATE SCHEMA $WORKLOAD"
  sql floor -f "$SQL/$SCHEMA"
  sql postgres -c CHECKPOINT
  local start end
  start=$(seconds)
  # shellcheck disable=SC2086
  copy $ONE & local one=$!
  # shellcheck disable=SC2086
  copy $OTHER
  wait $one
  grep -v '^--' "$SQL/keys.sql" | tr '\n' ' ' | tr ';' '\n' | grep -v '^ *$' | sed 's/$/;/' | xargs -d '\n' -P 2 -I{} \
    psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$PGPORT_PRIVATE" -U postgres -d floor -c {}
  end=$(seconds)
  elapsed "$start" "$end"
}
