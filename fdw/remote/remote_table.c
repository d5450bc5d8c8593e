/*
 * remote_table.c
 *		Tables of HBase, and the ids by which the rest of the extension knows them and their
 *		families.
 *
 * A session asks a table's families when it first uses it, and again after a failure that
 * may mean that they have changed.
 *
 * CREATE FOREIGN TABLE makes the table at PRE_COMMIT if it is not there.  Until then it is
 * empty.  DROP FOREIGN TABLE leaves it where it is.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/remote/remote_table.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "fdw/remote/connection.h"
#include "fdw/remote/import.h"
#include "fdw/table/table.h"

static uint32 first_id = 0, next_id = 0;
static WtRemoteTable **tables = NULL; /* in TopMemoryContext, as what they point to */
static int ntables = 0, tables_max = 0;

static struct
{
	WtRemoteTable *table;
	int family;
} *by_id = NULL; /* by id - first_id; family -1: the id is the table's */

static uint32 by_id_max = 0;

static uint32
give_id(WtRemoteTable *r, int family)
{
	uint32 n = next_id++ - first_id;

	if (n >= by_id_max)
	{
		uint32 max = Max(64, by_id_max * 2);

		by_id = by_id == NULL ? MemoryContextAlloc(TopMemoryContext, sizeof(*by_id) * max)
							  : repalloc(by_id, sizeof(*by_id) * max);
		by_id_max = max;
	}
	by_id[n].table = r;
	by_id[n].family = family;
	return first_id + n;
}

WtRemoteTable *
wt_remote_table_of(wide_family_id family, int *index)
{
	uint32 n = family - first_id;

	Assert(n < next_id - first_id);
	if (index != NULL)
		*index = by_id[n].family;
	return by_id[n].table;
}

static char *
name_in_hbase(const WtTable *t)
{
	if (t->place.name_space == NULL || strchr(t->table_name, ':') != NULL)
		return MemoryContextStrdup(TopMemoryContext, t->table_name);
	return MemoryContextStrdup(TopMemoryContext,
							   psprintf("%s:%s", t->place.name_space, t->table_name));
}

WtRemoteTable *
wt_remote_table(WtTable *t)
{
	char *name = name_in_hbase(t);
	WtRemoteTable *r;

	for (int i = 0; i < ntables; i++)
	{
		r = tables[i];
		if (r->server == t->server && strcmp(r->name, name) == 0)
		{
			pfree(name);
			r->place = t->place;
			return r;
		}
	}
	if (ntables == tables_max)
	{
		tables_max = Max(16, tables_max * 2);
		tables = tables == NULL ? MemoryContextAlloc(TopMemoryContext, sizeof(*tables) * tables_max)
								: repalloc(tables, sizeof(*tables) * tables_max);
	}
	r = MemoryContextAllocZero(TopMemoryContext, sizeof(WtRemoteTable));
	r->name = name;
	r->server = t->server;
	r->place = t->place;
	r->id = give_id(r, -1);
	tables[ntables++] = r;
	return r;
}

hb_client *
wt_remote_table_client(const WtRemoteTable *r)
{
	return wt_connection_to(r->server, &r->place);
}

void
wt_remote_table_fail(WtRemoteTable *r, hb_client *client, hb_status status, const char *what,
					 const char *more)
{
	r->known = r->known && status != HB_NOTABLE && status != HB_NOFAMILY;
	wt_connection_fail(client, status, what, r->name, more);
}

/* ----------------------------------------------------------------- families */

/* Returns: the family's entry, a new one if need be. */
static WtRemoteFamily *
family_entry(WtRemoteTable *r, const char *name)
{
	WtRemoteFamily *f;

	for (int i = 0; i < r->nfamilies; i++)
	{
		if (strcmp(r->families[i].name, name) == 0)
			return &r->families[i];
	}
	if (r->nfamilies == WT_MAX_FAMILIES)
		return NULL;
	if (r->families == NULL)
		r->families = MemoryContextAllocZero(TopMemoryContext,
											 sizeof(WtRemoteFamily) * WT_MAX_FAMILIES);
	f = &r->families[r->nfamilies];
	f->name = MemoryContextStrdup(TopMemoryContext, name);
	f->id = give_id(r, r->nfamilies++);
	wide_family_defaults(&f->opt);
	return f;
}

/* Takes what the engine's options have a name for. */
static void
take_attribute(WtRemoteFamily *f, const char *key, const char *value)
{
	int n = atoi(value);

	if (strcmp(key, "VERSIONS") == 0)
		f->opt.versions = Max(1, n);
	else if (strcmp(key, "MIN_VERSIONS") == 0)
		f->opt.min_versions = Max(0, n);
	else if (strcmp(key, "NEW_VERSION_BEHAVIOR") == 0)
		f->exact = pg_strcasecmp(value, "true") == 0;
	else if (strcmp(key, "TTL") == 0)
		f->opt.ttl_us = n == PG_INT32_MAX ? 0 : (int64) n * 1000000;
}

