/*
 * map.h
 *		Map columns: jsonb objects that show a family.
 */
#ifndef WT_MAP_H
#define WT_MAP_H

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

/*
 * Ends an object that is being built, and returns it.  It sorts the entries first, with checks
 * for interrupts; PostgreSQL's code would sort them without.
 */
extern JsonbValue *wt_map_end(JsonbParseState **ps);

/*
 * Returns a map as reading it back will show it: its values as text, without entries that are
 * JSON null.  *isnull: it has no entries.
 */
extern Datum wt_map_stored(Datum d, bool *isnull);

/* A walk along the entries of a JSON object */
typedef struct WtMapWalk
{
	JsonbIterator *it;	   /* NULL: at the end */
	JsonbValue key, value; /* of the present entry */
} WtMapWalk;

/* Starts a walk, before the first entry. */
static inline void
wt_map_walk(WtMapWalk *w, JsonbContainer *object)
{
	w->it = JsonbIteratorInit(object);
	(void) JsonbIteratorNext(&w->it, &w->key, true);
}

/* Moves to the next entry.  Returns false at the end. */
static inline bool
wt_map_walk_next(WtMapWalk *w)
{
	if (JsonbIteratorNext(&w->it, &w->key, true) != WJB_KEY)
		return false;
	(void) JsonbIteratorNext(&w->it, &w->value, true);
	return true;
}

/* Called for an entry.  value NULL: it is deleted; same: it has this value in both maps.  The
 * arguments are valid during the call. */
typedef void (*WtMapChange)(void *arg, const JsonbValue *key, StringInfo value, bool same);

/* Calls change once for each key of two maps.  Either may be NULL, a map without entries. */
extern void wt_map_diff(Jsonb *was, Jsonb *now, WtMapChange change, void *arg);

/* Appends the text of a JSON value, of a string its characters.  Returns false for JSON null. */
extern bool wt_map_json_text(const JsonbValue *v, StringInfo out);

#endif /* WT_MAP_H */
