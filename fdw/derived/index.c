/*
 * index.c
 *		Indexes of a wide table: their definitions, and the cache of them.
 *
 * The catalogs have for each index a dependency on the table that it is of (index_ddl.c), by which
 * it is found.  The cache is by indexed table.  What any invalidation may have changed is made
 * again, because an index consists of two definitions.
 */
#include "postgres.h"

#include "fdw/derived/index.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "fdw/ddl/binding.h"
#include "fdw/derived/dependency.h"
#include "fdw/derived/rollup.h"
#include "fdw/table/definition.h"
#include "fdw/table/encoding.h"
#include "fdw/table/engine.h"
#include "fdw/table/lookup.h"
#include "fdw/table/table.h"
#include "fdw/xact/batch.h"

/* ------------------------------------------------------------ definitions */

/* Errors: 42804, 0A000 if column c of the index cannot have the values of column b. */
static void
check_value(WtTable *index, WtTable *base, const WtColumn *c, const WtColumn *b)
{
	if (b->typid != c->typid || b->typmod != c->typmod)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of index \"%s\" has type %s, and column \"%s\" of table "
						"\"%s\" type %s",
						c->name, get_rel_name(index->relid),
						format_type_with_typemod(c->typid, c->typmod), b->name,
						get_rel_name(base->relid),
						format_type_with_typemod(b->typid, b->typmod))));
	if (c->role != WT_KEY && c->role != WT_CELL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
				 errmsg("column \"%s\" of index \"%s\" has options that an index cannot have",
						c->name, get_rel_name(index->relid))));
	if (c->role == WT_KEY && (wt_encoding_is_digest(c->enc) || !wt_encoding_is_injective(c)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("key column \"%s\" of index \"%s\" cannot have encoding \"%s\"", c->name,
						get_rel_name(index->relid), wt_encoding_name(c->enc)),
				 errdetail("The value could not be read from the index.")));
	if (b->family >= 0 && base->families[b->family].opt.merge != WIDE_MERGE_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" cannot be in an index", b->name,
						get_rel_name(base->relid)),
				 errdetail("Its family has a merge operator: who adds to it does not read it.")));
}

/* Errors: 42809, 42804 if the column cannot have entries of a map. */
static void
check_entry_column(WtTable *index, WtTable *base, const WtColumn *c, const WtColumn *b)
{
	if (b->role != WT_MAP)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("column \"%s\" of table \"%s\" is no map", b->name,
						get_rel_name(base->relid)),
				 errdetail("Index \"%s\" has entries of it in column \"%s\".",
						   get_rel_name(index->relid), c->name)));
	if ((c->typid != TEXTOID && c->typid != VARCHAROID) || c->typmod >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of index \"%s\" must have type text", c->name,
						get_rel_name(index->relid)),
				 errdetail("It has entries of map column \"%s\".", b->name)));
}

/* Errors: 42804, 0A000, 42703 if the column cannot be what its options say. */
static void
check_column(WtTable *index, WtTable *base, const WtColumn *c)
{
	int i = wt_lookup_column_index(base, c->source);
	const WtColumn *b = i < 0 ? NULL : &base->columns[i];

	if (b == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of index \"%s\" does not exist in table \"%s\"", c->name,
						get_rel_name(index->relid), get_rel_name(base->relid)),
				 errhint("An index has columns of the indexed table; \"column_of\" names one "
						 "with another name.")));
	if (c->source_is != WT_SOURCE_VALUE)
	{
		check_entry_column(index, base, c, b);
		return;
	}
	if (b->role != WT_KEY && b->role != WT_CELL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" cannot be in an index", b->name,
						get_rel_name(base->relid)),
				 errdetail(b->role == WT_MAP ? "It is a map."
											 : "It shows the timestamp of another column."),
				 b->role == WT_MAP ? errhint("Of a map an index has entries: columns with the "
											 "options \"qualifier_of\" and \"value_of\".")
								   : 0));
	check_value(index, base, c, b);
}

/* Errors: 0A000 if the index has another family than one, or one that would lose entries. */
static void
check_family(WtTable *index)
{
	const WtFamily *f = &index->families[0];

	if (index->nfamilies > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" cannot have several families", get_rel_name(index->relid)),
				 errdetail("There are \"%s\" and \"%s\".", f->name, index->families[1].name)));
	if (f->opt.ttl_us > 0 || f->opt.min_versions > 0 || f->opt.keep_deleted ||
		f->opt.merge != WIDE_MERGE_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("family \"%s\" of index \"%s\" cannot have the options \"ttl\", "
						"\"min_versions\", \"keep_deleted\" and \"merge\"",
						f->name, get_rel_name(index->relid)),
				 errdetail("Entries follow from the rows of the indexed table alone.")));
}

