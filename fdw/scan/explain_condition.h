/*
 * explain_condition.h
 *		What EXPLAIN shows of conditions on the key, on cells and on time.
 */
#ifndef WT_EXPLAIN_CONDITION_H
#define WT_EXPLAIN_CONDITION_H

#include "nodes/pg_list.h"

#include "fdw/key/key_test.h"
#include "fdw/table/types.h"

struct ExplainState;

/* The plan that is shown. */
typedef struct WtShown
{
	WtTable *t;
	List *exprs;   /* as the query has them, if possible */
	List *context; /* for deparsing */
	WtTest *tests;
	int ntests;
	WtArg *args;   /* values of exprs, as far as they are constants */
	bool constant; /* those of the tests all are */
} WtShown;

/*
 * Returns the tests on the parts from .. to - 1 as text, joined by AND; tests of ORs are left
 * out.  Palloc'd, empty if there are none.
 */
extern char *wt_explain_condition_text(WtShown *s, int from, int to);

/*
 * Shows the conditions on the key: ranges, and what is left to the key filter.  Returns true if
 * there is a key filter.
 */
extern bool wt_explain_condition_key(WtShown *s, struct ExplainState *es);

/* Shows the conditions on time: those on ts in the layout 'cells', and widetable.as_of. */
extern void wt_explain_condition_times(WtShown *s, struct ExplainState *es);

#endif /* WT_EXPLAIN_CONDITION_H */
