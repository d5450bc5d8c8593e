/* region.c - the regions of tables, as hbase:meta has them, and what is remembered of them */
#include <stdio.h>
#include <stdlib.h>
#include "hbase/cell_block.h"
#include "hbase/region.h"
#include "hbase/registry.h"
#include "hbase/scan_call.h"

#define META_REGION	  "hbase:meta,,1"
#define META_ROWS	  1000 /* that are read in a call */
#define NAME_MAX_SIZE 512  /* of a table's name */
#define INFO_MAGIC	  "PBUF"

static const hb_bytes empty = {(const uint8_t *) "", 0};

/* ---- entries ---- */

static hb_status
entry_of(hb_client *client, const char *table, hb_table_entry **entry)
{
	hb_table_entry *t = client->tables;

	while (t != NULL && strcmp(t->name, table) != 0)
		t = t->next;
	if (t == NULL)
	{
		size_t n = strlen(table) + 1;
		char *name;

		if (n > NAME_MAX_SIZE || n < 2 || strpbrk(table, ", \t\n/") != NULL)
			return hb_status_fail(client, HB_INVALID, "\"%.60s\" is not a name of a table", table);
		t = client->host.alloc(client->host.ctx, sizeof *t + n);
		if (t == NULL)
			return hb_status_fail(client, HB_NOMEM, "out of memory");
		memset(t, 0, sizeof *t);
		name = memcpy(t + 1, table, n);
		t->name = name;
		hb_arena_init(&t->arena, &client->host);
		t->next = client->tables;
		client->tables = t;
	}
	*entry = t;
	return HB_OK;
}

static void
empty_entry(hb_table_entry *t)
{
	hb_arena_reset(&t->arena);
	t->regions = NULL;
	t->n_regions = t->cap = 0;
	t->known = false;
}

void
hb_region_forget(hb_client *client, const char *table)
{
	for (hb_table_entry *t = client->tables; t != NULL; t = t->next)
	{
		if (strcmp(t->name, table) == 0)
			empty_entry(t);
	}
}

void
hb_region_free(hb_client *client)
{
	hb_table_entry *t;

	while ((t = client->tables) != NULL)
	{
		client->tables = t->next;
		hb_arena_free(&t->arena);
		client->host.free(client->host.ctx, t);
	}
}

static hb_region_entry *
add_region(hb_table_entry *t)
{
	if (t->n_regions == t->cap)
	{
		int cap = t->cap == 0 ? 16 : t->cap * 2;
		hb_region_entry *r = hb_arena_alloc(&t->arena, (size_t) cap * sizeof *r);

		if (r == NULL)
			return NULL;
		if (t->n_regions > 0)
			memcpy(r, t->regions, (size_t) t->n_regions * sizeof *r);
		t->regions = r;
		t->cap = cap;
	}
	return &t->regions[t->n_regions++];
}

static int
compare_entries(const void *a, const void *b)
{
	const hb_region_entry *x = a;
	const hb_region_entry *y = b;
	int c = hb_memory_compare(x->region.start, y->region.start);

	return c != 0 ? c : (x->id > y->id) - (x->id < y->id);
}

/* ---- reading hbase:meta ---- */

/* A row of hbase:meta while its cells come. */
typedef struct meta_row
{
	hb_bytes row;
	hb_bytes info;
	hb_bytes server;
	hb_bytes state; /* of the table */
} meta_row;

static hb_bytes
arena_bytes(hb_arena *a, const ProtobufCBinaryData *b)
{
	return b->len == 0 ? empty : (hb_bytes) {hb_arena_copy(a, hb_from_pb(*b)), b->len};
}

/* "host:port" */
static void
set_server(hb_arena *a, hb_region *r, hb_bytes s)
{
	const uint8_t *colon = s.len > 0 ? memrchr(s.data, ':', s.len) : NULL;
	long port = 0;
	char *host;

	r->host = "";
	if (colon == NULL || colon == s.data || (size_t) (colon - s.data) >= HB_HOST_MAX)
		return;
	for (const uint8_t *p = colon + 1; p < s.data + s.len; p++)
	{
		if (*p < '0' || *p > '9' || port > 65535)
			return;
		port = port * 10 + (*p - '0');
	}
	host = (char *) hb_arena_copy(a, (hb_bytes) {s.data, (size_t) (colon - s.data)});
	if (host == NULL || port < 1 || port > 65535)
		return;
	r->host = host;
	r->port = (int) port;
}

/* The name ends with ".ENCODED." */
static const char *
encoded_name(hb_arena *a, hb_bytes name)
{
	size_t end = name.len > 0 ? name.len - 1 : 0;
	size_t at = end;
	const char *s;

	while (at > 0 && name.data[at - 1] != '.')
		at--;
	s = (const char *) hb_arena_copy(a, (hb_bytes) {name.data + at, end - at});
	return s == NULL ? "" : s;
}