void
wt_index_check(WtTable *index, WtTable *base)
{
	const WtColumn *name = NULL, *value = NULL;

	if (index->engine != NULL || base->engine != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("tables of engine \"%s\" have no indexes",
						index->engine != NULL ? index->engine->name : base->engine->name),
				 errdetail("A row and its entries cannot be changed in one transaction there.")));
	if (base->cells_layout || base->index_of != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" cannot have indexes", get_rel_name(base->relid)),
				 base->cells_layout ? errdetail("It has layout \"cells\".")
									: errdetail("It is an index itself.")));
	for (int part = 0; part < base->nkeys; part++)
	{
		const WtColumn *b = wt_key_column(base, part);

		if (wt_lookup_column_of(index, b->name) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("an index of \"%s\" needs a column \"%s\"", index->index_of, b->name),
					 errdetail("An entry has the key of its row."),
					 errhint("Add the column \"%s\" of type %s.", b->name,
							 format_type_be(b->typid))));
	}
	for (int i = 0; i < index->natts; i++)
	{
		const WtColumn *c = &index->columns[i];

		if (c->role == WT_DROPPED)
			continue;
		check_column(index, base, c);
		if (c->source_is == WT_SOURCE_QUALIFIER)
			name = c;
		else if (c->source_is == WT_SOURCE_ENTRY)
			value = c;
	}
	if (value != NULL && (name == NULL || strcmp(name->source, value->source) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("column \"%s\" of index \"%s\" needs a column with option \"qualifier_of\" "
						"of the same map",
						value->name, get_rel_name(index->relid))));
	if (base->existence_projected && !wt_key_column(index, 0)->optional)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the first column of an index of \"%s\" cannot be one of its key",
						get_rel_name(base->relid)),
				 errdetail("With existence \"projected\" a query decides which rows exist.")));
	check_family(index);
}

bool
wt_index_is_complete(const WtTable *index, WtTable *base)
{
	for (int part = 0; part < base->nkeys; part++)
		if (wt_lookup_column_of(index, wt_key_column(base, part)->name) == NULL)
			return false;
	for (int i = 0; i < index->natts; i++)
	{
		const WtColumn *c = &index->columns[i];
		int b = c->role == WT_DROPPED ? -1 : wt_lookup_column_index(base, c->source);

		if (c->role == WT_DROPPED)
			continue;
		if (b < 0 || (c->source_is == WT_SOURCE_VALUE ? base->columns[b].typid != c->typid
													  : base->columns[b].role != WT_MAP))
			return false;
	}
	return true;
}

/* Errors: 0A000 if option cell_ttl is not possible with a family that has a column of the index. */
static void
check_cell_ttl(const WtIndex *x, const wide_family *f)
{
	if (!x->table->cell_ttl || f->opt.versions == 1)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("index \"%s\" cannot have option \"cell_ttl\"", get_rel_name(x->relid)),
			 errdetail("Family \"%s\" of table \"%s\" has %d versions: when a value expires, "
					   "the one before it would show again, and have no entry.",
					   f->name, get_rel_name(x->base->relid), f->opt.versions)));
}

/* Returns true if an expired cell can take a value away from which an entry was made. */
static bool
is_timed(const WtIndex *x)
{
	bool whole_row = !wt_key_column(x->table, 0)->optional && x->map < 0;
	bool timed = x->table->cell_ttl;
	wide_table wt;
	wide_family *f;
	int n;

	if (wt_binding_find(x->base->relid, &wt) != WIDE_OK)
		return timed;
	f = wt_binding_families(wt_batch(false), wt.id, &n);
	for (int k = 0; k < n; k++)
	{
		/* the entry of a row without optional values is there as long as the row */
		timed |= whole_row && f[k].opt.ttl_us > 0;
		for (int i = 0; i < x->base->natts; i++)
		{
			const WtColumn *c = &x->base->columns[i];

			if (!x->read[i] || c->family < 0 ||
				strcmp(x->base->families[c->family].name, f[k].name) != 0)
				continue;
			timed |= f[k].opt.ttl_us > 0;
			check_cell_ttl(x, &f[k]);
		}
	}
	pfree(f);
	return timed;
}

