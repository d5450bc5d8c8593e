/*
 * remote_table.c
 *		Tables of HBase, and the ids by which the rest of the extension knows them and their
 *		families.
 *
 * A session asks a table's families when it first uses it, and again after a failure that
 * may mean that they have changed.
 *
 * What the transaction's DDL is to make at its commit (remote_define.c) is there already for its
 * own statements, and empty.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/remote/remote_table.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "fdw/remote/connection.h"
#include "fdw/table/table.h"

static uint32 first_id = 0, next_id = 0;
static WtRemoteTable **tables = NULL; /* in TopMemoryContext, as what they point to */
static int ntables = 0, tables_max = 0;

static struct
{
	WtRemoteTable *table;
	int family;
	Oid user;
} *by_id = NULL; /* by id - first_id; family -1: the id is the table's, and of no user */

static uint32 by_id_max = 0;

static uint32
give_id(WtRemoteTable *r, int family, Oid user)
{
	uint32 n = next_id - first_id;

	if (n >> WT_ENGINE_SHIFT != 0)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("the session has used too many tables of HBase as too many users")));
	if (n >= by_id_max)
	{
		uint32 max = Max(64, by_id_max * 2);

		by_id = by_id == NULL ? MemoryContextAlloc(TopMemoryContext, sizeof(*by_id) * max)
							  : repalloc(by_id, sizeof(*by_id) * max);
		by_id_max = max;
	}
	by_id[n].table = r;
	by_id[n].family = family;
	by_id[n].user = user;
	return next_id++;
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

Oid
wt_remote_table_user(wide_family_id family)
{
	Assert(family - first_id < next_id - first_id);
	return by_id[family - first_id].user;
}

static char *
name_in_hbase(const WtTable *t)
{
	if (t->place.name_space == NULL || strchr(t->table_name, ':') != NULL)
		return MemoryContextStrdup(TopMemoryContext, t->table_name);
	return MemoryContextStrdup(TopMemoryContext,
							   psprintf("%s:%s", t->place.name_space, t->table_name));
}

/* Takes the options of the server, which live as long as the table. */
static void
take_place(WtRemoteTable *r, const WtPlace *place)
{
	char *nodes = r->place.nodes;

	r->place = *place;
	r->place.name_space = NULL; /* it is in the name */
	r->place.nodes = nodes;
	if (nodes != NULL && place->nodes != NULL && strcmp(nodes, place->nodes) == 0)
		return;
	/* perhaps another cluster */
	r->known = false;
	if (nodes != NULL)
		pfree(nodes);
	r->place.nodes = place->nodes == NULL ? NULL
										  : MemoryContextStrdup(TopMemoryContext, place->nodes);
}

