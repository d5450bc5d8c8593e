/*
 * key_condition.h
 *		What pushdown.c, plan.c, scan.c and explain.c share: conditions on key
 *		parts, and the plan's private list.
 */
#ifndef WT_PUSHDOWN_H
#define WT_PUSHDOWN_H

#include "fdw/widetable.h"

#include "catalog/pg_type.h"

/* Beyond so many ranges a product of lists, or of ORs, is not multiplied out further. */
#define WT_MAX_PRODUCT 10000
/* A key filter tests a row for at most so many alternatives one after the other. */
#define WT_MAX_ALTERNATIVES 64

typedef enum WtKind
{
	WT_COND_EQ,
	WT_COND_LT,					/* LT .. GE may carry several values: a row comparison */
	WT_COND_LE,
	WT_COND_GT,
	WT_COND_GE,
	WT_COND_ANY,				/* = ANY (array) */
	WT_COND_LIST,				/* = one of several values */
	WT_COND_LIKE,				/* LIKE pattern, for text and bytea */
	WT_COND_STARTS,				/* ^@, starts_with */
	WT_COND_REGEX,				/* ~ pattern */
	WT_COND_NEVER,				/* IS NULL */
	WT_COND_NE,					/* <> */
	WT_COND_OR					/* not a test: see WtCond.arms */
} WtKind;

/*
 * Parts of the key are 0 .. nkeys - 1.  In the layout 'cells' the family, the
 * qualifier, the version, its timestamp and its number in the row are counted on
 * behind them.
 */
#define WT_PART_FAMILY(t)		((t)->nkeys)
#define WT_PART_QUALIFIER(t)	((t)->nkeys + 1)
#define WT_PART_VERSION(t)		((t)->nkeys + 2)
#define WT_PART_TS(t)			((t)->nkeys + 3)
#define WT_PART_NO(t)			((t)->nkeys + 4)

/* One clause that says something about a part of the key. */
typedef struct WtCond
{
	int			part;
	WtKind		kind;
	List	   *values;			/* expressions without variables of this table */
	List	   *types;			/* their types (ANY: the element's), a list of OIDs */
	bool		faithful;		/* bytes say exactly what the clause says */
	bool		used;			/* takes part in the ranges or in the key filter */
	bool		ranged;			/* of these, in the ranges */
	bool		exact;			/* no row that is left fails the clause: need not be tested again */
	/*
	 * WT_COND_OR: a disjunction of conjunctions, a list of lists of WtCond, each
	 * of which says something about a part of the key (part: the first of all).
	 */
	List	   *arms;
	RestrictInfo *rinfo;
} WtCond;

/*
 * The same at run time: values are args[first .. first + n).  Those of an OR come
 * behind the others, in the order of their numbers.
 */
typedef struct WtTest
{
	int			part;
	WtKind		kind;
	int			first;
	int			n;
	int			clause;			/* 0: must hold; else one of the clause's arms must */
	int			arm;
} WtTest;

typedef struct WtArg
{
	Oid			type;
	bool		known;			/* false: the planner cannot tell yet */
	bool		isnull;
	Datum		value;
} WtArg;

/* Sorted, disjoint ranges; with salt_buckets one list for each bucket. */
typedef struct WtRanges
{
	int			nbuckets;		/* at least 1 */
	int		   *n;
	wide_range **ranges;
	int			total;			/* ranges before they are spread over buckets */
	int			points;			/* of them, single keys */
	bool		full;			/* the whole table: nothing was restricted */
	int			parts;			/* so many leading parts they speak of, at least */
	/*
	 * What the ranges do not say: conditions on later parts of the key.  NULL:
	 * they say it all.  Who reads the ranges has to give it to the engine
	 * (wt_key_filter), because the plan does not test these clauses again.
	 */
	struct WtKeyFilter *filter;
} WtRanges;

/* An interval of byte strings; hi is unused when inf. */
typedef struct WtInterval
{
	wide_bytes	lo;
	wide_bytes	hi;
	bool		inf;
	bool		point;			/* exactly the value whose bytes are lo */
} WtInterval;

/* One part's intervals, sorted and disjoint. */
typedef struct WtIntervals
{
	bool		restricted;		/* false: all values */
	int			n;
	WtInterval *iv;
} WtIntervals;

/* ------------------------------------------------- predicate.c: conditions on cells */

/* What one alternative of a clause says about a cell: of a column, or a map's entry. */
typedef enum WtLeafOp
{
	WT_LEAF_EQ,					/* in this order: see predicate.c */
	WT_LEAF_NE,
	WT_LEAF_LT,
	WT_LEAF_LE,
	WT_LEAF_GT,
	WT_LEAF_GE,
	WT_LEAF_ANY,				/* = ANY (array) */
	WT_LEAF_NOT_ANY,			/* <> ALL (array) */
	WT_LEAF_PREFIX,				/* begins with the value */
	WT_LEAF_LIKE,				/* begins as the pattern does */
	WT_LEAF_DISTINCT,			/* IS DISTINCT FROM */
	WT_LEAF_NOT_DISTINCT,
	WT_LEAF_NULL,				/* no value, like the next */
	WT_LEAF_NOT_NULL
} WtLeafOp;

