/*
 * remote_define.c
 *		CREATE, ALTER and TRUNCATE of foreign tables on tables of HBase.
 *
 * A command only notes what it wants, with the nesting level of its transaction, so that
 * ROLLBACK and savepoints are exact.  PRE_COMMIT compares that with what HBase has then, and
 * makes the difference.  DROP FOREIGN TABLE leaves the table where it is.
 *
 * CREATE FOREIGN TABLE makes a table with all its families.  Of one that is there it adds the
 * families in option "families" that are missing, and warns of those that are otherwise.
 * ALTER FOREIGN TABLE also changes families, and drops those that the option has null for.
 *
 * Locking: none.
 */
#include "postgres.h"

#include "fdw/remote/remote_define.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "fdw/remote/connection.h"
#include "fdw/remote/import.h"
#include "fdw/remote/remote_change.h"
#include "fdw/remote/remote_table.h"
#include "fdw/table/split_option.h"

#define MAX_ATTRIBUTES 12
#define PREFIX_LENGTH  "RowPrefixBloomFilter.prefix_length"
#define MAX_TTL		   (PG_INT32_MAX - 1)

/* What a command wants of a family. */
typedef struct Wanted
{
	char *name;
	bool listed; /* in option "families", not only named by a column */
	bool drop;
	hb_attribute attributes[MAX_ATTRIBUTES]; /* the first nstated are stated, others defaults */
	int nattributes, nstated;
	hb_attribute configuration[1];
	int nconfiguration;

	/* as HBase has it */
	bool exists;
	const char *differs; /* the first attribute that is otherwise there, or NULL */
	char found[64];		 /* its value there */
} Wanted;

/* What a command wants of a table; in TopTransactionContext. */
typedef struct Definition
{
	WtRemoteTable *table;
	Oid relid; /* the foreign table */
	Oid user;
	bool create; /* makes the table if it is not there */
	bool alter;	 /* changes and drops families */
	int level;	 /* nesting level of the transaction */
	Wanted *families;
	int nfamilies;
	hb_attribute attributes[2]; /* of a table that is made */
	hb_bytes *splits;
	int nsplits;
} Definition;

static List *definitions = NIL;

/* ------------------------------------------------------------ what is wanted */

static void
add_attribute(Wanted *w, const char *key, const char *value)
{
	Assert(w->nattributes < MAX_ATTRIBUTES);
	w->attributes[w->nattributes++] = (hb_attribute) {key, value};
}

/* Raises 0A000: HBase cannot do what an option of a family says. */
static _Noreturn void
refuse(const WtTable *t, const WtFamily *f, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("family \"%s\" of table \"%s\" cannot be so in HBase", f->name, t->table_name),
			 errdetail("%s", detail), errhint("%s", hint)));
}

static void
want_ttl(const WtTable *t, const WtFamily *f, Wanted *w)
{
	int64 seconds = f->opt.ttl_us / 1000000;

	if (f->opt.ttl_us % 1000000 != 0 || seconds > MAX_TTL)
		refuse(t, f, "Its time to live is not whole seconds, or is longer than 68 years.",
			   "Write whole seconds in \"ttl\", or null for no limit.");
	add_attribute(w, "TTL", seconds == 0 ? "2147483647" : psprintf(INT64_FORMAT, seconds));
}

/* In exact families ROWCOL makes HBase loop (remote_table.h): they get ROW. */
static void
want_bloom(const WtTable *t, const WtFamily *f, Wanted *w)
{
	static const char *const names[] = {"NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"};
	bool exact = !t->versions_given || t->versions_exact;

	add_attribute(w, "BLOOMFILTER",
				  exact && f->opt.bloom == WIDE_BLOOM_ROWCOL ? "ROW" : names[f->opt.bloom]);
	if (f->opt.bloom == WIDE_BLOOM_PREFIX)
		w->configuration[w->nconfiguration++] = (hb_attribute) {
			PREFIX_LENGTH, psprintf("%d", f->opt.bloom_prefix)};
}

static void
want_compression(const WtTable *t, const WtFamily *f, Wanted *w)
{
	wide_family_options plain;

	wide_family_defaults(&plain);
	if (f->opt.compression != WIDE_COMPRESS_NONE &&
		f->opt.compression_level != plain.compression_level)
		refuse(t, f, "Its compression has a level, which HBase does not have by family.",
			   "Write \"zstd\" or \"none\" in \"compression\"; hbase.io.compress.zstd.level is a "
			   "setting of the cluster.");
	add_attribute(w, "COMPRESSION", f->opt.compression == WIDE_COMPRESS_NONE ? "NONE" : "ZSTD");
}

