/*
 * share.h
 *		Who may give a stored table its name, and show that of another foreign table.
 *
 * A foreign table that names an existing stored table shows its rows, and its owner may
 * change them.  The other way round, what is written through a foreign table is seen by the
 * owners of all others on its stored table, also if they were there first.  So both ways
 * need a right: joining needs that of the owner, and a name needs that of its schema, where
 * its foreign table may be created one day.
 */
#ifndef WT_SHARE_H
#define WT_SHARE_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Requires: the name of the stored table is locked (ddl_lock.h).
 * Errors: 42501 unless the owner of the foreign table has the privileges of the owners of all
 * foreign tables on the stored table.  It has them for those of other roles only if the foreign
 * table states table_name: by its own name it never gets the rows of other roles, also not of those
 * that the owner is a member of, because others who are may have named the stored table.  Who joins
 * other roles is told so.
 */
extern void wt_share_check(WtTable *t, wide_table_id id);

/*
 * Errors: 42501 if option table_name names another schema, in which the role may not create;
 * 3F000 if there is no such schema, unless the role is a superuser.
 */
extern void wt_share_check_name(WtTable *t, Oid role);

/* Returns: the owner of a relation; InvalidOid: it does not exist any more. */
extern Oid wt_share_owner(Oid relid);

#endif /* WT_SHARE_H */
