/*
 * scan_row.c - the cells of a row: which entries of a family are shown, and how long their bytes
 * live.
 *
 * Values point into memtables, the transaction's batch, or cached blocks.  When a cursor leaves a
 * block in which the current row has values, the scan takes over its pin until the next call, for
 * up to SCAN_PINS blocks; beyond that the values are copied.  Qualifiers are decoded into an arena
 * that lives as long.
 *
 * What is not wanted or not visible is passed over step by step at first, then by a seek.  So a
 * column with many versions, or a row with many columns of which few are wanted, costs a few steps
 * and a seek for each part.
 *
 * Predicates get to know each of their columns on the way: its newest visible version, or that
 * there is none as soon as the scan is behind the column.  The wanted cells of the row are
 * collected meanwhile.  If they become too many before it is known whether the row passes, only
 * columns with predicates are looked for (ROW_TESTING), and a row that passes is read again.
 *
 * In a family with a merge operator a column is read to its end before a version of it is shown:
 * its operands are folded, and the values that come of that live in the arena.
 *
 * Locking: none; the scan's pin protects what is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan_row.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"
#include "engine/set/catalog.h"
#include "engine/read/fold.h"
#include "engine/read/merge.h"
#include "engine/read/visibility.h"
#include "engine/batch/op.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_state.h"

/* The first chunk is enough for most gets; with its head it is below 1 KB, as SCAN_CELLS_FIRST. */
#define ARENA_FIRST ((size_t) 960)
#define ARENA_CHUNK ((size_t) 16 * 1024)

/* ------------------------------------------------------------------ memory */

void *
scan_row_arena(scan_state *s, size_t n)
{
	chunk *c = s->out.arena;

	if (c == NULL || c->size - c->used < n)
	{
		size_t least = c == NULL ? ARENA_FIRST : ARENA_CHUNK, size = n > least ? n : least;

		c = malloc(sizeof(*c) + size);
		if (c == NULL)
			return NULL;
		c->size = size;
		c->used = 0;
		c->next = s->out.arena;
		s->out.arena = c;
	}
	c->used += n;
	return c->data + c->used - n;
}

static void
arena_reset(scan_state *s)
{
	while (s->out.arena != NULL && s->out.arena->next != NULL)
	{
		chunk *c = s->out.arena;

		s->out.arena = c->next;
		free(c);
	}
	if (s->out.arena != NULL)
		s->out.arena->used = 0;
	/* a part of the arena */
	s->block.memory.left = 0;
}

void
scan_row_keep_block(void *arg, block_ref *ref)
{
	scan_state *s = arg;

	if (s->out.npinned < SCAN_PINS)
	{
		s->out.pinned[s->out.npinned++] = *ref;
		memset(ref, 0, sizeof(*ref));
		return;
	}
	for (int i = s->out.n - 1; i >= 0; i--)
	{
		wide_bytes *v = &s->out.cells[i].value;
		void *p;

		if (v->len == 0 || v->data < ref->data || v->data >= ref->data + ref->len)
			continue;
		p = scan_row_arena(s, v->len);
		if (p == NULL)
		{
			s->failed = status_fail(WIDE_NOMEM, "out of memory for a row");
			v->len = 0;
			continue;
		}
		memcpy(p, v->data, v->len);
		v->data = p;
	}
	cache_unpin(s->db, ref);
}

void
scan_row_release(scan_state *s)
{
	for (int i = 0; i < s->out.npinned; i++)
		cache_unpin(s->db, &s->out.pinned[i]);
	s->out.npinned = 0;
	for (int i = 0; i < s->nfamilies && s->out.n > 0; i++)
		if (s->families[i].m != NULL)
			merge_unused(s->families[i].m);
	s->out.n = 0;
	arena_reset(s);
	s->out.call++;
}