/* Fills in the attributes: those that are stated, and of a table that is made also defaults. */
static void
want_family(const WtTable *t, const WtFamily *f, Wanted *w)
{
	w->name = pstrdup(f->name);
	w->listed = !f->implicit;
	if (f->stated & WT_FAM_VERSIONS)
		add_attribute(w, "VERSIONS", psprintf("%d", f->opt.versions));
	if (f->stated & WT_FAM_MIN_VERSIONS)
		add_attribute(w, "MIN_VERSIONS", psprintf("%d", f->opt.min_versions));
	if (f->stated & WT_FAM_TTL)
		want_ttl(t, f, w);
	if (f->stated & WT_FAM_KEEP_DELETED)
		add_attribute(w, "KEEP_DELETED_CELLS", f->opt.keep_deleted ? "TRUE" : "FALSE");
	if (f->stated & WT_FAM_BLOOM)
		want_bloom(t, f, w);
	if (f->stated & WT_FAM_BLOCK_SIZE)
		add_attribute(w, "BLOCKSIZE", psprintf("%u", f->opt.block_size));
	if (f->stated & WT_FAM_COMPRESSION)
		want_compression(t, f, w);
	if (f->stated & WT_FAM_IN_MEMORY)
		add_attribute(w, "IN_MEMORY", f->opt.in_memory ? "true" : "false");
	if ((f->stated & WT_FAM_COMPACTION) && f->opt.compaction != WIDE_COMPACT_LEVELED)
		refuse(t, f, "Compaction by windows of time is a setting of HBase's store engine.",
			   "Leave \"compaction\" out; hbase.hstore.engine.class is set with HBase's shell.");
	if (f->stated & WT_FAM_MERGE)
		refuse(t, f, "HBase has no families with a merge operator.",
			   "Leave \"merge\" out; increment() adds to a counter.");
	/* deletes hide what was written before them, and not what is written after */
	if (t->versions_given)
		add_attribute(w, "NEW_VERSION_BEHAVIOR", t->versions_exact ? "true" : "false");
	w->nstated = w->nattributes;
	if (!(f->stated & WT_FAM_VERSIONS))
		add_attribute(w, "VERSIONS", psprintf("%d", f->opt.versions));
	if (!t->versions_given)
		add_attribute(w, "NEW_VERSION_BEHAVIOR", "true");
}

static Definition *
make_definition(WtTable *t, WtRemoteTable *r, bool created)
{
	Definition *d = palloc0(sizeof(Definition));

	d->table = r;
	d->relid = t->relid;
	d->user = GetUserId();
	d->level = GetCurrentTransactionNestLevel();
	d->families = palloc0(sizeof(Wanted) * Max(1, t->nfamilies + t->ndropped));
	for (int i = 0; i < t->natts; i++)
		if (t->columns[i].role == WT_CELL && t->columns[i].enc == WT_ENC_HLL)
			refuse(t, &t->families[t->columns[i].family],
				   "HBase counts no distinct values: encoding \"hll\" is for families with a merge "
				   "operator.",
				   "Leave the encoding out.");
	for (int i = 0; i < t->nfamilies; i++)
	{
		/* layout "cells" shows all families, and needs none of a table that is there */
		if (t->cells_layout && t->families[i].implicit && r->there)
			continue;
		want_family(t, &t->families[i], &d->families[d->nfamilies++]);
	}
	for (int i = 0; i < t->ndropped; i++)
		d->families[d->nfamilies++] = (Wanted) {
			.name = pstrdup(t->dropped[i]), .listed = true, .drop = true};
	d->create = created && !r->there;
	d->alter = !created;
	if (d->create)
	{
		wide_bytes *keys = wt_split_option_keys(t, &d->nsplits);

		d->splits = palloc(sizeof(hb_bytes) * Max(1, d->nsplits));
		for (int i = 0; i < d->nsplits; i++)
			d->splits[i] = (hb_bytes) {keys[i].data, keys[i].len};
		d->attributes[0] = (hb_attribute) {WT_IMPORT_COLUMNS, wt_import_columns(t->relid)};
		d->attributes[1] = (hb_attribute) {WT_IMPORT_OPTIONS, wt_import_options(t->relid)};
	}
	return d;
}

/* -------------------------------------------------------------- comparison */

