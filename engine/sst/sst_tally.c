/*
 * sst_tally.c - derives the properties of a sorted file from its entries, in file order.
 *
 * The writer describes its file with a tally; verification compares the description with a tally
 * of what it reads.  Looking at an entry and counting it are two steps, because the writer must
 * know whether the entry begins a row before it decides in which block the entry goes.
 */
#include <string.h>
#include "engine/sst/sst_tally.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"

/* Sets a bound.  cut: the flag of a bound that is cut. */
static void
set_bound(file_meta *m, uint8_t *bound, uint8_t *len, uint8_t cut, const uint8_t *row,
		  uint32_t rowlen)
{
	*len = (uint8_t) (rowlen < FILE_BOUND ? rowlen : FILE_BOUND);
	memcpy(bound, row, *len);
	if (*len < rowlen)
		m->flags |= cut;
}

wide_status
sst_tally_look(sst_tally *t, const entry *e)
{
	uint32_t lastlen = (uint32_t) t->last.len, most = e->klen < lastlen ? e->klen : lastlen, shared;
	int c;

	if (e->rowlen == 0 || e->rowlen > e->klen)
		return status_fail(WIDE_INVALID, "entry with a row of %u bytes in a key of %u bytes",
						   e->rowlen, e->klen);
	if (t->meta.cells == 0)
	{
		t->shared = 0;
		t->new_row = t->new_column = true;
		return WIDE_OK;
	}
	t->e.ukey = t->last.data;
	shared = bytes_shared(t->last.data, e->ukey, most);
	c = shared < most ? (int) e->ukey[shared] - (int) t->last.data[shared]
					  : (e->klen > lastlen) - (e->klen < lastlen);
	if (c < 0 || (c == 0 && key_compare(&t->e, e) >= 0))
		return status_fail(WIDE_INVALID, "entries are not in key order");
	t->shared = shared;
	t->new_row = e->rowlen != t->e.rowlen || shared < e->rowlen;
	t->new_column = c != 0;
	return WIDE_OK;
}

wide_status
sst_tally_count(sst_tally *t, const entry *e)
{
	file_meta *m = &t->meta;

	if (m->cells == 0)
	{
		m->ts_min = m->ts_max = e->ts;
		m->seq_min = m->seq_max = e->seq;
		m->flags = FILE_TS_ORDERED;
		set_bound(m, m->min_row, &m->min_len, FILE_MIN_CUT, e->ukey, e->rowlen);
		t->last.len = 0;
	}
	/* within a column timestamps fall from entry to entry; the flag says that sequence numbers do,
	 * too */
	else if (!t->new_column && e->seq > t->e.seq)
		m->flags &= (uint8_t) ~FILE_TS_ORDERED;
	if (t->new_column)
	{
		t->last.len = t->shared;
		TRY(buffer_append(&t->last, e->ukey + t->shared, e->klen - t->shared));
	}
	t->e = *e;
	t->e.value = NULL;
	m->cells++;
	m->rows += t->new_row;
	m->raw_bytes += (uint64_t) e->klen + e->vlen;
	m->tombstones += e->type != ENTRY_PUT;
	t->family_deletes |= entry_is_family_delete(e);
	if (e->ts < m->ts_min)
		m->ts_min = e->ts;
	if (e->ts > m->ts_max)
		m->ts_max = e->ts;
	if (e->seq < m->seq_min)
		m->seq_min = e->seq;
	if (e->seq > m->seq_max)
		m->seq_max = e->seq;
	return WIDE_OK;
}

void
sst_tally_end(sst_tally *t)
{
	file_meta *m = &t->meta;

	if (m->cells > 0)
		set_bound(m, m->max_row, &m->max_len, FILE_MAX_CUT, t->last.data, t->e.rowlen);
}
