/*
 * rollup.h
 *		Roll-ups of a wide table: aggregates of its rows by group.
 *
 * A roll-up is a foreign table with a stored table of its own (option rollup_of).  Its key columns
 * are the groups; each other column has an aggregate of the rows of its group, in a family with a
 * merge operator, to which changes of rows add.  So changes in one group wait for nobody.
 *
 * Invariant: what a snapshot sees in the roll-up are the aggregates of the rows that it sees in the
 * table.  Exceptions: hll() counts also values that are gone, and rows that have expired count,
 * unless the roll-up has a time to live itself (option follow_ttl).
 *
 * Each group counts its rows, in the cell of count(*), which is there without such a column, too. A
 * group without rows is not shown.
 */
#ifndef WT_ROLLUP_H
#define WT_ROLLUP_H

#include "nodes/nodes.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

#include "engine/wide.h"
#include "fdw/table/types.h"

/* A key column, or a column with an aggregate. */
typedef struct WtRollupColumn
{
	int column; /* index in the roll-up's columns */
	WtRollupKind kind;
	Node *expr; /* over the columns of the table, whose number is 1; NULL: count(*) */
	Oid type;	/* of expr */
} WtRollupColumn;

typedef struct WtRollup
{
	Oid relid;
	WtTable *table; /* the roll-up */
	WtTable *base;	/* the table */
	bool *read;		/* by column of base: an expression reads it */
	bool exact;		/* the columns show exactly what INSERT and COPY write */
	bool immutable; /* rows are written once, and exact: INSERT and COPY read nothing */
	bool building;	/* some rows are not counted yet (online_build.h) */
	bool timed;		/* a cell that is read may expire: it is not known what a row has added */
	/* option follow_ttl: microseconds; the time to live of all families of base, and the roll-up's.
	 * Then the cells of a row have one timestamp, and what it adds has the same one.  0: none */
	int64 ttl_us;
	int n;
	WtRollupColumn *columns; /* all but dropped ones */
	bool zoned;				 /* the value of an expression depends on the time zone */
	struct pg_tz *zone;

	struct WtRollupEvaluator *evaluator;
} WtRollup;

/*
 * Makes a roll-up, in CurrentMemoryContext; rel: the table that it is of.  stated: its options are
 * what wt_rollup_option() returned, else what a command says, in the settings of the session.
 * before: NULL, or the definition whose names of columns the expressions still have.
 * Calls no function of an expression, except by the input of a constant, as the table's owner.
 * Errors: those of the parser; 42P17 if the value of an expression may change; 42804 if the type of
 * one is not that of its column; 0A000, also if the families do not allow option follow_ttl.
 */
extern WtRollup *wt_rollup_make(WtTable *table, WtTable *base, Relation rel, bool stated,
								const WtTable *before);

/*
 * Returns false if a column has no aggregate, or no expression, although it is the name of no
 * column of the table: a restore of a dump states these options in commands of their own. *missing:
 * its name.
 */
extern bool wt_rollup_is_complete(const WtTable *table, WtTable *base, const char **missing);

/*
 * Returns the value of the column's option "expr" or "aggregate" in a form that does not depend on
 * settings of the session, palloc'd.
 */
extern char *wt_rollup_option(const WtRollup *r, const WtRollupColumn *c);

/*
 * Computes the column's expressions for a row, whose values are by column of base.  values and
 * nulls are by the roll-up's columns (r->columns); those of count(*) are not set.  The results are
 * in CurrentMemoryContext.  Functions are called as the current user, as those of a column's
 * default value or of an ordinary index.
 */
extern void wt_rollup_evaluate(const WtRollup *r, const Datum *row, const bool *row_nulls,
							   Datum *values, bool *nulls);

#endif /* WT_ROLLUP_H */