typedef struct WtFilterLeaf
{
	AttrNumber	attno;
	WtLeafOp	op;
	Node	   *key;			/* a map's entry: its name, a Const; else NULL */
	Node	   *value;			/* an expression without variables */
	Oid			type;			/* its type (of an array: the element's) */
} WtFilterLeaf;

/* One clause that the engine can test: an OR of leaves. */
typedef struct WtFilter
{
	RestrictInfo *rinfo;
	List	   *leaves;
	bool		exact;			/* no row that passes fails the clause: need not be tested again */
} WtFilter;

/* The same at run time: the value is args[arg]; leaves of one clause come together. */
typedef struct WtLeaf
{
	int			clause;
	AttrNumber	attno;
	WtLeafOp	op;
	int			arg;			/* -1: none */
	int			key;			/* a map's entry: args[key] is its name; else -1 */
} WtLeaf;

/* With the values at hand: all that the engine has to test. */
typedef struct WtPredicates
{
	bool		never;			/* no row passes */
	int			n;
	wide_predicate *list;		/* family: index into the table's families */
} WtPredicates;

/* The clauses (RestrictInfos) among these that the engine can test: a list of WtFilter. */
extern List *wt_filters(RelOptInfo *rel, WtTable *t, List *rinfos);
/* What the plan keeps of them (WtPrivatePredicates); their values are appended to exprs and types. */
extern List *wt_filters_plan(List *filters, List **exprs, List **types);
extern WtLeaf *wt_plan_leaves(List *fdw_private, int *n);
/* In CurrentMemoryContext. */
extern void wt_predicates(WtTable *t, WtEngine *e, const WtLeaf *leaves, int nleaves, const WtArg *args, WtPredicates *out);
/* Give them to a scan; families that it does not read yet are added to it. */
extern void wt_predicates_attach(const WtPredicates *p, WtTable *t, WtEngine *e, WtRowReader *r, wide_scan_spec *spec);
/* Of a family's files by size: the share that has anything as new as that. */
extern double wt_share_since(wide_family_id family, int64 since);
/* The least such share that clauses which ask for a timestamp from some time on leave of their family, as far as their values are known. */
extern double wt_filters_recent(PlannerInfo *root, WtTable *t, WtEngine *e, List *filters);
/* Bytes that are the same for predicates that are. */
extern void wt_predicates_print(const WtPredicates *p, StringInfo out);

/* ---------------------------------------------------- pushdown.c: conditions on the key */

extern List *wt_conditions(PlannerInfo *root, RelOptInfo *rel, WtTable *t, List *rinfos);
/* Sets used and exact; returns how many leading parts are bound to values. */
extern int	wt_conditions_choose(WtTable *t, List *conds);
/*
 * A condition as it goes into the list of tests: in the order in which they have
 * to be, those of ORs with the number of their clause and arm.  ranged: only
 * those that take part in the ranges.  List of WtFlat.
 */
typedef struct WtFlat
{
	WtCond	   *c;
	WtCond	   *clause;			/* the whole: c itself, or the OR that it is of */
	int			number;
	int			arm;
} WtFlat;
extern List *wt_conditions_flat(List *conds, bool ranged);
/* Is the part bound to one single value by a condition of the list? */
extern bool wt_part_is_single(List *conds, int part);
extern bool wt_part_is_ordered(WtTable *t, int part);
/* The column that shows a part, NULL when the table has none. */
extern WtColumn *wt_part_column(WtTable *t, int part);
/* Are equal values of a key column equal bytes, and different values different bytes? */
extern bool wt_encoding_injective(const WtColumn *c);
/* true: larger values have smaller bytes */
extern bool wt_part_is_descending(WtTable *t, int part);

/* The clauses' key ranges.  Everything is allocated in CurrentMemoryContext. */
extern void wt_ranges(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, WtRanges *out);
/* What the tests leave of one part, by itself.  false: no restriction. */
extern bool wt_part_intervals(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int part,
							  WtInterval **out, int *n);
/*
 * skip.c: rows that conditions on later parts of the key leave out, by the bytes
 * of their keys, and where the next one can be.  wt_key_filter is an engine's
 * row filter; its argument is a WtKeyFilterArg, which stays while the filter in
 * it is replaced (NULL: all rows).
 */
typedef struct WtKeyFilter WtKeyFilter;

