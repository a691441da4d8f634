-- The node of each branch, by the catalog of the node that is asked. Standbys of a node are in its group.
SELECT place, nodename || ':' || nodeport
  FROM debitcredit.graymark_manifest
 CROSS JOIN generate_series(0, (manifest::json ->> 'scale')::integer - 1) AS place
  JOIN pg_catalog.pg_dist_placement ON shardid = get_shard_id_for_distribution_column('debitcredit.branch', place)
  JOIN pg_catalog.pg_dist_node USING (groupid)
 WHERE noderole = 'primary';
