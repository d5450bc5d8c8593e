/* mutate.c - writes of many rows; declared in hbase.h */
#include "hbase/change.h"
#include "hbase/multi.h"
#include "hbase/result.h"

static const hb_mutation *
row_of(const hb_multi *m, int64_t i)
{
	return &((const hb_mutation *) m->rows)[i];
}

static hb_bytes
key_of(const hb_multi *m, int64_t i)
{
	return row_of(m, i)->key;
}

static size_t
size_of(const hb_multi *m, int64_t i)
{
	return hb_change_size(row_of(m, i));
}

static int
count(const hb_multi *m, int64_t i)
{
	return hb_change_count(row_of(m, i));
}

static hb_status
fill(hb_multi *m, int64_t i, Hbp__Action *actions)
{
	int n = count(m, i);
	Hbp__MutationProto *messages = hb_arena_alloc(&m->client->request,
												  (size_t) n * sizeof *messages);

	if (messages == NULL)
		return hb_status_fail(m->client, HB_NOMEM, "out of memory");
	for (int k = 0; k < n; k++)
		actions[k].mutation = &messages[k];
	return hb_change_messages(m->client, row_of(m, i), messages);
}

static hb_status
take_result(hb_multi *m, int64_t i, const Hbp__Result *result, hb_bytes *block)
{
	(void) i;
	return hb_result_skip(m->client, result, block);
}

static hb_status
take_answer(hb_multi *m, hb_call *call)
{
	(void) m;
	(void) call;
	return HB_OK;
}

static const hb_multi_operation operation = {key_of, size_of,	  count,
											 fill,	 take_result, take_answer};

hb_status
hb_mutate(hb_client *client, const char *table, const hb_mutation *rows, int64_t n,
		  hb_mutate_result *result)
{
	hb_multi m = {client, table, &operation, rows, NULL, n, .failed_row = -1};
	hb_status st = HB_OK;

	for (int64_t i = 0; i < n && st == HB_OK; i++)
	{
		st = hb_change_check(client, &rows[i], false);
		if (st != HB_OK)
			m.failed_row = i;
	}
	if (st == HB_OK)
		st = hb_multi_run(&m);
	if (result != NULL)
	{
		result->written = m.done;
		result->failed_row = m.failed_row;
	}
	return st;
}