/* Callback: takes the families.  It raises no error but for memory, before it changes anything. */
static void
take_description(void *ctx, const hb_table *table)
{
	WtRemoteTable *r = ctx;

	for (int i = 0; i < table->n_families; i++)
	{
		WtRemoteFamily *f = family_entry(r, table->families[i].name);

		if (f == NULL)
			continue;
		f->there = true;
		for (int a = 0; a < table->families[i].n_attributes; a++)
			take_attribute(f, table->families[i].attributes[a].key,
						   table->families[i].attributes[a].value);
	}
}

/* Asks for the table's families. */
static void
describe(WtRemoteTable *r)
{
	hb_client *client = wt_remote_table_client(r);
	hb_status status;

	for (int i = 0; i < r->nfamilies; i++)
		r->families[i].there = false;
	status = hb_admin_describe(client, r->name, take_description, r);
	if (status != HB_OK && status != HB_NOTABLE)
		wt_remote_table_fail(r, client, status, "could not look for", NULL);
	r->there = status == HB_OK;
	r->known = true;
}

bool
wt_remote_table_find(WtTable *t, bool create, WtEngineTable *out)
{
	WtRemoteTable *r = wt_remote_table(t);
	bool all = true;

	for (int attempt = 0; attempt < 2; attempt++)
	{
		if (!r->known)
			describe(r);
		if (!r->there && !r->made)
		{
			r->known = false;
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("table \"%s\" does not exist in HBase", r->name),
					 errhint("CREATE FOREIGN TABLE makes it, unless that was done before the table "
							 "was removed there.")));
		}
		*out = (WtEngineTable) {.table = r->id, .head = t->relid};
		for (int i = 0; i < r->nfamilies; i++)
			if (r->families[i].there)
				out->all[out->nall++] = r->families[i].id;
		all = true;
		for (int i = 0; i < t->nfamilies; i++)
		{
			WtRemoteFamily *f = family_entry(r, t->families[i].name);

			all = all && f != NULL && f->there;
			out->families[i] = f != NULL && f->there ? f->id : 0;
		}
		if (all || r->made)
			break;
		/* it may have been added since */
		r->known = false;
	}
	r->known = all || r->made;
	return true;
}

wide_family *
wt_remote_table_families(const WtEngineTable *e, int *n)
{
	wide_family *list = palloc0(sizeof(wide_family) * Max(1, e->nall));

	for (int i = 0; i < e->nall; i++)
	{
		int at;
		WtRemoteTable *r = wt_remote_table_of(e->all[i], &at);

		list[i].id = e->all[i];
		list[i].table = e->table;
		strlcpy(list[i].name, r->families[at].name, sizeof(list[i].name));
		list[i].opt = r->families[at].opt;
	}
	*n = e->nall;
	return list;
}

/* ---------------------------------------------------------------- estimates */

/* What is assumed of a table. */
#define ASSUMED_ROWS   1000000.0
#define ASSUMED_ROW	   100.0 /* bytes */
#define ASSUMED_BLOCK  65536.0
#define ASSUMED_RANGES 1000.0 /* ranges that a key with both bounds cuts the table into */

void
wt_remote_table_estimate(wide_family_id family, const wide_range *range, wide_estimate *out)
{
	double share = 1;

	if (range != NULL && range->hi.data != NULL && range->lo.len > 0)
		share = 1 / ASSUMED_RANGES;
	else if (range != NULL && (range->hi.data != NULL || range->lo.len > 0))
		share = 1.0 / 3;
	/* exactly one key */
	if (range != NULL && range->hi.data != NULL && range->hi.len == range->lo.len + 1 &&
		memcmp(range->hi.data, range->lo.data, range->lo.len) == 0 &&
		range->hi.data[range->lo.len] == 0)
		share = 1 / ASSUMED_ROWS;
	out->rows = out->cells = ASSUMED_ROWS * share;
	out->bytes = out->rows * ASSUMED_ROW;
	out->blocks = Max(1, out->bytes / ASSUMED_BLOCK);
}

/* --------------------------------------------------------------------- DDL */

