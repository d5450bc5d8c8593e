/*
 * share.c
 *		Who may give a stored table its name, and show that of another foreign table.
 */
#include "postgres.h"

#include "fdw/ddl/share.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "fdw/ddl/binding.h"
#include "fdw/store/compat.h"
#include "fdw/table/table_name.h"
#include "fdw/xact/batch.h"

Oid
wt_share_owner(Oid relid)
{
	HeapTuple tup = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid owner = InvalidOid;

	if (HeapTupleIsValid(tup))
	{
		owner = ((Form_pg_class) GETSTRUCT(tup))->relowner;
		ReleaseSysCache(tup);
	}
	return owner;
}

void
wt_share_check(WtTable *t, wide_table_id id)
{
	Oid owner = wt_share_owner(t->relid);
	bool may, told = false;
	ListCell *lc;

	foreach(lc, wt_binding_tables(wt_batch(false), id))
	{
		Oid relid = lfirst_oid(lc);
		Oid other = wt_share_owner(relid);

		if (!OidIsValid(other) || relid == t->relid || other == owner)
			continue;
		may = has_privs_of_role(owner, other);
		if (may && t->name_given)
		{
			if (!told)
				ereport(NOTICE,
						(errmsg("foreign table \"%s\" shows the rows of foreign table \"%s\" "
								"of role \"%s\"",
								get_rel_name(t->relid),
								get_rel_name(relid),
								GetUserNameFromId(other, false)),
						 errdetail("Both show stored table \"%s\".", t->table_name)));
			told = true;
			continue;
		}
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for stored table \"%s\"", t->table_name),
				 errdetail("Foreign table \"%s\" of role \"%s\" shows it.",
						   get_rel_name(relid),
						   GetUserNameFromId(other, false)),
				 may ? errhint("Set option table_name to show it as well, or to another name for "
							   "a stored table of its own.")
					 : errhint("Set option table_name to another name.")));
	}
}

void
wt_share_check_name(WtTable *t, Oid role)
{
	char *name = t->name_given ? wt_table_name_schema(t->table_name) : NULL;
	Oid schema = name ? get_namespace_oid(name, true) : InvalidOid;

	if (name == NULL || schema == get_rel_namespace(t->relid) || superuser_arg(role))
		return;
	if (!OidIsValid(schema))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("schema \"%s\" does not exist", name),
				 errdetail("Option table_name %s names a stored table of that schema.",
						   t->table_name),
				 errhint("A name without a schema has no dot outside double quotes.")));
	if (!wt_may_create_in(schema, role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for schema %s", name),
				 errdetail("Option table_name %s names a stored table of that schema.",
						   t->table_name),
				 errhint("That needs the privilege CREATE on the schema.")));
}