/* Callback: sets what HBase has of the wanted families.  It must not raise errors. */
static void
compare(void *ctx, const hb_table *table)
{
	Definition *d = ctx;

	for (int i = 0; i < d->nfamilies; i++)
	{
		Wanted *w = &d->families[i];
		const hb_family *f = NULL;

		for (int k = 0; k < table->n_families; k++)
			if (strcmp(table->families[k].name, w->name) == 0)
				f = &table->families[k];
		w->exists = f != NULL;
		w->differs = NULL;
		for (int a = 0; f != NULL && a < w->nstated + w->nconfiguration; a++)
		{
			bool attribute = a < w->nstated;
			const hb_attribute *want = attribute ? &w->attributes[a]
												 : &w->configuration[a - w->nstated];
			const hb_attribute *have = attribute ? f->attributes : f->configuration;
			int n = attribute ? f->n_attributes : f->n_configuration, k = 0;

			while (k < n && strcmp(have[k].key, want->key) != 0)
				k++;
			if (k < n && pg_strcasecmp(have[k].value, want->value) == 0)
				continue;
			w->differs = want->key;
			strlcpy(w->found, k < n ? have[k].value : "not set", sizeof(w->found));
			break;
		}
	}
}

/* Returns: the client for the user who gave the command. */
static hb_client *
client_of(const Definition *d)
{
	return wt_connection_to(d->table->server, d->user, &d->table->place);
}

/* Sets in the definition what HBase has.  Returns: false if it has not the table. */
static bool
look(Definition *d)
{
	WtRemoteTable *r = d->table;
	hb_client *client = client_of(d);
	hb_status status = hb_admin_describe(client, r->name, compare, d);

	if (status != HB_OK && status != HB_NOTABLE)
		wt_remote_table_fail(r, client, status, "could not look for", NULL);
	return status == HB_OK;
}

/* CREATE FOREIGN TABLE on a table that is there: families must be there or be listed. */
static void
check_taken(const Definition *d)
{
	for (int i = 0; i < d->nfamilies; i++)
	{
		const Wanted *w = &d->families[i];

		if (!w->exists && !w->listed)
			wt_remote_table_no_family(d->table, w->name);
		if (w->drop && w->exists)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s\" of HBase has family \"%s\", which option \"families\" "
							"drops",
							d->table->name, w->name),
					 errhint("Leave it out; ALTER FOREIGN TABLE drops families.")));
		if (w->differs != NULL)
			ereport(WARNING,
					(errmsg("family \"%s\" of table \"%s\" has %s %s in HBase", w->name,
							d->table->name, w->differs, w->found),
					 errdetail("CREATE FOREIGN TABLE takes a table that is there as it is."),
					 errhint("ALTER FOREIGN TABLE ... OPTIONS (SET families ...) changes it.")));
	}
}

/* ----------------------------------------------------------------- commands */

static void
add_definition(Definition *d)
{
	definitions = lappend(definitions, d);
	d->table->made = d->table->made || d->create;
	for (int i = 0; i < d->nfamilies; i++)
		if (d->create || d->families[i].listed)
			wt_remote_table_set_pending(d->table, d->families[i].name,
										d->families[i].drop ? WT_REMOTE_DROP : WT_REMOTE_ADD);
}

static bool
drops_any(const Definition *d)
{
	for (int i = 0; i < d->nfamilies; i++)
		if (d->families[i].drop)
			return true;
	return false;
}

static bool
lists_any(const WtTable *t)
{
	for (int i = 0; i < t->nfamilies; i++)
		if (!t->families[i].implicit)
			return true;
	return t->ndropped > 0 || t->versions_given;
}

/* Returns: true if the foreign table for which the transaction makes the table was dropped. */
static bool
is_dropped(const WtRemoteTable *r)
{
	ListCell *lc;

	foreach(lc, definitions)
	{
		const Definition *d = lfirst(lc);

		if (d->table == r && d->create)
			return !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(d->relid));
	}
	return false;
}

void
wt_remote_define(WtTable *t, bool created)
{
	WtRemoteTable *r = wt_remote_table(t);
	MemoryContext old;
	Definition *d;

	/* another table of that name: the changes of the first one are void */
	if (created && r->made && is_dropped(r))
	{
		r->gone = true;
		r = wt_remote_table(t);
	}

	/* other commands, as of owners and columns, need no connection */
	if (!created && !lists_any(t))
		return;
	wt_remote_table_describe(r, GetUserId());
	old = MemoryContextSwitchTo(TopTransactionContext);
	d = make_definition(t, r, created);
	if (r->made)
		d->create = false;
	else if (r->there)
	{
		(void) look(d);
		if (created)
			check_taken(d);
	}
	if (drops_any(d) && wt_remote_change_any(r))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot drop a family of table \"%s\" in a transaction that has written to "
						"it",
						r->name)));
	add_definition(d);
	MemoryContextSwitchTo(old);
}

