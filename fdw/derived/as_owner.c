/*
 * as_owner.c
 *		Work for a table's owner, whoever has asked for it.
 */
#include "postgres.h"

#include "fdw/derived/as_owner.h"

#include "miscadmin.h"
#include "utils/guc.h"

/* What decides how the text of an expression is read and written. */
static const char *const plain_settings[][2] = {{"search_path", "pg_catalog, pg_temp"},
												{"DateStyle", "ISO"},
												{"IntervalStyle", "postgres"},
												{"extra_float_digits", "1"},
												{"bytea_output", "hex"},
												{"array_nulls", "on"},
												{"standard_conforming_strings", "on"},
												{"transform_null_equals", "off"}};

WtAsOwner
wt_as_owner_begin(Oid owner, bool plain)
{
	WtAsOwner saved;

	GetUserIdAndSecContext(&saved.user, &saved.context);
	SetUserIdAndSecContext(owner, saved.context | SECURITY_RESTRICTED_OPERATION);
	saved.level = NewGUCNestLevel();
	for (int i = 0; plain && i < (int) lengthof(plain_settings); i++)
		(void) set_config_option(plain_settings[i][0], plain_settings[i][1], PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return saved;
}

void
wt_as_owner_end(const WtAsOwner *saved)
{
	AtEOXact_GUC(false, saved->level);
	SetUserIdAndSecContext(saved->user, saved->context);
}
