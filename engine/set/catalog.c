/*
 * catalog.c - tables, families and bindings: the committed state, how a change is
 * applied, its form in the log and in the manifest.
 *
 * The committed catalog is three arrays in the segment.  A transaction's changes are a list of
 * operations (catalog_delta.c).  At commit the list is encoded into the log record and applied;
 * replay applies the same bytes.
 *
 * Invariants:
 *  - Family ids are never reused: files and cells of a dropped family are known by their id.
 *  - Changes are applied by seq.  So a dump has all changes up to catalog.seq, and replay skips
 * these.
 *
 * Locking: writers hold LOCK_SET and LOCK_CATALOG, so that either suffices to read.  Nothing is
 * allocated under them.
 *
 * Encoded change: varint kind, then by kind (names: varint length, bytes;
 * options: see code_options)
 *     1 CREATE_TABLE   table space name      5 UNBIND          table object
 *     2 RENAME_TABLE   table name            6 CREATE_FAMILY   family table name options
 *     3 DROP_TABLE     table                 7 ALTER_FAMILY    family options zigzag(now)
 *     4 BIND           table object          8 DROP_FAMILY     family
 *                                            9 REPLACE_FAMILY  family new-id
 * Dump: varint 3, seq, next_table, next_family; count of tables, each id space seq name; count of
 * families, each id table seq name options and eight floors (seq versions min_versions
 * zigzag(expired_before) zigzag(now) keep_deleted); count of bindings, each table object.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>
#include "engine/set/catalog.h"
#include "engine/base/buffer.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/family.h"
#include "engine/set/file_set.h"

#define DUMP_FORMAT 3
#define TABLE_MAX	(4 * VARINT_MAX + WIDE_MAX_NAME)
#define FLOORS_MAX	(FAMILY_FLOORS * 6 * VARINT_MAX)
#define FAMILY_MAX	(4 * VARINT_MAX + WIDE_MAX_FAMILY + OPTIONS_MAX + FLOORS_MAX)

/* -------------------------------------------------------------- encoding */

/* Encodes structs into out, or decodes them from p: one function describes both. */
typedef struct codec
{
	uint8_t *out;	  /* NULL: decodes */
	const uint8_t *p; /* NULL: what was to be decoded is invalid */
	const uint8_t *end;
	uint64_t least; /* max_tables that what was decoded needs; 0: it has room */
} codec;

/* An integer of this size: a varint; zigzag if `sign`. */
static void
code_integer(codec *c, void *member, size_t size, bool sign)
{
	int unused = 64 - 8 * (int) size;
	uint64_t v = 0, kept;

	if (c->out != NULL)
	{
		memcpy(&v, member, size);
		c->out = varint_put(c->out, sign ? zigzag((int64_t) (v << unused) >> unused) : v);
		return;
	}
	if (c->p == NULL || (c->p = varint_get(c->p, c->end, &v)) == NULL)
		return;
	v = sign ? (uint64_t) unzigzag(v) : v;
	kept = sign ? (uint64_t) ((int64_t) (v << unused) >> unused) : v << unused >> unused;
	if (kept != v)
		c->p = NULL;
	memcpy(member, &v, size);
}

#define CODE(c, member)		   code_integer(c, &(member), sizeof(member), false)
#define CODE_SIGNED(c, member) code_integer(c, &(member), sizeof(member), true)

static void
code_name(codec *c, char *name, size_t size)
{
	uint64_t n = c->out != NULL ? strlen(name) : 0;

	CODE(c, n);
	if (c->out != NULL)
	{
		memcpy(c->out, name, n);
		c->out += n;
	}
	else if (c->p == NULL || n >= size || n > (uint64_t) (c->end - c->p))
		c->p = NULL;
	else
	{
		memcpy(name, c->p, n);
		name[n] = 0;
		c->p += n;
	}
}

