/*
 * derive.c
 *		What follows from changes of rows in other tables: the room derived/ registers here.
 */
#include "postgres.h"

#include "fdw/xact/derive.h"

#include "access/xact.h"

#include "fdw/table/table.h"

static const WtDerive *derive = NULL;
static bool unsettled = false; /* a row has been changed from which something follows */

void
wt_derive_register(const WtDerive *d)
{
	derive = d;
}

void
wt_derive_before(WtTable *t, wide_bytes key)
{
	if (likely(wt_table_is_followed_by_none(t)))
		return;
	derive->before(t, key);
	unsettled |= t->derived == WT_DERIVED_SOME;
}

int64
wt_derive_before_put(WtTable *t, wide_family_id family, wide_bytes key, wide_bytes qual, int64 ts,
					 int64 floor_ts, int64 ttl_us)
{
	if (likely(wt_table_is_followed_by_none(t)))
		return ts;
	wt_derive_before(t, key);
	return t->derived == WT_DERIVED_SOME
			   ? derive->before_put(t, family, key, qual, ts, floor_ts, ttl_us)
			   : ts;
}

void
wt_derive_leave(WtTable *t, wide_bytes key)
{
	if (t->derived != WT_DERIVED_NONE)
		derive->leave(t, key);
}

void
wt_derive_settle(void)
{
	if (likely(!unsettled))
		return;
	unsettled = false;
	derive->settle();
}

void
wt_derive_rest(void)
{
	derive->rest();
}

void
wt_derive_forget(void)
{
	unsettled = false;
	derive->forget(1);
}

void
wt_derive_forget_level(void)
{
	/* a row that an outer one changes is not settled yet */
	derive->forget(GetCurrentTransactionNestLevel());
}