/* The attributes of a family that the foreign table states. */
static int
stated_attributes(const WtFamily *f, hb_attribute *list)
{
	static const char *const bloom[] = {"NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"};
	int n = 0;

	list[n++] = (hb_attribute) {"VERSIONS", psprintf("%d", f->opt.versions)};
	if (f->stated & WT_FAM_MIN_VERSIONS)
		list[n++] = (hb_attribute) {"MIN_VERSIONS", psprintf("%d", f->opt.min_versions)};
	if (f->stated & WT_FAM_TTL)
	{
		if (f->opt.ttl_us % 1000000 != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 errmsg("the time to live of family \"%s\" must be whole seconds in HBase",
							f->name)));
		list[n++] = (hb_attribute) {"TTL", f->opt.ttl_us == 0
											   ? "2147483647"
											   : psprintf(INT64_FORMAT, f->opt.ttl_us / 1000000)};
	}
	if (f->stated & WT_FAM_KEEP_DELETED)
		list[n++] = (hb_attribute) {"KEEP_DELETED_CELLS", f->opt.keep_deleted ? "TRUE" : "FALSE"};
	if (f->stated & WT_FAM_BLOOM)
		list[n++] = (hb_attribute) {"BLOOMFILTER", bloom[f->opt.bloom]};
	if (f->stated & WT_FAM_BLOCK_SIZE)
		list[n++] = (hb_attribute) {"BLOCKSIZE", psprintf("%u", f->opt.block_size)};
	if (f->stated & WT_FAM_IN_MEMORY)
		list[n++] = (hb_attribute) {"IN_MEMORY", f->opt.in_memory ? "true" : "false"};
	/* deletes hide what was written before them, and not what is written after */
	list[n++] = (hb_attribute) {"NEW_VERSION_BEHAVIOR", "true"};
	return n;
}

#define MAX_ATTRIBUTES 12

/* A table that is to be made at commit; in TopTransactionContext. */
typedef struct Making
{
	WtRemoteTable *table;
	hb_table description;
	int level; /* nesting level of the transaction */
} Making;

static List *makings = NIL;

static void
prepare_making(WtTable *t, WtRemoteTable *r)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Making *m = palloc0(sizeof(Making));
	hb_family *families = palloc0(sizeof(hb_family) * t->nfamilies);
	hb_attribute *attributes;

	for (int i = 0; i < t->nfamilies; i++)
	{
		WtRemoteFamily *f = family_entry(r, t->families[i].name);

		attributes = palloc0(sizeof(hb_attribute) * MAX_ATTRIBUTES);
		families[i].name = pstrdup(t->families[i].name);
		families[i].attributes = attributes;
		families[i].n_attributes = stated_attributes(&t->families[i], attributes);
		if (f != NULL)
		{
			f->there = f->exact = true;
			f->opt = t->families[i].opt;
		}
	}
	attributes = palloc0(sizeof(hb_attribute) * 2);
	attributes[0] = (hb_attribute) {WT_IMPORT_COLUMNS, wt_import_columns(t->relid)};
	attributes[1] = (hb_attribute) {WT_IMPORT_OPTIONS, wt_import_options(t->relid)};
	m->table = r;
	m->description = (hb_table) {.name = r->name,
								 .families = families,
								 .n_families = t->nfamilies,
								 .attributes = attributes,
								 .n_attributes = 2};
	m->level = GetCurrentTransactionNestLevel();
	makings = lappend(makings, m);
	r->made = true;
	MemoryContextSwitchTo(old);
}

void
wt_remote_table_define(WtTable *t, bool created)
{
	WtRemoteTable *r = wt_remote_table(t);

	/* the first change may be of the server's options: no connection is needed for that */
	if (r->made)
		return;
	describe(r);
	if (!r->there && created)
		prepare_making(t, r);
}

void
wt_remote_table_make(void)
{
	ListCell *lc;

	foreach(lc, makings)
	{
		Making *m = lfirst(lc);
		hb_client *client = wt_remote_table_client(m->table);
		hb_status status = hb_admin_create(client, &m->description, NULL, 0);

		/* another session may have made it */
		if (status != HB_OK && status != HB_EXISTS)
			wt_remote_table_fail(m->table, client, status, "could not create", NULL);
		m->table->there = true;
	}
}

void
wt_remote_table_end(bool committed)
{
	int level = GetCurrentTransactionNestLevel();
	List *left = NIL;
	ListCell *lc;

	foreach(lc, makings)
	{
		Making *m = lfirst(lc);

		if (committed || m->level >= level || level <= 1)
		{
			m->table->made = false;
			m->table->known = false;
		}
		else
			left = lappend(left, m);
	}
	makings = level <= 1 ? NIL : left;
}

void
wt_remote_table_truncate(WtTable *t)
{
	WtRemoteTable *r = wt_remote_table(t);
	hb_client *client = wt_remote_table_client(r);
	hb_status status;

	PreventInTransactionBlock(true, "TRUNCATE of a table of HBase");
	status = hb_admin_truncate(client, r->name, true);
	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, "could not truncate", NULL);
}

void
wt_remote_table_drop(WtTable *t)
{
	WtRemoteTable *r = wt_remote_table(t);
	hb_client *client = wt_remote_table_client(r);
	hb_status status;

	PreventInTransactionBlock(true, "drop_remote()");
	status = hb_admin_drop(client, r->name);
	r->known = r->there = false;
	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, "could not drop", NULL);
}

void
wt_remote_table_init(uint32 first)
{
	first_id = next_id = first;
}
