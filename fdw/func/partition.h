/*
 * partition.h
 *		The partition that a row key belongs to.
 */
#ifndef WT_PARTITION_H
#define WT_PARTITION_H

#include "storage/lockdefs.h"

/* Values of the key columns; the names are those of the partitioned table. */
typedef struct WtPartitionKey
{
	int n;
	char **names;
	Datum *values;
} WtPartitionKey;

/*
 * Returns the partition for the key, of partitions of partitions the last one, locked; InvalidOid
 * if there is none. Requires: a lock on the table, which is partitioned. Errors:
 * FEATURE_NOT_SUPPORTED if it is not partitioned by columns of the key.
 */
extern Oid wt_partition_find(Oid relid, const WtPartitionKey *key, LOCKMODE lockmode);

#endif /* WT_PARTITION_H */
