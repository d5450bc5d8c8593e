/*
 * scan_open.c - what a scan looks for in each family: columns that are wanted or tested in one
 * list, the family's options, and which families lead (scan.c).
 *
 * Conditions on time.  Suppose that rows pass only if the newest visible version of a column has a
 * timestamp of at least x.  Then an entry of the spec that is about this column alone need not read
 * sources that are wholly older (source_limits.by_time).  If that version is at least x, it is
 * found as ever, since nothing older has an effect on it.  If it is older, another older version or
 * none may be found in its place, and the row is out all the same.  The row exists by that cell.
 * Everything else that is wanted of the row may be older, and is for other entries of the spec.
 *
 * Locking: none.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/scan/scan_open.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/pool.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/set/catalog.h"
#include "engine/set/catalog_delta.h"
#include "engine/set/snapshot.h"
#include "engine/read/visibility.h"
#include "engine/batch/batch.h"
#include "engine/scan/predicate.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_state.h"

static wide_status
add_qualifier(scan_family *f, wide_bytes q, size_t *at, size_t *len)
{
	TRY(buffer_reserve(&f->columns.encoded, KEY_ROW_MAX(q.len)));
	*at = f->columns.encoded.len;
	f->columns.encoded.len =
		(size_t) (key_put_part(f->columns.encoded.data + f->columns.encoded.len, q.data, q.len) -
				  f->columns.encoded.data);
	*len = f->columns.encoded.len - *at;
	return WIDE_OK;
}

/* Makes f->columns of what is wanted and of the columns with predicates tests[0..ntests). */
static wide_status
encode_columns(scan_family *f, const wide_scan_family *spec, const predicate_column *tests,
			   int ntests)
{
	int n = spec->want == WIDE_WANT_COLUMNS ? spec->nquals : 0, i = 0, t = 0;
	size_t at;

	if (spec->want == WIDE_WANT_RANGE)
	{
		if (spec->nquals < 1)
			return status_fail(WIDE_INVALID, "a range of qualifiers needs a lower bound");
		TRY(add_qualifier(f, spec->quals[0], &at, &f->columns.lo_len));
		if (spec->nquals > 1 && spec->quals[1].data != NULL)
			TRY(add_qualifier(f, spec->quals[1], &at, &f->columns.hi_len));
	}
	f->columns.ntests = ntests;
	f->columns.list = calloc((size_t) (n + ntests) + 1, sizeof(*f->columns.list));
	if (f->columns.list == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	while (i < n || t < ntests)
	{
		scan_column *col = &f->columns.list[f->columns.n++];
		int c = i == n ? 1 : t == ntests ? -1 : scan_compare(spec->quals[i], tests[t].qualifier);

		TRY(add_qualifier(f, c <= 0 ? spec->quals[i] : tests[t].qualifier, &col->at, &col->len));
		col->want = c <= 0 ? i++ : -1;
		col->test = c >= 0 ? &tests[t++] : NULL;
	}
	return WIDE_OK;
}

/*
 * The family's options as the reader has to see them, with the changes of its own batch, and their
 * floors (FAMILY_FLOORS of them).  Returns false if there is no such family.
 */
static bool
family_options(wide_db *db, wide_batch *own, wide_family_id id, int64_t now, wide_family *out,
			   family_floor *floors)
{
	wide_family changed;

	memset(floors, 0, FAMILY_FLOORS * sizeof(*floors));
	if (!catalog_family(db, id, out, floors) && !catalog_delta_family_any(db, id, out))
		return false;
	if (own != NULL && batch_changes_catalog(own) && batch_family(own, id, &changed) == WIDE_OK)
	{
		catalog_floor(floors, &out->opt, &changed.opt, SEQ_BATCH, now);
		*out = changed;
	}
	return true;
}

wide_status
scan_open_visibility(scan_state *s, scan_family *f)
{
	family_floor floors[FAMILY_FLOORS];
	wide_family family;
	const seq_range *excluded;
	int nexcluded;

	visibility_free(&f->view);
	if (!family_options(s->db, s->batch, f->id, s->time.now, &family, floors))
		wide_family_defaults(&family.opt); /* the family is dropped, and nothing is visible */
	excluded = snapshot_excluded(s->snap, &nexcluded);
	TRY(visibility_init(&f->view, &family.opt, floors, s->seq, excluded, nexcluded, s->time.now,
						s->time.ts_min, s->time.ts_max, f->max_versions));
	if (s->operands && family.opt.merge != WIDE_MERGE_NONE)
		f->view.max_out = INT32_MAX;
	if (s->time.filtered)
		visibility_filter(&f->view, s->time.show_min, s->time.show_max);
	return WIDE_OK;
}

/* Limits an entry of the spec about one column by time, if no row passes without a newer cell. */
static void
limit_since(scan_state *s, scan_family *f)
{
	int64_t since;

	if (f->want != WIDE_WANT_COLUMNS || f->max_versions > 1 || f->columns.n != 1 ||
		f->columns.list[0].test == NULL ||
		!predicate_since(&s->pred, f->columns.list[0].test, &since))
		return;
	f->newer_only = true;
	f->limits.by_time = true;
	if (since > f->limits.ts_min)
		f->limits.ts_min = since;
}

static wide_status
family_open(scan_state *s, scan_family *f, const wide_scan_family *spec)
{
	int index = (int) (f - s->families), first = 0, n = 0;

	while (first < s->pred.ncolumns && s->pred.columns[first].family < index)
		first++;
	while (first + n < s->pred.ncolumns && s->pred.columns[first + n].family == index)
		n++;
	f->id = spec->id;
	f->max_versions = spec->max_versions;
	f->want = spec->want;
	f->any_exists = spec->any_exists && spec->want != WIDE_WANT_ALL &&
					spec->want != WIDE_WANT_EXISTS;
	if (n > 0 && f->want == WIDE_WANT_EXISTS)
	{
		/* cells are tested, none is shown */
		f->want = WIDE_WANT_COLUMNS;
		f->any_exists = true;
	}
	f->limits.seen_seq = s->seq;
	f->limits.seen_ts = snapshot_newest_ts(s->snap);
	f->limits.stats = &s->stats;
	f->limits.keep = scan_row_keep_block;
	f->limits.keep_arg = s;
	f->limits.ts_min = INT64_MIN;
	if (s->time.ts_min != 0 || s->time.ts_max != 0)
		f->limits.ts_min = s->time.ts_min;
	if (s->time.filtered && s->time.show_min > f->limits.ts_min)
		f->limits.ts_min = s->time.show_min;
	f->limits.by_time = f->limits.ts_min != INT64_MIN;
	TRY(encode_columns(f, spec, &s->pred.columns[first], n));
	limit_since(s, f);
	TRY(scan_open_visibility(s, f));
	if (f->view.opt.merge != WIDE_MERGE_NONE)
	{
		/* the value needs all operands, however old */
		f->limits.by_time = f->newer_only = false;
		f->limits.ts_min = INT64_MIN;
		f->limits.every = true;
	}
	return WIDE_OK;
}

/*
 * If entries are limited by time, rows are looked for in one of them alone: in the one with the
 * latest limit, as it has the fewest files to read.  Returns: that one; NULL: there is none.
 */
static scan_family *
lead_by_time(scan_state *s)
{
	scan_family *best = NULL;

	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].newer_only &&
			(best == NULL || s->families[i].limits.ts_min > best->limits.ts_min))
			best = &s->families[i];
	for (int i = 0; i < s->nfamilies && best != NULL; i++)
		s->families[i].leads = &s->families[i] == best;
	return best;
}