static void
code_options(codec *c, wide_family_options *o)
{
	uint8_t kinds;

	CODE(c, o->versions);
	CODE(c, o->min_versions);
	CODE_SIGNED(c, o->ttl_us);
	CODE(c, o->block_size);
	CODE(c, o->bloom_prefix);
	CODE(c, o->bloom);
	CODE(c, o->compression);
	CODE_SIGNED(c, o->compression_level);
	CODE(c, o->keep_deleted);
	CODE(c, o->in_memory);
	kinds = (uint8_t) (o->compaction | o->merge << 4);
	CODE(c, kinds);
	o->compaction = kinds & 15;
	o->merge = kinds >> 4;
	CODE_SIGNED(c, o->window_us);
	if (c->p != NULL && family_check_options(o) != WIDE_OK)
		c->p = NULL;
}

/* 0 is no id, and the greatest has no next one. */
static bool
no_id(uint32_t id)
{
	return id - 1 >= UINT32_MAX - 1;
}

static void
code_op(codec *c, catalog_op *op)
{
	CODE(c, op->kind);
	if (op->kind < OP_CREATE_TABLE || op->kind > OP_REPLACE_FAMILY)
	{
		c->p = NULL;
		return;
	}
	CODE(c, *(op->kind >= OP_CREATE_FAMILY ? &op->family : &op->table));
	if (op->kind == OP_CREATE_FAMILY)
		CODE(c, op->table);
	if (op->kind == OP_CREATE_TABLE || op->kind == OP_BIND || op->kind == OP_UNBIND ||
		op->kind == OP_REPLACE_FAMILY)
		CODE(c, op->arg);
	if (op->kind == OP_CREATE_TABLE || op->kind == OP_RENAME_TABLE)
		code_name(c, op->name, WIDE_MAX_NAME + 1);
	if (op->kind == OP_CREATE_FAMILY)
		code_name(c, op->name, WIDE_MAX_FAMILY + 1);
	if (op->kind == OP_CREATE_FAMILY || op->kind == OP_ALTER_FAMILY)
		code_options(c, &op->opt);
	if (op->kind == OP_ALTER_FAMILY)
		CODE_SIGNED(c, op->now);
	if (no_id(op->kind >= OP_CREATE_FAMILY ? op->family : op->table) ||
		(op->kind == OP_CREATE_FAMILY && no_id(op->table)) ||
		(op->kind == OP_REPLACE_FAMILY && no_id(op->arg)))
		c->p = NULL;
}

uint8_t *
catalog_put_op(uint8_t *p, const catalog_op *op)
{
	catalog_op copy = *op;
	codec c = {.out = p};

	code_op(&c, &copy);
	return c.out;
}

/* ----------------------------------------------------------------- arrays */

/* An array of the committed catalog. */
typedef struct array
{
	uint8_t *slots;
	size_t size;			/* bytes of a slot */
	uint32_t *used;			/* slots from here on were never used */
	uint32_t max;			/* slots */
	_Atomic uint32_t *next; /* above all ids */
} array;

static array
array_of(wide_db *db, enum catalog_array which)
{
	segment *g = db->seg;
	catalog_state *c = &g->catalog;

	if (which == CATALOG_TABLES)
		return (array) {LAYOUT_AT(db, g->tables), sizeof(table_slot), &c->ntables,
						g->config.max_tables, &c->next_table};
	if (which == CATALOG_FAMILIES)
		return (array) {LAYOUT_AT(db, g->families), sizeof(family_slot), &c->nfamilies,
						g->max_families, &c->next_family};
	return (array) {LAYOUT_AT(db, g->bindings), sizeof(binding_slot), &c->nbindings,
					g->max_bindings, &c->next_table};
}

/* The id at the beginning of a slot: of its table, family, or table of a binding; 0: it is free. */
static uint32_t
slot_id(const array *a, uint32_t i)
{
	return *(uint32_t *) (a->slots + i * a->size);
}

_Static_assert(offsetof(table_slot, t.id) == 0 && offsetof(family_slot, f.id) == 0 &&
				   offsetof(binding_slot, table) == 0,
			   "slot_id");

