#!/bin/sh
# Called by the nodes of a private Galera cluster when one of them joins: by the joiner and by its donor. The donor has
# a cache of recent transactions, from which the joiner gets those it has missed, over the cluster's own encrypted
# connections. Nothing is sent here: a file in a directory that only the servers' user can enter tells the joiner the
# starting position.
role= address= state= kept= parent=
while [ $# -gt 0 ]; do
    case $1 in
    --role) role=$2; shift ;;
    --address) address=$2; shift ;;
    --gtid) state=$2; shift ;;
    --parent) parent=$2; shift ;;
    --bypass) kept=yes ;;
    esac
    shift
done
case $role in
joiner)
    # The server's process id serves as its name.
    address=127.0.0.1:$parent
    file=DIRECTORY/$address.state
    rm -f "$file"
    echo "ready $address"
    until [ -s "$file" ]; do
        # Its server is gone.
        kill -0 "$parent" 2> /dev/null || exit 1
        sleep 0.05
    done
    cat "$file"
    rm -f "$file"
    ;;
donor)
    if [ -z "$kept" ]; then
        echo "the node that joins has missed more than this one keeps (gcache.size)" >&2
        exit 1
    fi
    file=DIRECTORY/$address.state
    echo "$state" > "$file.new"
    mv "$file.new" "$file"
    echo continue
    echo "done $state"
    ;;
*) exit 1 ;;
esac
