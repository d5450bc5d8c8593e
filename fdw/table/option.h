/*
 * option.h
 *		Options: names, and values that have a form of their own.
 */
#ifndef WT_OPTION_H
#define WT_OPTION_H

#include "nodes/pg_list.h"

typedef struct WtKeyItem
{
	char *name; /* as SQL reads the identifier */
	char *raw;	/* as written */
	bool desc;
} WtKeyItem;

/* Raises the error about a value; valid says what can be written. */
extern _Noreturn void wt_option_bad_value(const char *option, const char *value, const char *valid);
/* "Perhaps ..." first, when one of the names is near enough, then all of them. */
extern char *wt_option_names_hint(const char *given, const char *const *names, int n);
/* An error when objects of this catalog have no such option. */
extern void wt_option_check_name(Oid catalog, const char *name);
/* An error when no family can have this name. */
extern void wt_option_check_family_name(const char *name);
/* 'family:qualifier' into its two; the first colon counts. */
extern void wt_option_split_cell(const char *option, const char *value, char **family, uint8 **qual,
								 uint32 *qual_len);
/* option "key": a list of identifiers, quoted where SQL would quote them */
extern List *wt_option_parse_key(const char *value);

#endif /* WT_OPTION_H */
