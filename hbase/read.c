/* read.c - what is read of a row, as messages */
#include "hbase/read.h"

static hb_status
no_memory(hb_client *client)
{
	return hb_status_fail(client, HB_NOMEM, "out of memory");
}

static bool
copy_bytes(hb_arena *a, hb_bytes *b)
{
	b->data = hb_arena_copy(a, *b);
	return b->data != NULL;
}

hb_status
hb_read_copy(hb_client *client, hb_arena *arena, const hb_read *from, hb_read *to)
{
	hb_columns *families;

	*to = *from;
	if (from->table == NULL)
		return hb_status_fail(client, HB_INVALID, "no table is given");
	to->table = hb_arena_string(arena, from->table);
	families = hb_arena_alloc(arena, ((size_t) from->n_families + 1) * sizeof *families);
	if (to->table == NULL || families == NULL)
		return no_memory(client);
	to->families = families;
	for (int i = 0; i < from->n_families; i++)
	{
		hb_bytes *q;

		families[i] = from->families[i];
		q = hb_arena_alloc(arena, ((size_t) families[i].n_qualifiers + 1) * sizeof *q);
		if (q == NULL || !copy_bytes(arena, &families[i].family))
			return no_memory(client);
		for (int k = 0; k < families[i].n_qualifiers; k++)
		{
			q[k] = families[i].qualifiers[k];
			if (!copy_bytes(arena, &q[k]))
				return no_memory(client);
		}
		families[i].qualifiers = q;
	}
	return HB_OK;
}

static bool
set_columns(hb_arena *a, const hb_read *read, hb_read_message *m)
{
	size_t n = (size_t) read->n_families;
	Hbp__Column *c = hb_arena_alloc(a, n * sizeof *c);

	m->columns = hb_arena_alloc(a, n * sizeof *m->columns);
	m->n_columns = n;
	if (m->columns == NULL || c == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
	{
		const hb_columns *f = &read->families[i];
		size_t nq = (size_t) f->n_qualifiers;
		ProtobufCBinaryData *q = hb_arena_alloc(a, nq * sizeof *q);

		if (q == NULL)
			return false;
		for (size_t k = 0; k < nq; k++)
			q[k] = hb_pb(f->qualifiers[k]);
		hbp__column__init(&c[i]);
		c[i].family = hb_pb(f->family);
		c[i].qualifier = q;
		c[i].n_qualifier = nq;
		m->columns[i] = &c[i];
	}
	return true;
}

hb_status
hb_read_to_message(hb_client *client, hb_arena *arena, const hb_read *read, hb_read_message *m)
{
	memset(m, 0, sizeof *m);
	if (read->filter != NULL && read->filter->failed)
		return no_memory(client);
	if (!set_columns(arena, read, m))
		return no_memory(client);
	if (read->time_range)
	{
		if (read->min_time < 0 || read->max_time < read->min_time)
			return hb_status_fail(client, HB_INVALID, "a range of times is not one");
		m->time_range = hb_arena_alloc(arena, sizeof *m->time_range);
		if (m->time_range == NULL)
			return no_memory(client);
		hbp__time_range__init(m->time_range);
		m->time_range->has_from = m->time_range->has_to = 1;
		m->time_range->from = (uint64_t) read->min_time;
		m->time_range->to = (uint64_t) read->max_time;
	}
	m->filter = read->filter == NULL ? NULL : (Hbp__Filter *) &read->filter->message;
	m->max_versions = read->max_versions > 0 ? (uint32_t) read->max_versions : 1;
	return HB_OK;
}
