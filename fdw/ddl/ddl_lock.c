/*
 * ddl_lock.c
 *		Locks of commands that define foreign tables: of names, and of stored tables.
 */
#include "postgres.h"

#include "fdw/ddl/ddl_lock.h"

#include "catalog/pg_foreign_data_wrapper.h"
#include "common/hashfn.h"
#include "storage/lmgr.h"

#include "fdw/ddl/binding.h"
#include "fdw/xact/batch.h"

#define NAME_LOCK 0x7774 /* PostgreSQL locks foreign-data wrappers with 0 here */

void
wt_ddl_lock_name(const char *name)
{
	/* names with the same hash only wait for each other */
	LockDatabaseObject(ForeignDataWrapperRelationId,
					   hash_bytes((const unsigned char *) name, (int) strlen(name)), NAME_LOCK,
					   ExclusiveLock);
}

Oid
wt_ddl_lock_head(wide_table_id id)
{
	Oid head = InvalidOid;
	ListCell *lc;

	foreach(lc, wt_binding_tables(wt_batch(false), id))
		if (!OidIsValid(head) || lfirst_oid(lc) < head)
			head = lfirst_oid(lc);
	return head;
}

void
wt_ddl_lock_stored_table(wide_table_id id, LOCKMODE mode)
{
	Oid locked = InvalidOid;
	Oid head;

	while (OidIsValid(head = wt_ddl_lock_head(id)) && head != locked)
	{
		LockRelationOid(head, mode);
		locked = head;
	}
}
