-- What Graymark asks about its own tables, and writes into them.

-- name: manifests
-- access: read
SELECT workload, manifest, state FROM graymark_manifest;

-- name: note_manifest
DECLARE $workload AS Utf8;
DECLARE $manifest AS Utf8;
UPSERT INTO graymark_manifest (workload, manifest, state) VALUES ($workload, $manifest, "loading"u);

-- name: note_complete
DECLARE $workload AS Utf8;
UPDATE graymark_manifest SET state = "complete"u WHERE workload = $workload;

-- name: parts
-- access: read
SELECT table_name, number, row_count FROM graymark_parts;

-- name: note_part
DECLARE $table_name AS Utf8;
DECLARE $number AS Int32;
DECLARE $row_count AS Int64;
UPSERT INTO graymark_parts (table_name, number, row_count) VALUES ($table_name, $number, $row_count);
