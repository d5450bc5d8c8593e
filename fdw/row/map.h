/*
 * map.h
 *		Map columns: jsonb objects that show a family.
 */
#ifndef WT_MAP_H
#define WT_MAP_H

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

/*
 * The end of an object that is being built.  Sorts its entries first, as
 * PostgreSQL would, which cannot be cancelled while it does.
 */
extern JsonbValue *wt_map_end(JsonbParseState **ps);

/* The map as it is stored: values are text, JSON null is no entry, and a map without entries is
 * NULL. */
extern Datum wt_map_stored(Datum d, bool *isnull);

/* One entry that has to change; value NULL: it goes.  What it points to lives until the function
 * returns. */
typedef void (*WtMapChange)(void *arg, const JsonbValue *key, StringInfo value);

/* May an entry with the same value be left out? */
typedef bool (*WtMapSame)(void *arg, const JsonbValue *key);

/*
 * What makes the new map of the old one (either may be NULL, as none), each key
 * once.  may_skip may be NULL: every entry that is the same is left out.
 */
extern void wt_map_diff(Jsonb *was, Jsonb *now, WtMapSame may_skip, WtMapChange change, void *arg);

/* The text of a JSON value (of a string: its characters); false for JSON null. */
extern bool wt_map_json_text(const JsonbValue *v, StringInfo out);

#endif /* WT_MAP_H */