wide_status
scan_row_reserve(scan_state *s, uint32_t n)
{
	uint32_t cap = n > SCAN_CELLS_FIRST ? n : SCAN_CELLS_FIRST;
	wide_cell *cells;

	if (n <= s->out.cap && s->out.cells != NULL)
		return WIDE_OK;
	cells = realloc(s->out.cells, cap * sizeof(*cells));
	if (cells == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a row");
	s->out.cells = cells;
	s->out.cap = cap;
	return WIDE_OK;
}

/* ------------------------------------------------------ a family in a row */

/* Adds a cell to what is handed out. */
static wide_status
add_cell(scan_state *s, scan_family *f, const entry *e)
{
	wide_cell *c;

	if ((uint32_t) s->out.n == s->out.cap)
		TRY(scan_row_reserve(s, 2 * s->out.cap));
	c = &s->out.cells[s->out.n];
	c->family = (int) (f - s->families);
	c->column = -1;
	c->version = f->view.out - 1;
	c->ts = e->ts;
	c->ttl_us = e->ttl_us;
	c->seq = entry_shown_seq(e->seq);
	c->provisional = e->seq >= SEQ_BATCH && op_is_auto(e->seq);
	c->floor_ts = c->provisional ? op_floor_passed(e) : e->ts;
	c->value = (wide_bytes) {e->value, e->vlen};
	c->qualifier = (wide_bytes) {NULL, 0};
	if (f->want == WIDE_WANT_COLUMNS)
		c->column = f->columns.list[f->row.at].want;
	else
	{
		if (f->row.qual_call != s->out.call)
		{
			uint32_t n = e->klen - e->rowlen;
			uint8_t *p = scan_row_arena(s, 2 * (size_t) n);
			buffer b = {p, n, 2 * (size_t) n};

			if (p == NULL)
				return status_fail(WIDE_NOMEM, "out of memory for a row");
			/* the cursor's key changes; the copy stays, and has room for the decoded form */
			memcpy(p, e->ukey + e->rowlen, n);
			TRY(key_decode_part(p, n, &b, &f->row.qual));
			f->row.qual_call = s->out.call;
		}
		c->qualifier = f->row.qual;
	}
	s->out.n++;
	s->row.shown++;
	s->stats.cells_returned++;
	return WIDE_OK;
}

static wide_status
emit_cell(scan_state *s, scan_family *f, const entry *e)
{
	TRY(add_cell(s, f, e));
	merge_used(f->m);
	return WIDE_OK;
}

wide_status
scan_row_move(scan_family *f, const uint8_t *ukey, uint32_t klen, int64_t ts)
{
	if (f->row.steps++ < SCAN_STEPS)
		return merge_next(f->m);
	f->row.steps = 0;
	return merge_skip(f->m, ukey, klen, ts, ts == INT64_MIN ? 0 : SEQ_MAX);
}

/* A predicate is not met: nothing more of the row is needed. */
static void
reject(scan_state *s, scan_family *f)
{
	s->row.verdict = ROW_REJECTED;
	f->row.state = FAMILY_DONE;
}

/* Reports the columns before `to` that have not been reported: they are absent. */
static void
report_absent(scan_state *s, scan_family *f, int to)
{
	for (; f->row.tested < to; f->row.tested++)
		if (f->columns.list[f->row.tested].test != NULL)
		{
			s->row.untested--;
			if (!predicate_test(&s->pred, f->columns.list[f->row.tested].test, NULL, 0))
			{
				reject(s, f);
				return;
			}
		}
}

/* Reports the newest visible version of the current column. */
static void
report_value(scan_state *s, scan_family *f, const entry *e)
{
	wide_bytes value = {e->value, e->vlen};
	const predicate_column *test = f->row.test;

	f->row.test = NULL;
	f->row.tested = f->row.at + 1;
	s->row.untested--;
	if (!predicate_test(&s->pred, test, &value, e->ts))
		reject(s, f);
}

/* Returns true if there still is a reason to look for columns.list[i]. */
static inline bool
column_needed(const scan_state *s, const scan_family *f, int i)
{
	return (f->want == WIDE_WANT_COLUMNS && f->columns.list[i].want >= 0 &&
			s->row.phase == ROW_READING && s->row.shown < s->row_limit) ||
		   (f->columns.list[i].test != NULL && i >= f->row.tested);
}

/*
 * WANT_RANGE: returns true if the column lies in the range.  If it lies before the range, *next is
 * lowered to the beginning of the range, and *more is set.
 */
static bool
in_range(const scan_family *f, wide_bytes part, bool *more, wide_bytes *next)
{
	const uint8_t *lo = f->columns.encoded.data;

	if (f->columns.hi_len > 0 &&
		ukey_compare(part.data, part.len, lo + f->columns.lo_len, f->columns.hi_len) >= 0)
		return false;
	if (ukey_compare(part.data, part.len, lo, f->columns.lo_len) >= 0)
		return true;
	if (!*more || ukey_compare(lo, f->columns.lo_len, next->data, next->len) < 0)
		*next = (wide_bytes) {lo, f->columns.lo_len};
	*more = true;
	return false;
}

/*
 * The entry begins a column: *wanted says whether it is to be shown or to be tested.  If not, the
 * merge moves on to the next column that is, or the family is done with the row.
 */
static wide_status
column_wanted(scan_state *s, scan_family *f, const entry *e, bool *wanted)
{
	wide_bytes part = {e->ukey + e->rowlen, e->klen - e->rowlen}, next = {NULL, 0};
	bool here = false, more = false;

	*wanted = false;
	f->row.test = NULL;
	for (; f->row.at < f->columns.n; f->row.at++)
	{
		const scan_column *col = &f->columns.list[f->row.at];
		int c = ukey_compare(f->columns.encoded.data + col->at, col->len, part.data, part.len);

		here = c == 0 && column_needed(s, f, f->row.at);
		more = c > 0;
		if (here || more)
		{
			next = (wide_bytes) {f->columns.encoded.data + col->at, col->len};
			break;
		}
	}
	report_absent(s, f, f->row.at);
	if (s->row.verdict == ROW_REJECTED)
		return WIDE_OK;
	if (f->want == WIDE_WANT_COLUMNS)
		f->row.show = here && f->columns.list[f->row.at].want >= 0;
	else
		f->row.show = f->want == WIDE_WANT_ALL || in_range(f, part, &more, &next);
	f->row.show = f->row.show && s->row.phase == ROW_READING && s->row.shown < s->row_limit;
	if (here && f->row.at >= f->row.tested)
		f->row.test = f->columns.list[f->row.at].test;
	*wanted = f->row.show || f->row.test != NULL;
	f->row.passed_over = f->row.passed_over || !*wanted;
	if (*wanted)
		return WIDE_OK;
	if (!more)
	{
		f->row.state = FAMILY_DONE;
		return WIDE_OK;
	}
	TRY(buffer_set(&f->target, s->row.key.data, s->row.key.len));
	TRY(buffer_append(&f->target, next.data, next.len));
	return scan_row_move(f, f->target.data, (uint32_t) f->target.len, INT64_MAX);
}

/* Moves behind the current column, the rest of which is not shown. */
static wide_status
skip_column(scan_state *s, scan_family *f)
{
	const entry *e;

	f->row.state = FAMILY_BETWEEN;
	f->row.steps = 0;
	TRY(merge_next(f->m));
	while ((e = merge_entry(f->m)) != NULL && e->klen == f->row.ukey.len &&
		   memcmp(e->ukey, f->row.ukey.data, e->klen) == 0)
	{
		s->stats.cells_scanned++;
		TRY(scan_row_move(f, f->row.ukey.data, (uint32_t) f->row.ukey.len, INT64_MIN));
	}
	f->row.steps = 0;
	return WIDE_OK;
}

/*
 * A version is visible: tests it, and decides whether it is shown (row.show).  The row may be
 * rejected then, or nothing more of the family be needed (FAMILY_DONE).  *full: it is to be shown,
 * but there is no room.
 */
static void
version_seen(scan_state *s, scan_family *f, const entry *e, bool *full)
{
	uint32_t room = s->row.untested > 0 && s->row_cells > SCAN_TEST_CELLS ? SCAN_TEST_CELLS
																		  : s->row_cells;

	if (f->row.test != NULL)
	{
		report_value(s, f, e);
		if (s->row.verdict == ROW_REJECTED)
			return;
	}
	s->row.verdict = ROW_EXISTS;
	if (f->want == WIDE_WANT_EXISTS)
	{
		f->row.state = FAMILY_DONE;
		return;
	}
	f->row.show = f->row.show && s->row.shown < s->row_limit;
	if (!f->row.show || (uint32_t) s->out.n < room)
		return;
	if (s->row.untested == 0 && s->row.phase == ROW_READING)
	{
		*full = true;
		return;
	}
	s->row.phase = ROW_TESTING;
	f->row.show = false;
}

/* A visible version; last: nothing more of its column is visible.  *full: as scan_row_family. */
static wide_status
visible_cell(scan_state *s, scan_family *f, const entry *e, bool last, bool *full)
{
	version_seen(s, f, e, full);
	if (f->row.state == FAMILY_DONE)
		return WIDE_OK;
	if (*full)
	{
		f->row.state = last ? FAMILY_HELD_LAST : FAMILY_HELD;
		return WIDE_OK;
	}
	if (!f->row.show)
		return skip_column(s, f);
	TRY(emit_cell(s, f, e));
	if (s->row.shown >= s->row_limit && s->row.untested == 0)
	{
		f->row.state = FAMILY_DONE;
		return WIDE_OK;
	}
	if (!last)
		return merge_next(f->m);
	/* nothing that follows in the row is wanted: the merge stays here */
	if (f->want != WIDE_WANT_COLUMNS || f->row.at + 1 < f->columns.n)
		return skip_column(s, f);
	f->row.state = FAMILY_DONE;
	return WIDE_OK;
}

/* The entry is hidden.  If it is newer than what is shown, the versions behind it that are too are
 * passed over as a whole. */
static wide_status
hidden_cell(scan_state *s, scan_family *f, const entry *e)
{
	uint64_t seqs[SCAN_VERSIONS];
	int64_t since;
	int n = 0;

	if (++f->row.hidden > SCAN_HIDDEN && (n = visibility_newer(&f->view, e, &since)) > 0)
	{
		TRY(merge_pass_versions(f->m, since, seqs, n < SCAN_VERSIONS ? n : SCAN_VERSIONS, &n));
		s->stats.cells_scanned += (uint64_t) n;
		if (n > 0)
			TRY(visibility_pass(&f->view, seqs, n, merge_entry(f->m)));
	}
	return merge_next(f->m);
}

/* ------------------------------------------- with a merge operator */

/* Adds an automatic operand of the reader's batch: all of them will have one timestamp, that of the
 * commit, as in norm_operand. */
static wide_status
own_operand(fold_version *own, uint8_t kind, const entry *e)
{
	own->ts = own->provisional && own->ts > e->ts ? own->ts : e->ts;
	own->seq = own->provisional && own->seq > e->seq ? own->seq : e->seq;
	own->floor_ts = own->provisional && own->floor_ts > op_floor_passed(e) ? own->floor_ts
																		   : op_floor_passed(e);
	own->provisional = true;
	return kind == WIDE_MERGE_APPEND ? WIDE_OK : fold_take(kind, &own->value, e->value, e->vlen);
}

/* Appends the beginning of the bytes to text: as they are if they are printable, else in hex. */
static void
describe(char *text, size_t size, wide_bytes b)
{
	size_t n = b.len < 64 ? b.len : 64, at = 0;
	bool plain = true;

	for (size_t i = 0; i < n; i++)
		plain = plain && b.data[i] >= ' ' && b.data[i] <= '~' && b.data[i] != '\\';
	if (!plain)
		at += (size_t) snprintf(text, size, "\\x");
	for (size_t i = 0; i < n && at + 3 < size; i++)
		at += (size_t) snprintf(text + at, size - at, plain ? "%c" : "%02x", b.data[i]);
	text[at] = 0;
}

/* The operands of the current column come to more than a value can have. */
static wide_status
value_too_long(const scan_state *s, const scan_family *f)
{
	family_floor floors[FAMILY_FLOORS];
	wide_family family = {.name = "?"};
	wide_table table = {.name = "?"};
	wide_bytes row = {NULL, 0}, qual = {NULL, 0};
	uint32_t rowlen = (uint32_t) s->row.key.len;
	buffer b = {0};
	char rowtext[160], qualtext[160];

	if (catalog_family(s->db, f->id, &family, floors))
		(void) wide_table_by_id(s->db, s->batch, family.table, &table);
	/* both are in one buffer, which must not move */
	TRY(buffer_reserve(&b, 2 * f->row.ukey.len));
	(void) key_decode_part(f->row.ukey.data, rowlen, &b, &row);
	(void) key_decode_part(f->row.ukey.data + rowlen, f->row.ukey.len - rowlen, &b, &qual);
	describe(rowtext, sizeof rowtext, row);
	describe(qualtext, sizeof qualtext, qual);
	buffer_free(&b);
	return status_fail(
		WIDE_LIMIT,
		"what was appended to column \"%s:%s\" in row \"%s\" of table \"%s\" has more "
		"than %zu bytes",
		family.name, qualtext, rowtext, table.name, append_most);
}

/* An operand with WIDE_MERGE_APPEND.  Those beyond what a value can have are left out. */
static wide_status
append_operand(scan_family *f, const entry *e, fold_version *own)
{
	entry part = *e;
	bool automatic = e->seq >= SEQ_BATCH && op_is_auto(e->seq);

	if (automatic)
		TRY(own_operand(own, WIDE_MERGE_APPEND, e));
	if (f->row.appended.bytes.len > append_most)
		return WIDE_OK;
	/* the value does not matter */
	if (f->want == WIDE_WANT_EXISTS)
		part.vlen = 0;
	return append_add(&f->row.appended, &part,
					  e->seq < SEQ_BATCH || automatic ? e->seq : SEQ_BATCH);
}

static wide_status
append_versions(scan_state *s, scan_family *f, const fold_version *own)
{
	/* with a TTL each operand expires by itself */
	bool apart = s->operands && f->view.opt.ttl_us > 0;
	wide_status st = fold_append(&f->row.folded, &f->row.appended, apart, own);

	return st == WIDE_LIMIT ? value_too_long(s, f) : st;
}

/* Reads the current column, whose first entry is the current one: its operands become versions. */
static wide_status
fold_column_read(scan_state *s, scan_family *f)
{
	fold_column *c = &f->row.folded;
	uint8_t kind = f->view.opt.merge;
	/* each operand expires by itself */
	int32_t most = f->view.opt.ttl_us > 0 || s->operands ? INT32_MAX : f->view.opt.versions;
	fold_version own = {.floor_ts = INT64_MIN};
	const entry *e;

	c->n = 0;
	f->row.version = 0;
	if (kind == WIDE_MERGE_APPEND)
		append_clear(&f->row.appended);
	if (kind == WIDE_MERGE_HLL)
	{
		/* one version, in any case */
		most = 1;
		if (c->registers == NULL &&
			(c->registers = malloc((size_t) 2 * WIDE_HLL_REGISTERS + FOLD_MOST)) == NULL)
			return status_fail(WIDE_NOMEM, "out of memory for a row");
		own.value.registers = c->registers + WIDE_HLL_REGISTERS;
	}
	while ((e = merge_entry(f->m)) != NULL && e->klen == f->row.ukey.len &&
		   memcmp(e->ukey, f->row.ukey.data, e->klen) == 0)
	{
		bool counts;

		s->stats.cells_scanned++;
		s->stats.tombstones += e->type != ENTRY_PUT;
		TRY(visibility_operand(&f->view, e, &counts));
		if (counts && kind == WIDE_MERGE_APPEND)
			TRY(append_operand(f, e, &own));
		else if (counts && e->seq >= SEQ_BATCH && op_is_auto(e->seq))
			TRY(own_operand(&own, kind, e));
		else if (counts)
			TRY(fold_add(c, kind, most, e));
		TRY(merge_next(f->m));
	}
	if (kind == WIDE_MERGE_APPEND)
		return append_versions(s, f, &own);
	if (own.provisional)
		TRY(fold_add_own(c, kind, most, &own));
	if (s->operands)
		return WIDE_OK;
	fold_sum_up(c, kind);
	if (c->n > f->view.opt.versions)
		c->n = f->view.opt.versions;
	return WIDE_OK;
}

/* The version as an entry, whose value lives until the next one. */
static void
folded_entry(const scan_state *s, scan_family *f, const fold_version *v, entry *e)
{
	uint8_t *value = f->row.folded.registers != NULL
						 ? f->row.folded.registers + 2 * WIDE_HLL_REGISTERS
						 : f->row.folded_bytes;

	*e = (entry) {.ukey = f->row.ukey.data,
				  .klen = (uint32_t) f->row.ukey.len,
				  .rowlen = (uint32_t) s->row.key.len,
				  .ts = v->ts,
				  .seq = v->seq,
				  .type = ENTRY_PUT,
				  .value = value};
	if (f->view.opt.merge == WIDE_MERGE_APPEND)
	{
		e->value = v->value.text;
		e->vlen = (uint32_t) v->value.number;
	}
	else
		e->vlen = fold_write(f->view.opt.merge, &v->value, value);
	/* the value has no floor before it */
	if (e->seq >= SEQ_BATCH)
		e->seq &= ~(uint64_t) OP_FLOOR;
}

/* Shows a version: see emit_cell. */
static wide_status
emit_folded(scan_state *s, scan_family *f, const fold_version *v, entry *e)
{
	uint8_t *value = scan_row_arena(s, e->vlen);
	wide_cell *c;

	if (value == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a row");
	if (e->vlen > 0)
		memcpy(value, e->value, e->vlen);
	e->value = value;
	TRY(add_cell(s, f, e));
	c = &s->out.cells[s->out.n - 1];
	c->provisional = v->provisional;
	c->floor_ts = v->floor_ts;
	return WIDE_OK;
}

/* Goes on with the versions of the column, behind which the merge stands.  *full: as
 * scan_row_family. */
static wide_status
folded_cells(scan_state *s, scan_family *f, bool *full)
{
	fold_column *c = &f->row.folded;
	bool held = f->row.state == FAMILY_FOLDED;

	for (; f->row.version < c->n; f->row.version++, held = false)
	{
		const fold_version *v = &c->v[f->row.version];
		entry e;

		if (!held)
		{
			visibility_verdict verdict = visibility_version(&f->view, v->ts);

			if (verdict == VISIBILITY_HIDE)
				continue;
			if (verdict == VISIBILITY_DONE)
				break;
			f->row.last = verdict == VISIBILITY_LAST;
		}
		folded_entry(s, f, v, &e);
		if (!held)
			version_seen(s, f, &e, full);
		if (f->row.state == FAMILY_DONE)
			return WIDE_OK;
		f->row.state = *full ? FAMILY_FOLDED : FAMILY_BETWEEN;
		if (*full)
			return WIDE_OK;
		if (!f->row.show)
			break;
		TRY(emit_folded(s, f, v, &e));
		if (s->row.shown >= s->row_limit && s->row.untested == 0)
			f->row.state = FAMILY_DONE;
		if (f->row.last || f->row.state == FAMILY_DONE)
			break;
	}
	if (f->row.state != FAMILY_DONE)
		f->row.state = FAMILY_BETWEEN;
	f->row.steps = 0;
	return WIDE_OK;
}

/* One entry of the row.  *full: as scan_row_family. */
static wide_status
family_entry(scan_state *s, scan_family *f, const entry *e, bool *full)
{
	visibility_verdict verdict;

	if (entry_is_family_delete(e))
	{
		s->stats.tombstones++;
		TRY(visibility_add_delete(&f->view, e));
		return merge_next(f->m);
	}
	if (f->row.state != FAMILY_IN_COLUMN || e->klen != f->row.ukey.len ||
		memcmp(e->ukey, f->row.ukey.data, e->klen) != 0)
	{
		bool wanted = true;

		f->row.state = FAMILY_BETWEEN;
		if (f->want != WIDE_WANT_EXISTS && (f->want != WIDE_WANT_ALL || f->columns.n > 0))
			TRY(column_wanted(s, f, e, &wanted));
		if (!wanted)
			return WIDE_OK;
		f->row.state = FAMILY_IN_COLUMN;
		f->row.steps = f->row.hidden = 0;
		f->row.qual_call = 0;
		TRY(buffer_set(&f->row.ukey, e->ukey, e->klen));
		visibility_column(&f->view);
		if (f->view.opt.merge != WIDE_MERGE_NONE)
		{
			TRY(fold_column_read(s, f));
			return folded_cells(s, f, full);
		}
	}
	if (e->type != ENTRY_PUT)
		s->stats.tombstones++;
	TRY(visibility_cell(&f->view, e, &verdict));
	if (verdict == VISIBILITY_SHOW || verdict == VISIBILITY_LAST)
		return visible_cell(s, f, e, verdict == VISIBILITY_LAST, full);
	if (verdict == VISIBILITY_DONE)
		return skip_column(s, f);
	return hidden_cell(s, f, e);
}

wide_status
scan_row_family(scan_state *s, scan_family *f, bool *full)
{
	if (f->row.state == FAMILY_FOLDED)
	{
		f->row.qual_call = 0;
		TRY(folded_cells(s, f, full));
		if (*full)
			return WIDE_OK;
	}
	if (f->row.state == FAMILY_HELD || f->row.state == FAMILY_HELD_LAST)
	{
		bool last = f->row.state == FAMILY_HELD_LAST;

		f->row.state = FAMILY_IN_COLUMN;
		f->row.qual_call = 0;
		TRY(emit_cell(s, f, merge_entry(f->m)));
		if (s->row.shown >= s->row_limit)
			f->row.state = FAMILY_DONE;
		else
			TRY(last ? skip_column(s, f) : merge_next(f->m));
	}
	while (f->row.state != FAMILY_DONE)
	{
		const entry *e = merge_entry(f->m);

		if (!scan_row_has(s, e))
			f->row.state = FAMILY_DONE;
		else
		{
			s->stats.cells_scanned++;
			TRY(family_entry(s, f, e, full));
			if (*full)
				return WIDE_OK;
		}
	}
	if (s->row.verdict != ROW_REJECTED)
		report_absent(s, f, f->columns.n);
	return WIDE_OK;
}