WtRemoteTable *
wt_remote_table(WtTable *t)
{
	char *name = name_in_hbase(t);
	WtRemoteTable *r;

	for (int i = 0; i < ntables; i++)
	{
		r = tables[i];
		if (r->server == t->server && !r->gone && strcmp(r->name, name) == 0)
		{
			pfree(name);
			r->relid = t->relid;
			take_place(r, &t->place);
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
	r->relid = t->relid;
	take_place(r, &t->place);
	r->id = give_id(r, -1, InvalidOid);
	tables[ntables++] = r;
	return r;
}

hb_client *
wt_remote_table_client(const WtRemoteTable *r)
{
	return wt_connection_to(r->server, GetUserId(), &r->place);
}

hb_client *
wt_remote_table_client_of(wide_family_id family)
{
	const WtRemoteTable *r = wt_remote_table_of(family, NULL);

	return wt_connection_to(r->server, wt_remote_table_user(family), &r->place);
}

void
wt_remote_table_fail(WtRemoteTable *r, hb_client *client, hb_status status, const char *what,
					 const char *more)
{
	r->known = r->known && status != HB_NOTABLE && status != HB_NOFAMILY;
	wt_connection_fail(client, status, what, r->name, more);
}

/* ----------------------------------------------------------------- families */

WtRemoteFamily *
wt_remote_table_family(WtRemoteTable *r, const char *name)
{
	WtRemoteFamily *f;

	for (int i = 0; i < r->nfamilies; i++)
	{
		if (strcmp(r->families[i].name, name) == 0)
			return &r->families[i];
	}
	/* also families that are not there any more have an entry: scans may still know their ids */
	if (r->nfamilies == r->families_max)
	{
		int max = Max(8, r->families_max * 2);

		if (r->families == NULL)
			r->families = MemoryContextAllocZero(TopMemoryContext, sizeof(WtRemoteFamily) * max);
		else
			r->families = repalloc(r->families, sizeof(WtRemoteFamily) * max);
		r->families_max = max;
	}
	f = &r->families[r->nfamilies];
	*f = (WtRemoteFamily) {.name = MemoryContextStrdup(TopMemoryContext, name)};
	r->nfamilies++;
	wide_family_defaults(&f->opt);
	return f;
}

/* Returns: the family's id for the user, a new one if need be. */
static wide_family_id
id_for(WtRemoteTable *r, int family, Oid user)
{
	WtRemoteFamily *f = &r->families[family];
	wide_family_id id;

	for (int i = 0; i < f->nids; i++)
	{
		if (f->ids[i].user == user)
			return f->ids[i].id;
	}
	if (f->nids == f->ids_max)
	{
		int max = Max(2, f->ids_max * 2);

		f->ids = f->ids == NULL ? MemoryContextAlloc(TopMemoryContext, sizeof(WtRemoteId) * max)
								: repalloc(f->ids, sizeof(WtRemoteId) * max);
		f->ids_max = max;
	}
	id = give_id(r, family, user);
	f->ids[f->nids++] = (WtRemoteId) {user, id};
	return id;
}

/* What HBase says of a table, taken where no memory is asked for. */
typedef struct Found
{
	int n; /* families, also those beyond the array */

	struct
	{
		char name[WIDE_MAX_FAMILY + 1];
		wide_family_options opt;
		bool exact, rowcol;
	} families[WT_MAX_FAMILIES];
} Found;

/* Takes what the engine's options have a name for. */
static void
take_attribute(wide_family_options *opt, const char *key, const char *value)
{
	int n = atoi(value);

	if (strcmp(key, "VERSIONS") == 0)
		opt->versions = Max(1, n);
	else if (strcmp(key, "MIN_VERSIONS") == 0)
		opt->min_versions = Max(0, n);
	else if (strcmp(key, "TTL") == 0)
		opt->ttl_us = n == PG_INT32_MAX ? 0 : (int64) n * 1000000;
	else if (strcmp(key, "KEEP_DELETED_CELLS") == 0)
		opt->keep_deleted = pg_strcasecmp(value, "FALSE") != 0;
	else if (strcmp(key, "BLOCKSIZE") == 0)
		opt->block_size = (uint32) Max(0, n);
	else if (strcmp(key, "IN_MEMORY") == 0)
		opt->in_memory = pg_strcasecmp(value, "TRUE") == 0;
}

/* Callback: must not raise errors. */
static void
take_description(void *ctx, const hb_table *table)
{
	Found *found = ctx;

	for (int i = 0; i < table->n_families; i++)
	{
		const hb_family *f = &table->families[i];

		if (found->n++ >= WT_MAX_FAMILIES)
			continue;
		strlcpy(found->families[i].name, f->name, sizeof(found->families[i].name));
		wide_family_defaults(&found->families[i].opt);
		for (int a = 0; a < f->n_attributes; a++)
		{
			take_attribute(&found->families[i].opt, f->attributes[a].key, f->attributes[a].value);
			if (strcmp(f->attributes[a].key, "NEW_VERSION_BEHAVIOR") == 0)
				found->families[i].exact = pg_strcasecmp(f->attributes[a].value, "true") == 0;
			if (strcmp(f->attributes[a].key, "BLOOMFILTER") == 0)
				found->families[i].rowcol = pg_strcasecmp(f->attributes[a].value, "ROWCOL") == 0;
		}
	}
}

/* Sets which families are there, after what HBase has or the transaction's DDL has changed. */
static void
set_there(WtRemoteTable *r)
{
	for (int i = 0; i < r->nfamilies; i++)
	{
		WtRemoteFamily *f = &r->families[i];

		f->there = f->pending != WT_REMOTE_DROP && (f->stored || f->pending == WT_REMOTE_ADD);
	}
}

void
wt_remote_table_describe(WtRemoteTable *r, Oid user)
{
	hb_client *client = wt_connection_to(r->server, user, &r->place);
	Found *found = palloc0(sizeof(Found));
	hb_status status = hb_admin_describe(client, r->name, take_description, found);

	if (status != HB_OK && status != HB_NOTABLE)
		wt_remote_table_fail(r, client, status, "could not look for", NULL);
	if (found->n > WT_MAX_FAMILIES)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("table \"%s\" of HBase has %d families", r->name, found->n),
						errdetail("At most %d can be shown.", WT_MAX_FAMILIES)));
	for (int i = 0; i < r->nfamilies; i++)
		r->families[i].stored = false;
	for (int i = 0; i < found->n; i++)
	{
		WtRemoteFamily *f = wt_remote_table_family(r, found->families[i].name);

		f->stored = true;
		f->opt = found->families[i].opt;
		f->exact = found->families[i].exact;
		f->whole = found->families[i].exact && found->families[i].rowcol;
	}
	set_there(r);
	r->there = status == HB_OK;
	r->known = true;
	pfree(found);
}

void
wt_remote_table_set_pending(WtRemoteTable *r, const char *family, WtRemotePending pending)
{
	wt_remote_table_family(r, family)->pending = pending;
	set_there(r);
}

void
wt_remote_table_clear_pending(WtRemoteTable *r)
{
	for (int i = 0; i < r->nfamilies; i++)
		r->families[i].pending = WT_REMOTE_AS_STORED;
	r->made = r->undone = false;
	r->known = false;
	set_there(r);
}

void
wt_remote_table_no_family(const WtRemoteTable *r, const char *family)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("table \"%s\" of HBase has no family \"%s\"", r->name, family),
			 errhint("List the family in option \"families\" of the foreign table to add it, or "
					 "name another one in the options of the columns.")));
}

bool
wt_remote_table_find(WtTable *t, Oid user, bool create, WtEngineTable *out)
{
	WtRemoteTable *r = wt_remote_table(t);
	const char *missing = NULL;

	for (int attempt = 0; attempt < 2; attempt++)
	{
		if (!r->known)
			wt_remote_table_describe(r, user);
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
			if (r->families[i].there && out->nall < WT_MAX_FAMILIES)
				out->all[out->nall++] = id_for(r, i, user);
		missing = NULL;
		for (int i = 0; i < t->nfamilies; i++)
		{
			WtRemoteFamily *f = wt_remote_table_family(r, t->families[i].name);

			if (f->there)
				out->families[i] = id_for(r, (int) (f - r->families), user);
			else if (!t->cells_layout || !t->families[i].implicit)
				missing = t->families[i].name;
		}
		if (missing == NULL)
			return true;
		/* it may have been added since */
		r->known = false;
	}
	wt_remote_table_no_family(r, missing);
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

void
wt_remote_table_init(uint32 first)
{
	first_id = next_id = first;
}
