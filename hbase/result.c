/* result.c - rows that gets and row operations return */
#include "hbase/cell_block.h"
#include "hbase/result.h"

hb_status
hb_result_new(hb_client *client, int n, hb_result **result)
{
	hb_result *r = client->host.alloc(client->host.ctx, sizeof *r);

	*result = NULL;
	if (r == NULL)
		return hb_status_fail(client, HB_NOMEM, "out of memory");
	memset(r, 0, sizeof *r);
	hb_arena_init(&r->arena, &client->host);
	r->rows.n = n;
	r->rows.rows = hb_arena_alloc(&r->arena, ((size_t) n + 1) * sizeof *r->rows.rows);
	if (r->rows.rows == NULL)
	{
		hb_rows_free(client, &r->rows);
		return hb_status_fail(client, HB_NOMEM, "out of memory");
	}
	*result = r;
	return HB_OK;
}

void
hb_rows_free(hb_client *client, hb_rows *rows)
{
	hb_result *r = (hb_result *) rows;

	if (rows == NULL)
		return;
	for (int i = 0; i < r->n_frames; i++)
		hb_memory_free(&client->host, &r->frames[i]);
	client->host.free(client->host.ctx, r->frames);
	hb_arena_free(&r->arena);
	client->host.free(client->host.ctx, r);
}

hb_status
hb_result_keep(hb_client *client, hb_result *r, hb_call *call)
{
	HB_TRY_MEMORY(client, hb_memory_array(&client->host, (void **) &r->frames, r->n_frames,
										  &r->frames_cap, sizeof *r->frames));
	r->frames[r->n_frames++] = call->frame;
	memset(&call->frame, 0, sizeof call->frame);
	return HB_OK;
}

static hb_status
copy(hb_arena *a, ProtobufCBinaryData from, hb_bytes *to)
{
	to->len = from.len;
	to->data = hb_arena_copy(a, hb_from_pb(from));
	return to->data == NULL ? HB_NOMEM : HB_OK;
}

static hb_status
copy_cell(hb_arena *a, const Hbp__Cell *from, hb_cell *to)
{
	HB_TRY(copy(a, from->family, &to->family));
	HB_TRY(copy(a, from->qualifier, &to->qualifier));
	HB_TRY(copy(a, from->value, &to->value));
	to->timestamp = (int64_t) from->timestamp;
	to->type = from->has_cell_type ? (uint8_t) from->cell_type : HB_CELL_PUT;
	return HB_OK;
}

hb_status
hb_result_add(hb_client *client, hb_result *r, int row, const Hbp__Result *message, hb_bytes *block)
{
	hb_row *to = &r->rows.rows[row];
	size_t in_message = message->n_cell;
	size_t in_block = message->associated_cell_count;
	size_t n = (size_t) to->n_cells + in_message + in_block;
	hb_cell *cells;

	if (in_block > block->len / HB_CELL_BLOCK_FIXED || n > INT32_MAX / 2)
		return hb_status_fail(client, HB_PROTOCOL, "a cell block has less cells than announced");
	if (n == (size_t) to->n_cells)
		return HB_OK;
	cells = hb_arena_alloc(&r->arena, n * sizeof *cells);
	if (cells == NULL)
		return hb_status_fail(client, HB_NOMEM, "out of memory");
	if (to->n_cells > 0)
		memcpy(cells, to->cells, (size_t) to->n_cells * sizeof *cells);
	to->cells = cells;
	for (size_t i = 0; i < in_block; i++)
	{
		if (!hb_cell_block_next(block, &to->key, &cells[to->n_cells]))
			return hb_status_fail(client, HB_PROTOCOL, "a cell block is cut");
		to->n_cells++;
	}
	for (size_t i = 0; i < in_message; i++)
	{
		HB_TRY_MEMORY(client, copy_cell(&r->arena, message->cell[i], &cells[to->n_cells]));
		HB_TRY_MEMORY(client, copy(&r->arena, message->cell[i]->row, &to->key));
		to->n_cells++;
	}
	return HB_OK;
}

hb_status
hb_result_skip(hb_client *client, const Hbp__Result *message, hb_bytes *block)
{
	for (uint32_t i = 0; i < message->associated_cell_count; i++)
	{
		size_t n = hb_cell_block_length(*block);

		if (n == 0)
			return hb_status_fail(client, HB_PROTOCOL, "a cell block is cut");
		block->data += n;
		block->len -= n;
	}
	return HB_OK;
}

hb_status
hb_result_exception(hb_client *client, const hb_server *server, const Hbp__NameBytesPair *exception)
{
	hb_failure *f = &client->failure;
	hb_bytes text = hb_from_pb(exception->value);
	const uint8_t *newline = text.len > 0 ? memchr(text.data, '\n', text.len) : NULL;
	hb_cure cure;
	hb_status st = hb_exception_meaning(hb_from_pb(exception->name), text, HB_RETRY_UNSAID, &cure);

	hb_status_set(f, st, cure, server, " ");
	f->doubtful = st == HB_REMOTE;
	hb_status_text(f->error.java_class, sizeof f->error.java_class, hb_from_pb(exception->name));
	if (newline != NULL)
		text.len = (size_t) (newline - text.data);
	hb_status_text(f->error.message, sizeof f->error.message, text);
	memcpy(f->error.text, f->error.message, sizeof f->error.message);
	return st;
}