wide_status
scan_open_families(scan_state *s, const wide_scan_spec *spec)
{
	int at = 0;
	size_t room = spec->nfamilies > 0 ? (size_t) spec->nfamilies : 1;
	bool *leads;
	bool some;
	scan_family *first;

	/* one piece of memory for families, order and leads */
	s->families_bytes = room * (sizeof(*s->families) + sizeof(*s->order) + sizeof(*leads));
	s->families = pool_alloc(s->families_bytes);
	if (s->families == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for a scan");
	s->order = (scan_family **) (s->families + room);
	leads = (bool *) (s->order + room);
	some = predicate_lead(spec->predicates, spec->npredicates, spec->nfamilies, leads);
	for (int i = 0; i < spec->nfamilies; i++)
		s->families[i].leads = !some || leads[i];
	for (int i = 0; i < spec->nfamilies; i++)
	{
		s->nfamilies = i + 1;
		TRY(family_open(s, &s->families[i], &spec->families[i]));
	}
	first = lead_by_time(s);
	if (first != NULL)
		s->order[at++] = first;
	for (int pass = 0; pass < 2; pass++)
	{
		for (int i = 0; i < spec->nfamilies; i++)
			if (&s->families[i] != first && (s->families[i].columns.ntests > 0) == (pass == 0))
				s->order[at++] = &s->families[i];
		if (pass == 0)
			s->ntesting = at;
	}
	return WIDE_OK;
}