/* Makes x->projection. */
static void
project(WtIndex *x)
{
	WtTable *p = palloc(sizeof(WtTable));
	int n = x->base->natts;

	*p = *x->table;
	p->serial = wt_definition_new_serial();
	p->natts = n;
	x->entry_name = x->entry_value = -1;
	p->columns = palloc0(sizeof(WtColumn) * (n + 2));
	p->keys = palloc0(sizeof(int) * p->nkeys);
	for (int i = 0; i < n + 2; i++)
	{
		p->columns[i].role = WT_DROPPED;
		p->columns[i].attno = i + 1;
		p->columns[i].family = p->columns[i].part = p->columns[i].timestamp_of = -1;
		p->columns[i].name = i < n ? x->base->columns[i].name : "";
	}
	for (int i = 0; i < x->table->natts; i++)
	{
		const WtColumn *c = &x->table->columns[i];
		int at = x->source[i];

		if (at < 0)
			continue;
		if (c->source_is != WT_SOURCE_VALUE)
		{
			at = p->natts++;
			if (c->source_is == WT_SOURCE_QUALIFIER)
				x->entry_name = at;
			else
				x->entry_value = at;
		}
		p->columns[at] = *c;
		p->columns[at].attno = at + 1;
		/* rows of the indexed table are not checked against what the index says */
		p->columns[at].not_null = false;
		/* and may not have the entry */
		p->columns[at].optional |= c->source_is != WT_SOURCE_VALUE;
		if (c->source_is == WT_SOURCE_VALUE)
			p->columns[at].collation = x->base->columns[at].collation;
		if (c->role == WT_KEY)
			p->keys[c->part] = at;
	}
	p->order = NULL;
	p->marker_taken = -1;
	x->projection = p;
}

/* Makes an index, in CurrentMemoryContext. */
static WtIndex *
make_index(WtTable *table, WtTable *base)
{
	WtIndex *x = palloc0(sizeof(WtIndex));

	x->made = wt_index_made(table->relid);
	wt_index_check(table, base);
	x->relid = table->relid;
	x->table = table;
	x->base = base;
	x->map = -1;
	x->building = table->progress != NULL;
	x->exact = true;
	x->source = palloc(sizeof(int) * Max(1, table->natts));
	x->read = palloc0(sizeof(bool) * Max(1, base->natts));
	for (int i = 0; i < table->natts; i++)
	{
		const WtColumn *c = &table->columns[i];

		x->source[i] = c->role == WT_DROPPED ? -1 : wt_lookup_column_index(base, c->source);
		if (x->source[i] < 0)
			continue;
		x->read[x->source[i]] = true;
		x->exact &= wt_encoding_is_exact(&base->columns[x->source[i]]) ||
					(base->columns[x->source[i]].role == WT_KEY &&
					 base->columns[x->source[i]].enc == c->enc);
		if (c->source_is != WT_SOURCE_VALUE)
			x->map = x->source[i];
	}
	x->immutable = x->exact && (table->immutable || base->immutable);
	x->timed = is_timed(x);
	project(x);
	return x;
}

/* Makes a roll-up, in CurrentMemoryContext. */
static WtRollup *
make_rollup(WtTable *table, WtTable *base)
{
	Relation rel = RelationIdGetRelation(base->relid);
	WtRollup *r = wt_rollup_make(table, base, rel, true, NULL);

	RelationClose(rel);
	return r;
}

/* ------------------------------------------------------------------ cache */

typedef struct CacheEntry
{
	Oid base;			  /* hash key */
	uint64 invalidations; /* when it was made; PG_UINT64_MAX: it is not complete */
	bool own;			  /* made of what this transaction has changed and not committed */
	List *indexes;		  /* WtIndex */
	List *rollups;		  /* WtRollup */
	MemoryContext cxt;
} CacheEntry;

static HTAB *cache = NULL;

static void
fill(CacheEntry *e)
{
	ListCell *lc;
	MemoryContext old = MemoryContextSwitchTo(e->cxt);
	/* the cached one, which lives as long as this entry is valid */
	WtTable *base = wt_table_unlocked(e->base);
	const char *missing;

	foreach(lc, base != NULL ? wt_dependency_find(e->base) : NIL)
	{
		WtTable *t = wt_table_unlocked(lfirst_oid(lc));

		if (t != NULL && t->index_of != NULL && t->source == e->base &&
			wt_index_is_complete(t, base))
			e->indexes = lappend(e->indexes, make_index(t, base));
		else if (t != NULL && t->rollup_of != NULL && t->source == e->base &&
				 wt_rollup_is_complete(t, base, &missing))
			e->rollups = lappend(e->rollups, make_rollup(t, base));
	}
	MemoryContextSwitchTo(old);
}