uint32_t
catalog_count(wide_db *db, enum catalog_array which)
{
	array a = array_of(db, which);
	uint32_t n = 0;

	for (uint32_t i = 0; i < *a.used; i++)
		n += slot_id(&a, i) != 0;
	return n;
}

/* Returns a slot for a new table, family or binding; NULL if the array is full. */
static void *
slot_new(wide_db *db, enum catalog_array which)
{
	array a = array_of(db, which);
	uint32_t i = 0;

	while (i < *a.used && slot_id(&a, i) != 0)
		i++;
	if (i == a.max)
		return NULL;
	*a.used += i == *a.used;
	return a.slots + i * a.size;
}

/* --------------------------------------------------------------- look-ups */

static uint32_t *
table_bucket(wide_db *db, wide_table_id id)
{
	return layout_bucket(db, db->seg->table_index, db->seg->family_bits, id);
}

table_slot *
catalog_table_slot(wide_db *db, wide_table_id id)
{
	table_slot *t = layout_tables(db);

	for (uint32_t i = id != 0 ? *table_bucket(db, id) : 0; i != 0; i = t[i - 1].hash_next)
		if (t[i - 1].t.id == id)
			return &t[i - 1];
	return NULL;
}

/* Makes catalog_table_slot find a slot by its id, or no longer. */
static void
table_enter(wide_db *db, table_slot *ts)
{
	uint32_t *first = table_bucket(db, ts->t.id);

	ts->hash_next = *first;
	*first = (uint32_t) (ts - layout_tables(db)) + 1;
}

static void
table_leave(wide_db *db, const table_slot *ts)
{
	uint32_t *link = table_bucket(db, ts->t.id), at = (uint32_t) (ts - layout_tables(db)) + 1;

	while (*link != 0 && *link != at)
		link = &layout_tables(db)[*link - 1].hash_next;
	if (*link == at)
		*link = ts->hash_next;
}

bool
catalog_family(wide_db *db, wide_family_id id, wide_family *f, family_floor *floors)
{
	family_slot *fs;

	if (segment_lock(db, LOCK_CATALOG) != WIDE_OK)
		return false;
	fs = family_find(db, id);
	if (fs != NULL)
	{
		*f = fs->f;
		if (floors != NULL)
			memcpy(floors, fs->floors, sizeof fs->floors);
	}
	segment_unlock(db, LOCK_CATALOG);
	return fs != NULL;
}

/* ------------------------------------------------------------------ apply */

/* Raises the counter of ids above one that is in use. */
static void
raise_counter(_Atomic uint32_t *counter, uint32_t used)
{
	uint32_t next = atomic_load(counter);

	while (next <= used && !atomic_compare_exchange_weak(counter, &next, used + 1))
		;
}

/* Drops the family's files and frees the slot.  files_version stays, because private copies of
 * lists compare it even when the slot has been reused. */
static void
family_clear(wide_db *db, family_slot *fs)
{
	file_set_drop_family(db, fs);
	family_leave(db, fs);
	memset(fs, 0, offsetof(family_slot, files));
	fs->job = 0; /* what it compacts is gone */
	memset(fs->cursor_len, 0, sizeof fs->cursor_len);
}

/* Frees the table's slot, and those of its families and bindings. */
static void
table_clear(wide_db *db, table_slot *ts)
{
	catalog_state *c = &db->seg->catalog;
	wide_table_id id = ts->t.id;

	for (family_slot *fs; (fs = family_of_table(db, id, NULL)) != NULL;)
		family_clear(db, fs);
	for (uint32_t i = 0; i < c->nbindings; i++)
		if (layout_bindings(db)[i].table == id)
			memset(&layout_bindings(db)[i], 0, sizeof(binding_slot));
	table_leave(db, ts);
	memset(ts, 0, sizeof *ts);
}

/* Returns true if something that has expired under the old options could be alive under the new. */
static bool
less_expires(const wide_family_options *old, const wide_family_options *new)
{
	return old->ttl_us > 0 &&
		   (new->ttl_us == 0 || new->ttl_us > old->ttl_us || new->min_versions > old->min_versions);
}

