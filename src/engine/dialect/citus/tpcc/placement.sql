-- The node of each warehouse, by the catalog of the node that is asked. Standbys of a node are in its group.
SELECT place, nodename || ':' || nodeport
  FROM tpcc.graymark_manifest
 CROSS JOIN generate_series(1, (manifest::json ->> 'scale')::integer) AS place
  JOIN pg_catalog.pg_dist_placement ON shardid = get_shard_id_for_distribution_column('tpcc.warehouse', place)
  JOIN pg_catalog.pg_dist_node USING (groupid)
 WHERE noderole = 'primary';
