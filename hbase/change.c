/* change.c - the changes of a row as messages and a cell block */
#include "hbase/cell_block.h"
#include "hbase/change.h"
#include "hbase/wire.h"

#define VALUE_MAX ((size_t) 256 * 1024 * 1024)

static hb_mutate_type
type_of(const hb_change *c)
{
	switch (c->kind)
	{
		case HB_PUT:
			return HB_MUTATE_PUT;
		case HB_INCREMENT:
			return HB_MUTATE_INCREMENT;
		case HB_APPEND:
			return HB_MUTATE_APPEND;
		default:
			return HB_MUTATE_DELETE;
	}
}

static uint8_t
cell_type(hb_change_kind kind)
{
	switch (kind)
	{
		case HB_DELETE_VERSION:
			return HB_CELL_DELETE;
		case HB_DELETE_COLUMN:
			return HB_CELL_DELETE_COLUMN;
		case HB_DELETE_FAMILY:
			return HB_CELL_DELETE_FAMILY;
		case HB_DELETE_FAMILY_VERSION:
			return HB_CELL_DELETE_FAMILY_VERSION;
		default:
			return HB_CELL_PUT;
	}
}

static const char *
what_is_wrong(const hb_mutation *row, const hb_change *c, bool counters)
{
	bool counter = c->kind == HB_INCREMENT || c->kind == HB_APPEND;

	if (c->family.len == 0 || c->family.len > HB_MAX_FAMILY)
		return "a family's name must have 1 to 255 bytes";
	if (c->qualifier.len > INT16_MAX || row->key.len + c->qualifier.len > UINT16_MAX)
		return "a qualifier is too long";
	if (c->value.len > VALUE_MAX)
		return "a value is too long";
	if (c->timestamp < 0)
		return "a timestamp is negative";
	if (counter && !counters)
		return "increments and appends are row operations";
	if (c->kind == HB_INCREMENT && c->value.len != 8)
		return "an increment must have 8 bytes";
	if ((c->kind == HB_DELETE_FAMILY || c->kind == HB_DELETE_FAMILY_VERSION) &&
		c->qualifier.len > 0)
		return "a delete of a family has no qualifier";
	return NULL;
}

hb_status
hb_change_check(hb_client *client, const hb_mutation *row, bool counters)
{
	if (row->key.len == 0 || row->key.len > HB_MAX_ROW)
		return hb_status_fail(client, HB_INVALID, "a key must have 1 to %d bytes", HB_MAX_ROW);
	if (row->n_changes < 1)
		return hb_status_fail(client, HB_INVALID, "a row without changes");
	for (int i = 0; i < row->n_changes; i++)
	{
		const char *wrong = what_is_wrong(row, &row->changes[i], counters);

		if (wrong != NULL)
			return hb_status_fail(client, HB_INVALID, "%s", wrong);
	}
	return HB_OK;
}

/* Returns true if change i begins a message: it cannot be in that of change i - 1. */
static bool
begins(const hb_mutation *row, int i)
{
	const hb_change *c = &row->changes[i];
	const hb_change *before = c - 1;

	return i == 0 || type_of(c) != type_of(before) ||
		   (c->kind == HB_PUT && c->ttl_ms != before->ttl_ms);
}

int
hb_change_count(const hb_mutation *row)
{
	int n = 0;

	for (int i = 0; i < row->n_changes; i++)
		n += begins(row, i);
	return n;
}

size_t
hb_change_size(const hb_mutation *row)
{
	size_t n = 0;

	for (int i = 0; i < row->n_changes; i++)
		n += HB_CELL_BLOCK_FIXED + row->key.len + row->changes[i].family.len +
			 row->changes[i].qualifier.len + row->changes[i].value.len;
	return n;
}

/* The attribute that limits the life of the cells. */
static hb_status
set_ttl(hb_client *client, Hbp__MutationProto *m, int64_t ttl_ms)
{
	hb_arena *a = &client->request;
	Hbp__NameBytesPair *pair = hb_arena_alloc(a, sizeof *pair);
	uint8_t *value = hb_arena_alloc(a, 8);

	m->attribute = hb_arena_alloc(a, sizeof *m->attribute);
	if (pair == NULL || value == NULL || m->attribute == NULL)
		return HB_NOMEM;
	hb_wire_put64(value, (uint64_t) ttl_ms);
	hbp__name_bytes_pair__init(pair);
	pair->name = hb_pb(hb_text("_ttl"));
	pair->has_value = 1;
	pair->value = (ProtobufCBinaryData) {8, value};
	m->attribute[0] = pair;
	m->n_attribute = 1;
	return HB_OK;
}

hb_status
hb_change_messages(hb_client *client, const hb_mutation *row, Hbp__MutationProto *messages)
{
	Hbp__MutationProto *m = messages - 1;

	for (int i = 0; i < row->n_changes; i++)
	{
		const hb_change *c = &row->changes[i];
		hb_cell cell = {c->family, c->qualifier, c->value, c->timestamp, cell_type(c->kind)};

		if (begins(row, i))
		{
			hbp__mutation_proto__init(++m);
			m->has_row = m->has_mutate_type = m->has_associated_cell_count = 1;
			m->row = hb_pb(row->key);
			m->mutate_type = type_of(c);
			if (c->kind == HB_PUT && c->ttl_ms > 0)
				HB_TRY_MEMORY(client, set_ttl(client, m, c->ttl_ms));
		}
		if (cell.type != HB_CELL_PUT)
			cell.value.len = 0;
		HB_TRY_MEMORY(client, hb_cell_block_append(&client->host, &client->cells, row->key, &cell));
		m->associated_cell_count++;
	}
	return HB_OK;
}