typedef struct WtKeyFilterArg
{
	WtKeyFilter *filter;
	bool		reverse;
} WtKeyFilterArg;

extern wide_row_verdict wt_key_filter(void *arg, wide_bytes key, wide_bytes *seek);
/* alternatives: each nkeys entries; one of them must hold.  In CurrentMemoryContext. */
extern WtKeyFilter *wt_key_filter_make(WtTable *t, int n, WtIntervals **alternatives);
/* Do the tests need a filter, whatever their values are? */
extern bool wt_key_filter_possible(WtTable *t, const WtTest *tests, int ntests);

/* LIKE: the fixed beginning of the pattern; true when there is nothing else in it */
extern bool wt_like_prefix(const char *pattern, int len, StringInfo out);

/* version.c, layout cells: no version (WT_PART_VERSION, WT_PART_NO) above this passes the tests. */
extern int	wt_count_limit(const WtTest *tests, int ntests, const WtArg *args, int part);

typedef enum WtTimes
{
	WT_TIMES_ALL,
	WT_TIMES_NONE,
	WT_TIMES_SOME
} WtTimes;

/* Layout cells: no version passes the tests unless *lo <= its timestamp < *hi (PG_INT64_MAX: open). */
extern WtTimes wt_times(WtTable *t, const WtTest *tests, int ntests, const WtArg *args, int64 *lo, int64 *hi);

static inline bool
wt_is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

/* also "name", which is no varlena and has a collation all the same */
static inline bool
wt_is_string(Oid type)
{
	return wt_is_text(type) || type == NAMEOID;
}

static inline bool
wt_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static inline bool
wt_is_equality(WtKind kind)
{
	return kind == WT_COND_EQ || kind == WT_COND_ANY || kind == WT_COND_LIST;
}

static inline WtColumn *
wt_key_column(WtTable *t, int part)
{
	return &t->columns[t->keys[part]];
}

/* ------------------------------------------------- the plan's private list */

enum WtPrivate
{
	WtPrivateTests,				/* list of integer lists: part, kind, first, n, clause, arm */
	WtPrivateTypes,				/* OIDs, one for each of fdw_exprs */
	WtPrivateColumns,			/* attribute numbers that are wanted */
	WtPrivateFlags,				/* integer list, see below */
	WtPrivateLimit,				/* String: rows, or empty */
	WtPrivateShow,				/* the expressions as the query has them, when they have variables */
	WtPrivatePredicates			/* list of integer lists: clause, attribute, WtLeafOp, and indexes into fdw_exprs or -1: value, key */
};

enum WtFlag
{
	WtFlagStrictFamily,			/* index of a family that every wanted row has a cell in; -1 */
	WtFlagReverse,
	WtFlagOrdered,				/* rows must come in key order */
	WtFlagLock,					/* WtLock */
	WtFlagRelid,				/* range table index while planning */
	WtFlagFilters				/* so many of the clauses to recheck, the first ones, are tested by the engine */
};

typedef enum WtLock
{
	WT_LOCK_NONE,
	WT_LOCK_WAIT,
	WT_LOCK_SKIP,
	WT_LOCK_NOWAIT
} WtLock;

#define wt_flag(priv, which) list_nth_int((List *) list_nth(priv, WtPrivateFlags), which)

/*
 * plan.c, also used by direct.c.  A family in which every row that passes the
 * clauses has a cell (a column may be added to the wanted ones for it), -1.
 */
extern int	wt_strict_family(RelOptInfo *rel, WtTable *t, List *clauses, Bitmapset **wanted);
extern WtTest *wt_plan_tests(List *fdw_private, int *n);
/* plan.c: is the order of this operator family the order of the part's bytes? */
extern bool wt_part_sorts(WtTable *t, int part, Oid opfamily, Oid collation);

/* A plain scan of one table, for plans that are made of it (aggregate.c) */
typedef struct WtScanPlan
{
	WtTable    *t;
	List	   *conds;			/* WtCond, of the restriction clauses */
	double		rows;			/* returned */
	double		scanned;		/* in the key ranges */
	double		delivered;		/* of them, by the engine */
	Cost		startup;
	Cost		total;
	Cost		merge;			/* to be added when the rows must come in key order */
	Cost		seek;			/* of one search in the middle of the scan */
	int			npathkeys;		/* of the query's, that a scan in this direction satisfies */
	bool		reverse;
} WtScanPlan;

/* false: the scan locks its rows, and must be left as it is */
extern bool wt_plan_scan(PlannerInfo *root, RelOptInfo *rel, WtScanPlan *out);

/* scan.c, for explain.c; bad_keys: rows left out by on_bad_key 'skip' */
extern bool wt_scan_statistics(ForeignScanState *node, wide_scan_stats *out, uint64 *bad_keys);

#endif							/* WT_PUSHDOWN_H */
