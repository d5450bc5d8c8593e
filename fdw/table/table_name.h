/*
 * table_name.h
 *		Names of stored tables.
 *
 * A name is one part or several parts with dots between them.  A part in double quotes is
 * taken without them, as in SQL; other parts are taken as they are: letters keep their
 * case.  A text that is no such list is one part as a whole.
 *
 * Each name has one canonical text, so that two names are equal if their canonical texts
 * are.  The parts of a qualified name are quoted where SQL quotes them.  Which words are
 * keywords depends on the server's version, so stored names are made canonical before they
 * are compared.
 */
#ifndef WT_TABLE_NAME_H
#define WT_TABLE_NAME_H

/* Returns: the canonical text of a name, palloc'd. */
extern char *wt_table_name_canonical(const char *text);

/* Returns: true if the canonical text of a name is this one.  Fast if not. */
extern bool wt_table_name_is(const char *text, const char *canonical);

/* Returns: the name of the stored table of a foreign table that states none, canonical and
 * palloc'd.  Foreign tables with different names have different ones. */
extern char *wt_table_name_default(const char *schema, const char *relation);

/*
 * Returns: the same as the first release made it, without quotes.  The stored tables that it has
 * created keep these names.
 */
extern char *wt_table_name_first_default(const char *schema, const char *relation);

/* Returns: the schema of a name of two parts, palloc'd; NULL for other names, which no foreign
 * table has by default. */
extern char *wt_table_name_schema(const char *text);

#endif /* WT_TABLE_NAME_H */
