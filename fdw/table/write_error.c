/*
 * write_error.c
 *		Errors of writes that name the table and the row.
 */
#include "postgres.h"

#include "fdw/table/write_error.h"

#include "fdw/store/error.h"
#include "fdw/table/key_text.h"
#include "fdw/table/types.h"

void
wt_write_error_check(wide_status st, WtTable *t, wide_bytes key)
{
	if (st == WIDE_OK)
		return;
	if (st == WIDE_POISONED || st == WIDE_INTERRUPTED)
		wt_error_check(st, NULL);
	ereport(ERROR,
			(errcode(wt_error_sqlstate(st)),
			 errmsg("could not write to table \"%s\": %s", t->table_name, wide_error_text()),
			 errdetail("Key %s.", wt_key_text(t, key)),
			 wt_error_hint(st)));
}
