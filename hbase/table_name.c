/* table_name.c - "namespace:table" as a message, and back */
#include "hbase/table_name.h"

#define DEFAULT "default"

void
hb_table_name_parse(const char *table, Hbp__TableName *name)
{
	const char *colon = strchr(table, ':');

	hbp__table_name__init(name);
	if (colon == NULL)
		name->namespace_ = hb_pb(hb_text(DEFAULT));
	else
		name->namespace_ = hb_pb((hb_bytes) {(const uint8_t *) table, (size_t) (colon - table)});
	name->qualifier = hb_pb(hb_text(colon == NULL ? table : colon + 1));
}

const char *
hb_table_name_text(hb_arena *arena, const Hbp__TableName *name)
{
	hb_bytes ns = hb_from_pb(name->namespace_);
	hb_bytes q = hb_from_pb(name->qualifier);
	uint8_t *s;

	if (hb_memory_equal(ns, hb_text(DEFAULT)))
		return (const char *) hb_arena_copy(arena, q);
	s = hb_arena_alloc(arena, ns.len + q.len + 2);
	if (s == NULL)
		return NULL;
	memcpy(s, ns.data, ns.len);
	s[ns.len] = ':';
	memcpy(s + ns.len + 1, q.data, q.len);
	return (const char *) s;
}
