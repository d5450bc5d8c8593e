/*
 * option.h
 *		Options: which there are, hints about wrong ones, and values with a syntax of their own.
 */
#ifndef WT_OPTION_H
#define WT_OPTION_H

#include "nodes/pg_list.h"

/* Options of columns; wt_option_column_names has their names. */
typedef enum WtColumnOption
{
	WT_OPTION_COLUMN,
	WT_OPTION_FAMILY,
	WT_OPTION_PREFIX,
	WT_OPTION_TIMESTAMP_OF,
	WT_OPTION_ENCODING,
	WT_OPTION_DELIMITER,
	/* of an index: what its column has of the indexed table */
	WT_OPTION_QUALIFIER_OF,
	WT_OPTION_VALUE_OF,
	WT_OPTION_COLUMN_OF,
	/* of a roll-up: a group's value, and what the group has */
	WT_OPTION_EXPR,
	WT_OPTION_AGGREGATE
} WtColumnOption;

#define WT_COLUMN_OPTIONS (WT_OPTION_AGGREGATE + 1)

extern const char *const wt_option_column_names[WT_COLUMN_OPTIONS];

/* A column in option "key" */
typedef struct WtKeyItem
{
	char *name; /* as SQL reads the identifier */
	char *raw;	/* as written */
	bool desc;
} WtKeyItem;

/* Raises FDW_INVALID_ATTRIBUTE_VALUE; valid, the hint, is a sentence about valid values. */
extern _Noreturn void wt_option_bad_value(const char *option, const char *value, const char *valid);

/* Returns a hint with all n names, after the one that is most like the given one, if any is;
 * palloc'd. */
extern char *wt_option_names_hint(const char *given, const char *const *names, int n);

/* Raises FDW_INVALID_OPTION_NAME if objects of this catalog have no such option. */
extern void wt_option_check_name(Oid catalog, const char *name);

/* Raises FDW_INVALID_ATTRIBUTE_VALUE if a family cannot have this name. */
extern void wt_option_check_family_name(const char *name);

/* Splits 'family:qualifier' at the first colon and unescapes the qualifier; both are palloc'd.
 * Returns: the family.  Errors: FDW_INVALID_ATTRIBUTE_VALUE; those of wt_bytes_text_unescape. */
extern char *wt_option_split_cell(const char *option, const char *value, uint8 **qual,
								  uint32 *qual_len);

/* Parses option "key": SQL identifiers, each with "asc" or "desc" behind it if wanted.
 * Returns: a list of WtKeyItem.  Errors: FDW_INVALID_ATTRIBUTE_VALUE. */
extern List *wt_option_parse_key(const char *value);

#endif /* WT_OPTION_H */
