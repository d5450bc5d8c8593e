/*
 * partition.c
 *		The partition that a row key belongs to.
 *
 * The executor finds it for a row (get_partition_for_tuple(), which it keeps to itself); a function
 * has the key only, so the table must be partitioned by columns of the key.
 */
#include "postgres.h"

#include "fdw/func/partition.h"

#include "access/attnum.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

/* Gets the values of the partition key. */
static void
partition_values(Relation rel, PartitionKey pk, const WtPartitionKey *key, Datum *values)
{
	for (int i = 0; i < pk->partnatts; i++)
	{
		const char *name = NULL;
		int k = 0;

		if (pk->partattrs[i] != InvalidAttrNumber)
		{
			name = get_attname(RelationGetRelid(rel), pk->partattrs[i], false);
			while (k < key->n && strcmp(key->names[k], name) != 0)
				k++;
			if (k < key->n)
			{
				values[i] = key->values[k];
				continue;
			}
		}
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot find the partition of \"%s\" by the row key",
						RelationGetRelationName(rel)),
				 name != NULL ? errdetail("It is partitioned by column \"%s\", which is not in the "
										  "row key of its partitions.",
										  name)
							  : errdetail("It is partitioned by an expression."),
				 errhint("Call the function with the name of the partition.")));
	}
}

/* Returns: the index of the partition for the values; -1 if there is none. */
static int
partition_index(PartitionKey pk, PartitionDesc desc, Datum *values)
{
	PartitionBoundInfo bounds = desc->boundinfo;
	bool nulls[PARTITION_MAX_KEYS] = {false};
	bool equal = false;
	int offset, index = -1;

	if (desc->nparts == 0)
		return -1;
	switch (pk->strategy)
	{
		case PARTITION_STRATEGY_HASH:
			return bounds->indexes[compute_partition_hash_value(pk->partnatts, pk->partsupfunc,
																pk->partcollation, values, nulls) %
								   (uint64) bounds->nindexes];
		case PARTITION_STRATEGY_LIST:
			offset = partition_list_bsearch(pk->partsupfunc, pk->partcollation, bounds, values[0],
											&equal);
			if (offset >= 0 && equal)
				index = bounds->indexes[offset];
			break;
		case PARTITION_STRATEGY_RANGE:
			offset = partition_range_datum_bsearch(pk->partsupfunc, pk->partcollation, bounds,
												   pk->partnatts, values, &equal);
			/* the bound found is the lower one of the partition after it */
			index = bounds->indexes[offset + 1];
			break;
	}
	return index >= 0 ? index : bounds->default_index;
}

/* Returns: the partition of a locked table; *is_default: it is the default one. */
static Oid
find_child(Oid relid, const WtPartitionKey *key, bool *is_default)
{
	Relation rel = table_open(relid, NoLock);
	PartitionKey pk = RelationGetPartitionKey(rel);
	/* as the executor does it: a snapshot that is kept may see partitions being detached */
	PartitionDesc desc = RelationGetPartitionDesc(rel, !IsolationUsesXactSnapshot());
	Datum values[PARTITION_MAX_KEYS];
	Oid child = InvalidOid;
	int i;

	partition_values(rel, pk, key, values);
	i = partition_index(pk, desc, values);
	if (i >= 0)
		child = desc->oids[i];
	*is_default = i >= 0 && i == desc->boundinfo->default_index;
	table_close(rel, NoLock);
	return child;
}

Oid
wt_partition_find(Oid relid, const WtPartitionKey *key, LOCKMODE lockmode)
{
	while (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
	{
		bool is_default;
		Oid child = find_child(relid, key, &is_default);

		if (OidIsValid(child))
			LockRelationOid(child, lockmode);
		/* a partition that was attached meanwhile takes keys from the default one */
		while (OidIsValid(child) && is_default)
		{
			Oid before = child;

			child = find_child(relid, key, &is_default);
			if (child == before)
				break;
			if (OidIsValid(child))
				LockRelationOid(child, lockmode);
		}
		relid = child;
	}
	return relid;
}