/* Returns: true if TRUNCATE is the command of the client, not one in a function. */
static bool
is_command(void)
{
	List *stmts = ActivePortal != NULL ? ActivePortal->stmts : NIL;
	Node *stmt = list_length(stmts) == 1 ? linitial_node(PlannedStmt, stmts)->utilityStmt : NULL;

	return stmt != NULL && IsA(stmt, TruncateStmt);
}

void
wt_remote_define_truncate(WtTable *t)
{
	WtRemoteTable *r = wt_remote_table(t);
	hb_client *client = wt_remote_table_client(r);
	hb_status status;

	PreventInTransactionBlock(is_command(), "TRUNCATE of a table of HBase");
	status = hb_admin_truncate(client, r->name, true);
	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, "could not truncate",
							 "The table may be left disabled.");
}

void
wt_remote_define_drop(WtTable *t)
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

/* ------------------------------------------------------------------- commit */

static void
create_table(Definition *d, const char *before)
{
	WtRemoteTable *r = d->table;
	hb_client *client = client_of(d);
	hb_family *families = palloc0(sizeof(hb_family) * Max(1, d->nfamilies));
	hb_table table = {
		.name = r->name, .families = families, .attributes = d->attributes, .n_attributes = 2};
	hb_status status;

	for (int i = 0; i < d->nfamilies; i++)
	{
		const Wanted *w = &d->families[i];

		if (!w->drop)
			families[table.n_families++] = (hb_family) {.name = w->name,
														.attributes = w->attributes,
														.n_attributes = w->nattributes,
														.configuration = w->configuration,
														.n_configuration = w->nconfiguration};
	}
	status = hb_admin_create(client, &table, d->splits, d->nsplits);
	if (status == HB_EXISTS)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("table \"%s\" of HBase was made by another session", r->name),
				 errhint("Repeat the transaction.")));
	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, "could not create", before);
}

/* Adds, changes or drops a family. */
static void
change_family(Definition *d, const Wanted *w, const char *before)
{
	WtRemoteTable *r = d->table;
	hb_client *client = client_of(d);
	hb_family family = {.name = w->name,
						.attributes = w->attributes,
						.configuration = w->configuration,
						.n_configuration = w->nconfiguration};
	const char *what = NULL;
	hb_status status = HB_OK;

	if (w->drop && w->exists)
	{
		what = "could not drop family \"%s\" of";
		status = hb_admin_drop_family(client, r->name, w->name);
	}
	else if (!w->drop && !w->exists && w->listed)
	{
		what = "could not add family \"%s\" to";
		family.n_attributes = w->nattributes;
		status = hb_admin_add_family(client, r->name, &family);
	}
	else if (!w->drop && w->exists && w->differs != NULL && d->alter)
	{
		what = "could not change family \"%s\" of";
		family.n_attributes = w->nstated;
		status = hb_admin_modify_family(client, r->name, &family);
	}
	if (status != HB_OK)
		wt_remote_table_fail(r, client, status, psprintf(what, w->name), before);
}

void
wt_remote_define_apply(void)
{
	ListCell *lc;
	char *before = NULL;

	foreach(lc, definitions)
	{
		Definition *d = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (d->create && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(d->relid)))
		{
			d->table->undone = true;
			continue;
		}
		if (look(d))
		{
			for (int i = 0; i < d->nfamilies; i++)
				change_family(d, &d->families[i], before);
		}
		else if (d->create)
			create_table(d, before);
		else
			wt_remote_table_fail(d->table, client_of(d), HB_NOTABLE, "could not change", before);
		d->table->known = false;
		before = psprintf("Table \"%s\" of HBase was defined before, and stays so.",
						  d->table->name);
	}
}

bool
wt_remote_define_any(void)
{
	return definitions != NIL;
}

void
wt_remote_define_forget(void)
{
	ListCell *lc;

	foreach(lc, definitions)
		wt_remote_table_clear_pending(((Definition *) lfirst(lc))->table);
	definitions = NIL;
}

static void
subxact_callback(SubXactEvent event, SubTransactionId mySubid, SubTransactionId parentSubid,
				 void *arg)
{
	int level = GetCurrentTransactionNestLevel();
	List *all = definitions;
	ListCell *lc;

	if (definitions == NIL)
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		/* what it has declared belongs to the parent now */
		foreach(lc, all)
			((Definition *) lfirst(lc))->level = Min(((Definition *) lfirst(lc))->level, level - 1);
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

		wt_remote_define_forget();
		foreach(lc, all)
			if (((Definition *) lfirst(lc))->level < level)
				add_definition(lfirst(lc));
		MemoryContextSwitchTo(old);
	}
}

void
wt_remote_define_init(void)
{
	RegisterSubXactCallback(subxact_callback, NULL);
}