/*
 * With the floor, nothing that was invisible under the old options comes back under
 * the new ones.  A smaller number of versions needs a floor as well: the versions that
 * the larger number kept alive were alive until the change, whether a compaction has
 * run or not.
 *
 * There is room, because catalog_delta.c has reserved it, except sometimes in replay:
 * a compaction had made the room, but the manifest does not say so yet.  The floors
 * that the compaction had made void are the oldest ones.
 */
void
catalog_floor(family_floor *floors, const wide_family_options *old, const wide_family_options *new,
			  uint64_t seq, int64_t now)
{
	int n = catalog_floors_used(floors);
	bool expiry = less_expires(old, new) && now > INT64_MIN + old->ttl_us;

	if (!catalog_floor_needed(old, new))
		return;
	if (n == FAMILY_FLOORS)
	{
		n--;
		memmove(&floors[0], &floors[1], (size_t) n * sizeof *floors);
	}
	floors[n] = (family_floor) {.seq = seq - 1,
								.versions = old->versions,
								.min_versions = old->min_versions,
								.keep_deleted = old->keep_deleted != 0,
								.now = now,
								.expired_before = expiry ? now - old->ttl_us : INT64_MIN};
}

bool
catalog_floor_needed(const wide_family_options *old, const wide_family_options *new)
{
	return new->versions != old->versions || less_expires(old, new) ||
		   (new->keep_deleted && !old->keep_deleted);
}

int
catalog_floors_used(const family_floor *floors)
{
	int n = 0;

	while (n < FAMILY_FLOORS && floors[n].seq != 0)
		n++;
	return n;
}

