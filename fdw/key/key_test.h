/*
 * key_test.h
 *		Tests: conditions on parts of the key, as the planner leaves them for the run time.
 */
#ifndef WT_KEY_TEST_H
#define WT_KEY_TEST_H

/* What a condition on a part of the key, or on a cell, says. */
typedef enum WtKind
{
	WT_COND_EQ,
	WT_COND_LT, /* LT to GE: several values are a row comparison, which begins at the part */
	WT_COND_LE,
	WT_COND_GT,
	WT_COND_GE,
	WT_COND_ANY,	/* = ANY (array) */
	WT_COND_LIST,	/* = one of several values */
	WT_COND_LIKE,	/* LIKE pattern, for text and bytea */
	WT_COND_STARTS, /* ^@, starts_with */
	WT_COND_REGEX,	/* ~ pattern */
	WT_COND_NULL,	/* IS NULL; never true of a part of the key */
	WT_COND_NE,		/* <> */
	WT_COND_OR,		/* a disjunction; never a test, see WtCond.arms */
	/* never tests; on cells (WtLeaf): */
	WT_COND_NOT_ANY,  /* <> ALL (array) */
	WT_COND_DISTINCT, /* IS DISTINCT FROM */
	WT_COND_NOT_DISTINCT,
	WT_COND_NOT_NULL /* without a value, like WT_COND_NULL; a part of the key: always true */
} WtKind;

/*
 * A condition at run time (WtCond is that of the planner).  Tests with clause 0 must all hold.
 * The others are those of ORs, on parts of the key only: of each clause all tests of at least one
 * arm must hold.  They come last, in the order of clause and arm.  All members are ints
 * (fdw/plan/plan_private.h).
 */
typedef struct WtTest
{
	int part;
	WtKind kind;
	int first; /* the values are args[first] to args[first + n - 1] */
	int n;
	int clause; /* number of the OR, from 1; 0: none */
	int arm;	/* number of the arm in the OR */
} WtTest;

/* A value of a test */
typedef struct WtArg
{
	Oid type;	/* WT_COND_ANY: of the array's elements */
	bool known; /* false in the planner, for a value that only a run has */
	bool isnull;
	Datum value;
} WtArg;

static inline bool
wt_is_equality(WtKind kind)
{
	return kind == WT_COND_EQ || kind == WT_COND_ANY || kind == WT_COND_LIST;
}

/* Returns true for <, <=, > and >=. */
static inline bool
wt_is_inequality(WtKind kind)
{
	return kind >= WT_COND_LT && kind <= WT_COND_GE;
}

#endif /* WT_KEY_TEST_H */