static hb_status
add_row(hb_client *client, hb_table_entry *t, const meta_row *m)
{
	Hbp__RegionInfo *info;
	hb_region_entry *e;
	hb_region *r;

	if (m->state.len > 0)
	{
		Hbp__TableState *s = (Hbp__TableState *) protobuf_c_message_unpack(
			&hbp__table_state__descriptor, &t->arena.allocator, m->state.len, m->state.data);

		if (s != NULL)
			t->state = (hb_table_state) s->state;
	}
	if (m->info.len < 4 || memcmp(m->info.data, INFO_MAGIC, 4) != 0)
		return HB_OK;
	info = (Hbp__RegionInfo *) protobuf_c_message_unpack(&hbp__region_info__descriptor,
														 &t->arena.allocator, m->info.len - 4,
														 m->info.data + 4);
	if (info == NULL)
		return hb_status_fail(client, t->arena.failed ? HB_NOMEM : HB_PROTOCOL,
							  "a region in hbase:meta cannot be understood");
	if (info->split || info->offline || info->replica_id != 0)
		return HB_OK;
	e = add_region(t);
	if (e == NULL)
		return hb_status_fail(client, HB_NOMEM, "out of memory");
	r = &e->region;
	e->id = info->region_id;
	r->start = arena_bytes(&t->arena, &info->start_key);
	r->end = arena_bytes(&t->arena, &info->end_key);
	r->name = (hb_bytes) {hb_arena_copy(&t->arena, m->row), m->row.len};
	r->encoded = encoded_name(&t->arena, m->row);
	set_server(&t->arena, r, m->server);
	return t->arena.failed ? hb_status_fail(client, HB_NOMEM, "out of memory") : HB_OK;
}

static void
add_cell(meta_row *m, const hb_cell *cell)
{
	bool info = hb_memory_equal(cell->family, hb_text("info"));

	if (info && hb_memory_equal(cell->qualifier, hb_text("regioninfo")))
		m->info = cell->value;
	else if (info && hb_memory_equal(cell->qualifier, hb_text("server")))
		m->server = cell->value;
	else if (hb_memory_equal(cell->family, hb_text("table")) &&
			 hb_memory_equal(cell->qualifier, hb_text("state")))
		m->state = cell->value;
}

/* Adds the rows of one answer. */
static hb_status
add_answer(hb_client *client, hb_table_entry *t, const hb_call *call, const hb_scan_answer *a)
{
	hb_bytes block = call->cells;

	for (size_t i = 0; i < a->n; i++)
	{
		meta_row m = {empty, empty, empty, empty};

		for (uint32_t k = 0; k < a->counts[i]; k++)
		{
			hb_cell cell;

			if (!hb_cell_block_next(&block, &m.row, &cell))
				return hb_status_fail(client, HB_PROTOCOL, "a cell block is cut");
			add_cell(&m, &cell);
		}
		HB_TRY(add_row(client, t, &m));
	}
	return HB_OK;
}

/* Reads the rows of a table: "t" with its state, and "t,start,id.encoded." */
static hb_status
read_meta(hb_client *client, hb_table_entry *t, hb_call *call)
{
	char stop[NAME_MAX_SIZE + 2];
	Hbp__RegionSpecifier region = HBP__REGION_SPECIFIER__INIT;
	Hbp__Column info = HBP__COLUMN__INIT;
	Hbp__Column state = HBP__COLUMN__INIT;
	Hbp__Column *columns[] = {&info, &state};
	Hbp__Scan scan = HBP__SCAN__INIT;
	hb_scan_answer a;
	uint64_t seq = 0;

	snprintf(stop, sizeof stop, "%s-", t->name); /* behind "t," */
	hb_region_specify(&region, hb_text(META_REGION));
	info.family = hb_pb(hb_text("info"));
	state.family = hb_pb(hb_text("table"));
	scan.column = columns;
	scan.n_column = 2;
	scan.has_start_row = scan.has_stop_row = 1;
	scan.start_row = hb_pb(hb_text(t->name));
	scan.stop_row = hb_pb(hb_text(stop));
	for (bool first = true;; first = false)
	{
		Hbp__ScanRequest req = HBP__SCAN_REQUEST__INIT;

		req.has_number_of_rows = 1;
		req.number_of_rows = META_ROWS;
		if (first)
		{
			req.region = &region;
			req.scan = &scan;
		}
		else
		{
			req.has_scanner_id = req.has_next_call_seq = 1;
			req.scanner_id = a.scanner;
			req.next_call_seq = seq++;
		}
		HB_TRY(hb_rpc_send(client, call, &client->meta, HB_RPC_CLIENT, "Scan", &req.base,
						   (hb_bytes) {NULL, 0}));
		HB_TRY(hb_scan_call_finish(client, call, &a));
		HB_TRY(add_answer(client, t, call, &a));
		if (!a.more || !a.more_here || !a.has_scanner)
			return HB_OK;
	}
}