wide_status
catalog_retire(wide_db *db, wide_family_id id, uint64_t settled)
{
	family_slot *fs;
	int n = 0;

	TRY(segment_lock(db, LOCK_SET));
	if (segment_lock(db, LOCK_CATALOG) != WIDE_OK)
	{
		segment_unlock(db, LOCK_SET);
		return segment_check(db);
	}
	fs = family_find(db, id);
	while (fs != NULL && n < FAMILY_FLOORS && fs->floors[n].seq != 0 && fs->floors[n].seq < settled)
		n++;
	if (n > 0)
	{
		memmove(&fs->floors[0], &fs->floors[n],
				(size_t) (FAMILY_FLOORS - n) * sizeof(family_floor));
		memset(&fs->floors[FAMILY_FLOORS - n], 0, (size_t) n * sizeof(family_floor));
		db->seg->set.catalog_dirty = 1;
	}
	segment_unlock(db, LOCK_CATALOG);
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

/* Applies a change to a table or its bindings.  Returns false if there is no room. */
static bool
apply_table(wide_db *db, const catalog_op *op, uint64_t seq)
{
	table_slot *ts = catalog_table_slot(db, op->table);
	binding_slot *b = layout_bindings(db), *found = NULL;
	uint32_t left = 0;

	if (ts != NULL && ts->seq > seq)
		return true; /* replay: the dump has a later change */
	if (op->kind == OP_CREATE_TABLE)
	{
		raise_counter(&db->seg->catalog.next_table, op->table);
		if (ts != NULL)
			table_leave(db, ts);
		else if ((ts = slot_new(db, CATALOG_TABLES)) == NULL)
			return false;
		*ts = (table_slot) {.t.id = op->table, .t.space = op->arg};
		table_enter(db, ts);
	}
	if (ts == NULL)
		return true;
	ts->seq = seq;
	if (op->kind == OP_CREATE_TABLE || op->kind == OP_RENAME_TABLE)
		memcpy(ts->t.name, op->name, sizeof ts->t.name);
	if (op->kind == OP_DROP_TABLE)
		table_clear(db, ts);
	if (op->kind != OP_BIND && op->kind != OP_UNBIND)
		return true;
	for (uint32_t i = 0; i < db->seg->catalog.nbindings; i++)
	{
		if (b[i].table == op->table && b[i].object == op->arg)
			found = &b[i];
		left += b[i].table == op->table;
	}
	if (op->kind == OP_UNBIND)
	{
		if (found != NULL)
			memset(found, 0, sizeof *found);
		if (left == (found != NULL))
			table_clear(db, ts);
		return true;
	}
	if (found == NULL && (found = slot_new(db, CATALOG_BINDINGS)) == NULL)
		return false;
	found->table = op->table;
	found->object = op->arg;
	return true;
}

/* Applies a change to a family.  Returns false if there is no room. */
static bool
apply_family(wide_db *db, const catalog_op *op, uint64_t seq)
{
	family_slot *fs = family_find(db, op->family);
	wide_family f;
	bool new;

	if (fs != NULL && fs->seq > seq)
		return true;
	if (op->kind == OP_CREATE_FAMILY)
	{
		raise_counter(&db->seg->catalog.next_family, op->family);
		if (catalog_table_slot(db, op->table) == NULL)
			return true;
		new = fs == NULL;
		if (new && (fs = slot_new(db, CATALOG_FAMILIES)) == NULL)
			return false;
		fs->f = (wide_family) {.id = op->family, .table = op->table, .opt = op->opt};
		memcpy(fs->f.name, op->name, sizeof fs->f.name);
		if (new)
			family_enter(db, fs);
	}
	if (op->kind == OP_REPLACE_FAMILY)
		raise_counter(&db->seg->catalog.next_family, op->arg);
	if (fs == NULL)
		return true;
	if (op->kind == OP_ALTER_FAMILY)
	{
		/* catalog_delta_encode has left one change of options per family and batch.  A family that
		 * the same batch has made has no older entries */
		if (fs->seq != seq)
			catalog_floor(fs->floors, &fs->f.opt, &op->opt, seq, op->now);
		fs->f.opt = op->opt;
	}
	if (op->kind == OP_DROP_FAMILY || op->kind == OP_REPLACE_FAMILY)
	{
		f = fs->f;
		family_clear(db, fs);
		/* replay: the dump has the new one, and an earlier change has made the old one again */
		if (op->kind == OP_DROP_FAMILY || family_find(db, (wide_family_id) op->arg) != NULL)
			return true;
		f.id = op->arg;
		fs->f = f;
		family_enter(db, fs);
	}
	fs->seq = seq;
	return true;
}

wide_status
catalog_apply(wide_db *db, wide_bytes encoded, uint64_t seq, bool early)
{
	catalog_state *c = &db->seg->catalog;
	codec r = {.p = encoded.data, .end = encoded.data + encoded.len};
	const char *bad = NULL;
	uint64_t *newest = early ? &c->early_seq : &c->seq;

	if (encoded.len == 0 || (seq <= c->restored_seq && !early) ||
		segment_lock(db, LOCK_SET) != WIDE_OK)
		return segment_check(db);
	if (segment_lock(db, LOCK_CATALOG) == WIDE_OK)
	{
		while (bad == NULL && r.p < r.end)
		{
			catalog_op op = {0};

			code_op(&r, &op);
			if (r.p == NULL)
				bad = "a committed change of the catalog cannot be decoded";
			else if (!(op.kind >= OP_CREATE_FAMILY ? apply_family : apply_table)(db, &op, seq))
				bad = "there is no room for a committed change of the catalog";
		}
		if (seq > *newest && (bad == NULL || early))
			*newest = seq;
		atomic_fetch_add(&c->generation, 1);
		segment_unlock(db, LOCK_CATALOG);
	}
	db->seg->set.catalog_dirty = 1;
	segment_unlock(db, LOCK_SET);
	if (bad != NULL && atomic_load(&db->seg->state) == WIDE_RUNNING)
		wide_poison(db, bad);
	return bad == NULL ? segment_check(db) : status_fail(WIDE_FULL, "%s (max_tables)", bad);
}

bool
catalog_check(wide_bytes encoded)
{
	codec r = {.p = encoded.data, .end = encoded.data + encoded.len};

	while (r.p != NULL && r.p < r.end)
	{
		catalog_op op = {0};

		code_op(&r, &op);
	}
	return r.p != NULL || encoded.len == 0;
}

/* ------------------------------------------------------------------- dump */

static void
code_table(codec *c, table_slot *t)
{
	CODE(c, t->t.id);
	CODE(c, t->t.space);
	CODE(c, t->seq);
	code_name(c, t->t.name, sizeof t->t.name);
}

static void
code_family(codec *c, family_slot *f)
{
	CODE(c, f->f.id);
	CODE(c, f->f.table);
	CODE(c, f->seq);
	code_name(c, f->f.name, sizeof f->f.name);
	code_options(c, &f->f.opt);
	for (family_floor *o = f->floors; o < f->floors + FAMILY_FLOORS; o++)
	{
		uint8_t keep_deleted = o->keep_deleted;

		CODE(c, o->seq);
		CODE(c, o->versions);
		CODE(c, o->min_versions);
		CODE_SIGNED(c, o->expired_before);
		CODE_SIGNED(c, o->now);
		CODE(c, keep_deleted);
		if (c->out == NULL)
			o->keep_deleted = keep_deleted != 0;
	}
}

static void
code_array(codec *c, wide_db *db, enum catalog_array which)
{
	array a = array_of(db, which);
	uint64_t n = catalog_count(db, which);

	CODE(c, n);
	/* more than there can be is damage, not the size of a larger table */
	if (c->out == NULL && c->p != NULL &&
		n > (uint64_t) (c->end - c->p) / (which == CATALOG_FAMILIES ? 6 * FAMILY_FLOORS : 2))
		c->p = NULL;
	else if (n > a.max)
	{
		c->p = NULL;
		c->least = (n * db->seg->config.max_tables + a.max - 1) / a.max;
	}
	for (uint32_t i = 0; c->out != NULL ? i < *a.used : c->p != NULL && i < n; i++)
	{
		void *slot = a.slots + i * a.size;

		if (c->out != NULL && slot_id(&a, i) == 0)
			continue;
		if (which == CATALOG_TABLES)
		{
			code_table(c, slot);
			if (c->out == NULL && slot_id(&a, i) != 0)
				table_enter(db, slot);
		}
		else if (which == CATALOG_FAMILIES)
		{
			code_family(c, slot);
			if (c->out == NULL && slot_id(&a, i) != 0)
				family_enter(db, slot);
		}
		else
		{
			CODE(c, ((binding_slot *) slot)->table);
			CODE(c, ((binding_slot *) slot)->object);
		}
		if (c->out == NULL && (slot_id(&a, i) == 0 || slot_id(&a, i) >= atomic_load(a.next)))
			c->p = NULL;
		*a.used += c->out == NULL;
	}
}

/* A dump without its format. */
static void
code_catalog(codec *c, wide_db *db)
{
	catalog_state *s = &db->seg->catalog;
	uint32_t next_table = atomic_load(&s->next_table), next_family = atomic_load(&s->next_family);

	CODE(c, s->seq);
	CODE(c, next_table);
	CODE(c, next_family);
	c->p = next_table == 0 || next_family == 0 ? NULL : c->p;
	/* not when it encodes: a transaction may have taken an id meanwhile */
	if (c->out == NULL)
	{
		atomic_store(&s->next_table, next_table);
		atomic_store(&s->next_family, next_family);
	}
	for (int which = 0; which < CATALOG_ARRAYS; which++)
		code_array(c, db, which);
}

wide_status
catalog_dump(wide_db *db, buffer *out)
{
	catalog_state *s = &db->seg->catalog;
	uint32_t format = DUMP_FORMAT;
	codec c = {0};

	/* the catalog may grow while no lock is held: the need is computed again under the lock */
	while (c.out == NULL)
	{
		size_t need;

		TRY(segment_lock(db, LOCK_CATALOG));
		need = (size_t) s->ntables * TABLE_MAX + (size_t) s->nfamilies * FAMILY_MAX +
			   (size_t) s->nbindings * 2 * VARINT_MAX + 8 * VARINT_MAX;
		if (need <= out->cap - out->len)
			c.out = out->data + out->len;
		else
		{
			segment_unlock(db, LOCK_CATALOG);
			TRY(buffer_reserve(out, need + 16 * FAMILY_MAX));
		}
	}
	CODE(&c, format);
	code_catalog(&c, db);
	out->len = (size_t) (c.out - out->data);
	segment_unlock(db, LOCK_CATALOG);
	return WIDE_OK;
}

wide_status
catalog_restore(wide_db *db, wide_bytes dump)
{
	catalog_state *c = &db->seg->catalog;
	codec r = {.p = dump.data, .end = dump.data + dump.len};
	uint32_t format = 0;

	for (int which = 0; which < CATALOG_ARRAYS; which++)
	{
		array a = array_of(db, which);

		memset(a.slots, 0, a.max * a.size);
		*a.used = 0;
	}
	memset(LAYOUT_AT(db, db->seg->family_index), 0, sizeof(uint32_t) << db->seg->family_bits);
	memset(LAYOUT_AT(db, db->seg->table_index), 0, sizeof(uint32_t) << db->seg->family_bits);
	memset(LAYOUT_AT(db, db->seg->families_of_table), 0, sizeof(uint32_t) << db->seg->family_bits);
	memset(c->pending, 0, sizeof c->pending);
	c->seq = c->restored_seq = c->early_seq = 0;
	atomic_store(&c->next_table, 1);
	atomic_store(&c->next_family, 1);
	atomic_fetch_add(&c->generation, 1);
	if (dump.len == 0)
		return WIDE_OK;
	CODE(&r, format);
	if (r.p != NULL && format != DUMP_FORMAT)
		return status_fail(
			WIDE_CORRUPT,
			"the store's catalog has format %u, this version of widetable reads format %d only",
			format, DUMP_FORMAT);
	code_catalog(&r, db);
	c->restored_seq = c->seq;
	if (r.least > 0)
		return status_fail(WIDE_FULL,
						   "the store has more tables or families than max_tables %u allows: it "
						   "needs at least %llu",
						   db->seg->config.max_tables, (unsigned long long) r.least);
	if (r.p == NULL || r.p != r.end)
		return status_fail(WIDE_CORRUPT, "the manifest's catalog is damaged");
	return WIDE_OK;
}

/* Copies the first bytes of the next slot that is in use; WIDE_END after the last one. */
static wide_status
slot_next(wide_db *db, enum catalog_array which, uint32_t *cursor, void *out, size_t bytes)
{
	array a = array_of(db, which);
	wide_status st = WIDE_END;

	TRY(segment_lock(db, LOCK_CATALOG));
	for (; st == WIDE_END && *cursor < *a.used; ++*cursor)
		if (slot_id(&a, *cursor) != 0)
		{
			memcpy(out, a.slots + *cursor * a.size, bytes);
			st = WIDE_OK;
		}
	segment_unlock(db, LOCK_CATALOG);
	return st;
}

wide_status
catalog_family_next(wide_db *db, uint32_t *cursor, wide_family_id *id)
{
	return slot_next(db, CATALOG_FAMILIES, cursor, id, sizeof *id);
}

wide_status
catalog_table_next(wide_db *db, uint32_t *cursor, wide_table *out)
{
	return slot_next(db, CATALOG_TABLES, cursor, out, sizeof *out);
}

wide_status
wide_binding_next(wide_db *db, uint32_t *cursor, wide_table_id *table, uint32_t *object)
{
	binding_slot b;

	TRY(slot_next(db, CATALOG_BINDINGS, cursor, &b, sizeof b));
	*table = b.table;
	*object = b.object;
	return WIDE_OK;
}

uint64_t
wide_catalog_generation(wide_db *db)
{
	return atomic_load(&db->seg->catalog.generation);
}
