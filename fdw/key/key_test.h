/*
 * key_test.h
 *		Conditions on parts of the key, at run time.
 */
#ifndef WT_KEY_TEST_H
#define WT_KEY_TEST_H

typedef enum WtKind
{
	WT_COND_EQ,
	WT_COND_LT, /* LT .. GE may carry several values: a row comparison */
	WT_COND_LE,
	WT_COND_GT,
	WT_COND_GE,
	WT_COND_ANY,	/* = ANY (array) */
	WT_COND_LIST,	/* = one of several values */
	WT_COND_LIKE,	/* LIKE pattern, for text and bytea */
	WT_COND_STARTS, /* ^@, starts_with */
	WT_COND_REGEX,	/* ~ pattern */
	WT_COND_NEVER,	/* IS NULL */
	WT_COND_NE,		/* <> */
	WT_COND_OR		/* not a test: see WtCond.arms */
} WtKind;

/*
 * The same at run time: values are args[first .. first + n).  Those of an OR come
 * behind the others, in the order of their numbers.
 */
typedef struct WtTest
{
	int part;
	WtKind kind;
	int first;
	int n;
	int clause; /* 0: must hold; else one of the clause's arms must */
	int arm;
} WtTest;

typedef struct WtArg
{
	Oid type;
	bool known; /* false: the planner cannot tell yet */
	bool isnull;
	Datum value;
} WtArg;

static inline bool
wt_is_equality(WtKind kind)
{
	return kind == WT_COND_EQ || kind == WT_COND_ANY || kind == WT_COND_LIST;
}

#endif /* WT_KEY_TEST_H */