/* Returns what the cache has of the table; NULL: nothing can be derived from its rows. */
static CacheEntry *
find_entry(WtTable *t)
{
	CacheEntry *e;
	bool found;
	uint64 now;

	if (t->engine != NULL || t->cells_layout || wt_is_derived(t))
		return NULL;
	if (cache == NULL)
	{
		HASHCTL ctl = {
			.keysize = sizeof(Oid), .entrysize = sizeof(CacheEntry), .hcxt = CacheMemoryContext};

		cache = hash_create("widetable indexes", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	now = wt_table_invalidations();
	e = hash_search(cache, &t->relid, HASH_ENTER, &found);
	if (found && e->invalidations == now && !e->own)
		return e;
	/* a statement may still use what is old */
	if (found && e->cxt != NULL)
		wt_table_retire(e->cxt);
	*e = (CacheEntry) {.base = t->relid, .invalidations = PG_UINT64_MAX};
	e->cxt = AllocSetContextCreate(CacheMemoryContext, "widetable indexes", ALLOCSET_SMALL_SIZES);
	fill(e);
	e->own = wt_batch_has_ddl();
	/* what was changed meanwhile is looked up the next time */
	e->invalidations = now;
	return e;
}

List *
wt_index_list(WtTable *t)
{
	CacheEntry *e = find_entry(t);

	return e != NULL ? e->indexes : NIL;
}

List *
wt_index_rollups(WtTable *t)
{
	CacheEntry *e = find_entry(t);

	return e != NULL ? e->rollups : NIL;
}

/* Returns: what list() returns for all foreign tables on the stored table. */
static List *
all_stored(wide_table_id id, List *(*list)(WtTable *t))
{
	List *out = NIL;
	ListCell *lc;

	foreach(lc, wt_binding_others(id, InvalidOid))
	{
		WtTable *t = wt_table_unlocked(lfirst_oid(lc));

		if (t != NULL)
			out = list_concat(out, list_copy(list(t)));
	}
	return out;
}

List *
wt_index_list_stored(wide_table_id id)
{
	return all_stored(id, wt_index_list);
}

List *
wt_index_rollups_stored(wide_table_id id)
{
	return all_stored(id, wt_index_rollups);
}

WtIndex *
wt_index(Oid relid)
{
	WtTable *t = wt_table_unlocked(relid);
	WtTable *base = t != NULL && t->index_of != NULL ? wt_table_unlocked(t->source) : NULL;
	ListCell *lc;

	foreach(lc, base != NULL ? wt_index_list(base) : NIL)
		if (((WtIndex *) lfirst(lc))->relid == relid)
			return lfirst(lc);
	return NULL;
}

WtRollup *
wt_index_rollup(Oid relid)
{
	WtTable *t = wt_table_unlocked(relid);
	WtTable *base = t != NULL && t->rollup_of != NULL ? wt_table_unlocked(t->source) : NULL;
	ListCell *lc;

	foreach(lc, base != NULL ? wt_index_rollups(base) : NIL)
		if (((WtRollup *) lfirst(lc))->relid == relid)
			return lfirst(lc);
	return NULL;
}

bool
wt_index_lock(const WtIndex *x, LOCKMODE mode)
{
	LockRelationOid(x->relid, mode);
	return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(x->relid));
}

TransactionId
wt_index_made(Oid relid)
{
	HeapTuple tup = SearchSysCache1(FOREIGNTABLEREL, ObjectIdGetDatum(relid));
	TransactionId made;

	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for foreign table %u", relid);
	made = HeapTupleHeaderXminFrozen(tup->t_data) ? FrozenTransactionId
												  : HeapTupleHeaderGetRawXmin(tup->t_data);
	ReleaseSysCache(tup);
	return made;
}

bool
wt_index_is_visible(TransactionId made, Snapshot snapshot)
{
	return !TransactionIdIsNormal(made) || TransactionIdIsCurrentTransactionId(made) ||
		   !XidInMVCCSnapshot(made, snapshot);
}