static hb_status
load(hb_client *client, hb_table_entry *t)
{
	hb_call call = {0};
	hb_status st;

	empty_entry(t);
	t->state = HB_TABLE_ENABLED;
	HB_TRY(hb_registry_meta(client));
	if (strcmp(t->name, HB_META_TABLE) == 0)
	{
		hb_region_entry *e = add_region(t);

		if (e == NULL)
			return hb_status_fail(client, HB_NOMEM, "out of memory");
		e->region = (hb_region) {empty,
								 empty,
								 hb_text(META_REGION),
								 "1588230740",
								 hb_arena_string(&t->arena, client->meta.host),
								 client->meta.port};
		t->known = e->region.host != NULL;
		return t->known ? HB_OK : hb_status_fail(client, HB_NOMEM, "out of memory");
	}
	st = read_meta(client, t, &call);
	hb_rpc_free(client, &call);
	if (st != HB_OK)
	{
		empty_entry(t);
		client->meta.host[0] = 0;
		if (client->failure.cure == HB_CURE_REOPEN)
			client->failure.cure = HB_CURE_RELOCATE;
		return st;
	}
	if (t->n_regions == 0)
		return hb_status_fail(client, HB_NOTABLE, "table \"%s\" does not exist", t->name);
	qsort(t->regions, (size_t) t->n_regions, sizeof *t->regions, compare_entries);
	t->known = true;
	return HB_OK;
}

hb_status
hb_region_table(hb_client *client, const char *table, hb_table_entry **entry)
{
	HB_TRY(entry_of(client, table, entry));
	return (*entry)->known ? HB_OK : load(client, *entry);
}

/* ---- finding ---- */

/* The last region whose start is at most the key, or less than it; -1: none. */
static int
last_before(const hb_table_entry *t, hb_bytes key, bool before)
{
	int lo = 0;
	int hi = t->n_regions;

	if (before && key.len == 0)
		return hi - 1;
	while (lo < hi)
	{
		int mid = (lo + hi) / 2;
		int c = hb_memory_compare(t->regions[mid].region.start, key);

		if (c < 0 || (c == 0 && !before))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

hb_status
hb_region_find(hb_client *client, const char *table, hb_bytes key, bool before,
			   const hb_region **region)
{
	hb_table_entry *t;
	const hb_region *r;
	int i;

	HB_TRY(hb_region_table(client, table, &t));
	i = last_before(t, key, before);
	r = i < 0 ? NULL : &t->regions[i].region;
	if (r != NULL && r->end.len > 0)
	{
		int c = hb_memory_compare(r->end, key);

		/* in the middle of a split or merge there may be a gap */
		if (before ? key.len == 0 || c < 0 : c <= 0)
			r = NULL;
	}
	if (r != NULL && r->host[0] != 0 && t->state != HB_TABLE_DISABLED &&
		t->state != HB_TABLE_DISABLING)
	{
		*region = r;
		return HB_OK;
	}
	if (t->state == HB_TABLE_DISABLED || t->state == HB_TABLE_DISABLING)
	{
		hb_region_forget(client, table);
		return hb_status_fail(client, HB_DISABLED, "table \"%s\" is disabled", table);
	}
	hb_status_set(&client->failure, HB_LOST, HB_CURE_RELOCATE, NULL,
				  "no server has a region of table \"%s\"", table);
	return HB_LOST;
}

void
hb_region_server(const hb_region *region, hb_server *server)
{
	snprintf(server->host, sizeof server->host, "%s", region->host);
	server->port = region->port;
}

hb_status
hb_region_retry(hb_client *client, hb_retry *retry, const char *table)
{
	/* the table may have been made anew: what was known is not good for long */
	if (client->failure.cure == HB_CURE_RELOCATE || client->failure.error.status == HB_NOTABLE ||
		client->failure.error.status == HB_DISABLED)
		hb_region_forget(client, table);
	return hb_rpc_again(client, retry);
}

void
hb_region_specify(Hbp__RegionSpecifier *specifier, hb_bytes name)
{
	hbp__region_specifier__init(specifier);
	specifier->type = 1;
	specifier->value = hb_pb(name);
}

static hb_status
table_regions(hb_client *client, const char *table, hb_table_entry **t)
{
	hb_retry retry;

	hb_rpc_begin(client, &retry);
	while (hb_region_table(client, table, t) != HB_OK)
		HB_TRY(hb_region_retry(client, &retry, table));
	return HB_OK;
}

hb_status
hb_table_regions(hb_client *client, const char *table, bool refresh,
				 bool (*each)(void *ctx, const hb_region *region), void *ctx)
{
	hb_table_entry *t;

	if (refresh)
		hb_region_forget(client, table);
	HB_TRY(table_regions(client, table, &t));
	for (int i = 0; i < t->n_regions; i++)
	{
		if (!each(ctx, &t->regions[i].region))
			break;
	}
	return HB_OK;
}
