/*
 * scan_reuse.c - scans that are used again: with other ranges, with a renewed snapshot, and with
 * another snapshot after they were set aside.
 *
 * Invariant: a scan that is set aside holds memory and nothing else: no pin, no block, no file, no
 * snapshot.  So it keeps no other process waiting, and may be closed, or forgotten at the end of
 * the process, at any time.  What it knows of the families (their options, the encoded columns) is
 * good as long as the catalog's generation stays the same; snapshot_moved compares it.
 *
 * Locking: none; the pin protects what is read.
 */
#include <stdatomic.h>
#include <string.h>
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/shared/segment.h"
#include "engine/set/snapshot.h"
#include "engine/read/visibility.h"
#include "engine/batch/batch_source.h"
#include "engine/batch/overlay.h"
#include "engine/scan/scan_block.h"
#include "engine/scan/scan_count.h"
#include "engine/scan/scan_open.h"
#include "engine/scan/scan_range.h"
#include "engine/scan/scan_row.h"
#include "engine/scan/scan_sources.h"
#include "engine/scan/scan_span.h"
#include "engine/scan/scan_state.h"

/*
 * Adapts the scan to its renewed snapshot.  What was committed since is in the sources that the
 * scan has, unless the set of memtables and files has another version by now, or a source was left
 * out because it had nothing visible.
 */
static wide_status
snapshot_moved(scan_state *s)
{
	uint64_t generation = wide_catalog_generation(s->db);
	bool views = generation != s->generation;
	int nexcluded;
	const seq_range *excluded = snapshot_excluded(s->snap, &nexcluded);

	/* the options' floors are read before the files to which they may not apply: catalog_retire */
	if (s->sources.pinned && (views || s->sources.incomplete ||
							  s->sources.pin.version != atomic_load(&s->db->seg->set.version)))
		scan_sources_drop(s);
	s->seq = wide_snapshot_lsn(s->snap);
	s->generation = generation;
	if (!s->time.now_given)
		s->time.now = snapshot_now(s->snap);
	for (int i = 0; i < s->nfamilies; i++)
	{
		scan_family *f = &s->families[i];

		f->limits.seen_seq = s->seq;
		f->limits.seen_ts = snapshot_newest_ts(s->snap);
		if (views)
			TRY(scan_open_visibility(s, f));
		else
			visibility_renew(&f->view, s->seq, excluded, nexcluded, s->time.now);
	}
	return WIDE_OK;
}

wide_status
wide_scan_restart(wide_scan *scan, const wide_range *ranges, int nranges, uint64_t own_mark)
{
	scan_state *s = scan_state_of(scan);

	scan_count(s);
	scan_block_restart(s);
	s->block.ahead.expected = s->row_hint;
	scan_row_release(s);
	TRY(segment_check(s->db));
	s->failed = WIDE_OK;
	s->batch_mark = own_mark;
	if (wide_snapshot_lsn(s->snap) != s->seq ||
		(!s->time.now_given && snapshot_now(s->snap) != s->time.now))
		TRY(snapshot_moved(s));
	/* what the transaction has written since may be in another part of its batch */
	for (int i = 0; i < s->nfamilies; i++)
		if (s->families[i].batch_source != NULL &&
			!batch_source_set_mark(s->families[i].batch_source, own_mark))
		{
			scan_sources_drop(s);
			break;
		}
	for (int i = 0; i < s->nfamilies; i++)
		s->families[i].before.state = BEFORE_UNKNOWN;
	return scan_range_set(s, ranges, nranges);
}

/* A scan that has more memory than this is not kept. */
#define ASIDE_CELLS	 2048
#define ASIDE_RANGES 256
#define ASIDE_BOUNDS ((size_t) 32768)
#define ASIDE_ARENA	 ((size_t) 65536)

bool
wide_scan_set_aside(wide_scan *scan)
{
	scan_state *s = scan_state_of(scan);

	if (s->batch != NULL || overlay_of(s->snap) != NULL || s->time.now_given ||
		s->filter.fn != NULL || s->pred.ncolumns > 0 || s->failed != WIDE_OK)
		return false;
	scan_block_restart(s);
	scan_span_free(s);
	scan_row_release(s);
	scan_sources_drop(s);
	scan_count(s);
	memset(&s->stats, 0, sizeof(s->stats));
	s->reported.rows = s->reported.cells = 0;
	s->ranges.n = s->ranges.next = 0;
	s->ranges.state = RANGE_CLOSED;
	s->row.phase = ROW_NONE;
	s->snap = NULL;
	for (int i = 0; i < s->nfamilies; i++)
	{
		append_clear(&s->families[i].row.appended);
		if (s->families[i].row.folded.cap > ASIDE_CELLS ||
			s->families[i].row.appended.cap > ASIDE_CELLS)
			return false;
	}
	/* one chunk is left, which may have been made for a large value */
	return s->out.cap <= ASIDE_CELLS && s->ranges.cap <= ASIDE_RANGES &&
		   s->ranges.bounds.cap <= ASIDE_BOUNDS &&
		   (s->out.arena == NULL || s->out.arena->size <= ASIDE_ARENA);
}

wide_status
wide_scan_reuse(wide_scan *scan, const wide_snapshot *snap, uint64_t row_hint)
{
	scan_state *s = scan_state_of(scan);

	TRY(segment_check(s->db));
	s->snap = snap;
	s->row_hint = row_hint;
	return snapshot_moved(s);
}
