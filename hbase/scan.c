/*
 * scan.c - scans; declared in hbase.h
 *
 * A scan is a walk over ranges and regions.  Its place is (range, at, at_inclusive): all rows
 * before it have been asked for, and come in answers that are or will be handed out.  While the
 * rows of one answer (current) are handed out, the next call (ahead) is under way.  When ahead
 * fails, the rows of current are handed out to the last; then the scan begins again behind the last
 * whole row.
 */
#include "hbase/cell_block.h"
#include "hbase/read.h"
#include "hbase/region.h"
#include "hbase/scan_call.h"
#include "hbase/scan_range.h"

#define ROWS_PER_CALL  10000
#define FIRST_ROWS	   1000 /* of the first call, unless it is known how many are wanted */
#define BYTES_PER_CALL ((size_t) 2 * 1024 * 1024)
#define RANGES_MAX	   500 /* that one scanner is told */

/* What the next call is. */
typedef enum step
{
	STEP_OPEN, /* a scanner at the place */
	STEP_NEXT, /* more rows of the scanner */
	STEP_DONE  /* there is none */
} step;

struct hb_scan
{
	hb_client *client;
	hb_arena arena; /* the spec */
	hb_scan_spec spec;
	hb_arena range_arena;
	hb_scan_ranges ranges;
	hb_retry retry;
	hb_scan_stats stats;

	/* the place */
	step next;
	int range;	   /* among ranges; counted from the end if reversed */
	int range_end; /* behind the ranges that the scanner was told */
	hb_buffer at;  /* empty: the open end of the first range */
	bool at_inclusive;
	hb_server server; /* of the scanner */
	hb_buffer border; /* the end of its region; reversed: the start; empty: the table's */
	uint64_t scanner;
	uint64_t seq;	  /* of its next call */
	int64_t expected; /* whole rows that were received */

	/* answers */
	hb_call ahead;
	bool asked;		   /* ahead is under way, or failed */
	bool ahead_failed; /* it could not be sent while this answer was handed out */
	hb_call current;
	hb_bytes block; /* cells of current that are not handed out */
	uint32_t *counts;
	protobuf_c_boolean *partial;
	int n; /* results of current */
	int counts_cap;
	int partial_cap;
	int i;			 /* the next of them */
	bool passed;	 /* the place was moved behind all rows of current */
	int64_t answers; /* since the scan began, or was begun again */

	/* the row that is handed out */
	hb_buffer parts; /* the cells of a row that came in several results, as a cell block */
	int n_parts;	 /* cells */
	bool in_parts;	 /* more of this row may follow */
	hb_cell *cells;
	int cells_cap;
	hb_bytes last; /* the key of the last whole row; in current, parts or last_key */
	bool has_last;
	hb_buffer last_key;
	int64_t handed; /* rows */
};

/* ---- the place ---- */

static const hb_range *
range_at(const hb_scan *s, int i)
{
	return &s->ranges.ranges[s->spec.reversed ? s->ranges.n - 1 - i : i];
}

static hb_status
set_at(hb_scan *s, hb_bytes key, bool inclusive)
{
	HB_TRY_MEMORY(s->client, hb_memory_set(&s->client->host, &s->at, key));
	s->at_inclusive = inclusive;
	s->next = STEP_OPEN;
	return HB_OK;
}

/* Moves the place to the beginning of range i, or ends the scan. */
static hb_status
enter_range(hb_scan *s, int i)
{
	const hb_range *r;

	s->range = i;
	if (i >= s->ranges.n)
	{
		s->next = STEP_DONE;
		return HB_OK;
	}
	r = range_at(s, i);
	return s->spec.reversed ? set_at(s, r->stop, r->stop.len == 0 || r->stop_inclusive)
							: set_at(s, r->start, !r->start_exclusive);
}

static hb_status
begin(hb_scan *s)
{
	s->n = s->i = 0;
	s->in_parts = s->has_last = s->passed = false;
	s->n_parts = 0;
	s->parts.len = 0;
	s->handed = s->expected = s->answers = 0;
	return enter_range(s, 0);
}

/* Moves the place behind the region, whose rows have all been received.
 * ended: also behind the range; there are no more rows in it. */
static hb_status
leave_region(hb_scan *s, bool ended)
{
	hb_bytes border = hb_memory_bytes(&s->border);
	int last = s->range_end - 1;
	const hb_range *r = range_at(s, last);
	bool several = last > s->range;

	if (border.len == 0 || (ended && !several))
		return enter_range(s, s->range_end);
	if (s->spec.reversed ? hb_scan_range_begins_at(r, border)
						 : hb_scan_range_ends_before(r, border, false))
		return enter_range(s, s->range_end);
	s->range = last;
	return set_at(s, border, !s->spec.reversed);
}

/* Leaves the ranges that have no row at or behind the place. */
static hb_status
skip_ranges(hb_scan *s)
{
	while (s->next == STEP_OPEN)
	{
		hb_bytes at = hb_memory_bytes(&s->at);
		const hb_range *r = range_at(s, s->range);
		int c = hb_memory_compare(r->start, at);

		if (s->at.len == 0)
			return HB_OK;
		if (s->spec.reversed)
		{
			if (c < 0 || (c == 0 && s->at_inclusive && !r->start_exclusive))
				return HB_OK;
		}
		else if (!hb_scan_range_ends_before(r, at, !s->at_inclusive))
			return c > 0 ? set_at(s, r->start, !r->start_exclusive) : HB_OK;
		HB_TRY(enter_range(s, s->range + 1));
	}
	return HB_OK;
}

/* ---- asking ---- */

static uint32_t
rows_to_ask(const hb_scan *s)
{
	int64_t n = s->spec.rows_per_call > 0 ? s->spec.rows_per_call : ROWS_PER_CALL;

	if (s->answers == 0 && !s->spec.no_read_ahead && n > FIRST_ROWS)
		n = FIRST_ROWS;
	if (s->spec.limit > 0 && s->spec.limit - s->expected < n)
		n = s->spec.limit - s->expected;
	return n < 1 ? 1 : (uint32_t) n;
}

static hb_status
send_scan(hb_scan *s, Hbp__ScanRequest *req)
{
	req->has_number_of_rows = req->has_client_handles_partials = 1;
	req->has_client_handles_heartbeats = 1;
	req->number_of_rows = rows_to_ask(s);
	req->client_handles_partials = req->client_handles_heartbeats = 1;
	if (s->spec.limit > 0 && s->spec.limit > s->expected)
	{
		int64_t left = s->spec.limit - s->expected;

		req->has_limit_of_rows = 1;
		req->limit_of_rows = left > INT32_MAX ? INT32_MAX : (uint32_t) left;
	}
	return hb_rpc_send(s->client, &s->ahead, &s->server, HB_RPC_CLIENT, "Scan", &req->base,
					   (hb_bytes) {NULL, 0});
}

/* Chooses the ranges that the scanner in this region is told: [range, range_end). */
static void
choose_ranges(hb_scan *s, const hb_region *region)
{
	s->range_end = s->range + 1;
	if (s->spec.reversed)
		return;
	while (s->range_end < s->ranges.n && s->range_end - s->range < RANGES_MAX &&
		   (region->end.len == 0 ||
			hb_memory_compare(range_at(s, s->range_end)->start, region->end) < 0))
		s->range_end++;
}

/* Fills in the rows of the scan. */
static hb_status
set_rows(hb_scan *s, Hbp__Scan *m, Hbp__Filter *filter)
{
	const hb_range *r = range_at(s, s->range_end - 1);
	hb_bytes stop = s->spec.reversed ? r->start : r->stop;
	hb_range first = *range_at(s, s->range);

	m->has_start_row = m->has_include_start_row = 1;
	m->start_row = hb_pb(hb_memory_bytes(&s->at));
	m->include_start_row = s->at_inclusive;
	m->has_stop_row = m->has_include_stop_row = stop.len > 0;
	m->stop_row = hb_pb(stop);
	m->include_stop_row = s->spec.reversed ? !r->start_exclusive : r->stop_inclusive;
	m->filter = filter;
	if (s->range_end - s->range > 1)
	{
		hb_range kept = first;
		hb_range *change = &s->ranges.ranges[s->range];

		first.start = hb_memory_bytes(&s->at);
		first.start_exclusive = !s->at_inclusive;
		*change = first;
		m->filter = hb_filter_in_ranges(&s->client->request, change, s->range_end - s->range,
										filter);
		*change = kept;
		if (m->filter == NULL)
			return hb_status_fail(s->client, HB_NOMEM, "out of memory");
	}
	return HB_OK;
}

static hb_status
open_message(hb_scan *s, Hbp__Scan *m, Hbp__NameBytesPair *raw)
{
	static const uint8_t yes[1] = {255}; /* Bytes.toBytes(true) */
	hb_read_message r;

	hb_arena_reset(&s->client->request);
	HB_TRY(hb_read_to_message(s->client, &s->client->request, &s->spec.read, &r));
	m->column = r.columns;
	m->n_column = r.n_columns;
	m->time_range = r.time_range;
	m->has_max_versions = m->has_cache_blocks = m->has_max_result_size = m->has_caching = 1;
	m->max_versions = r.max_versions;
	m->has_store_limit = s->spec.read.family_cells > 0;
	m->store_limit = (uint32_t) s->spec.read.family_cells;
	m->cache_blocks = !s->spec.read.no_cache;
	m->max_result_size = s->spec.bytes_per_call > 0 ? s->spec.bytes_per_call : BYTES_PER_CALL;
	m->caching = rows_to_ask(s);
	m->has_reversed = s->spec.reversed;
	m->reversed = s->spec.reversed;
	/* servers refuse it in reverse, which is their default where a filter needs some families only
	 */
	m->has_load_column_families_on_demand = s->spec.reversed;
	if (s->spec.raw)
	{
		raw->name = hb_pb(hb_text("_raw_"));
		raw->has_value = 1;
		raw->value = hb_pb((hb_bytes) {yes, 1});
		m->n_attribute = 1;
	}
	return set_rows(s, m, r.filter);
}

/* Opens a scanner at the place. */
static hb_status
send_open(hb_scan *s)
{
	Hbp__ScanRequest req = HBP__SCAN_REQUEST__INIT;
	Hbp__Scan m = HBP__SCAN__INIT;
	Hbp__NameBytesPair raw = HBP__NAME_BYTES_PAIR__INIT;
	Hbp__NameBytesPair *attributes[] = {&raw};
	Hbp__RegionSpecifier specifier;
	const hb_region *region;

	HB_TRY(hb_region_find(s->client, s->spec.read.table, hb_memory_bytes(&s->at),
						  s->spec.reversed && (s->at.len == 0 || !s->at_inclusive), &region));
	choose_ranges(s, region);
	m.attribute = attributes;
	HB_TRY(open_message(s, &m, &raw));
	HB_TRY_MEMORY(s->client, hb_memory_set(&s->client->host, &s->border,
										   s->spec.reversed ? region->start : region->end));
	hb_region_server(region, &s->server);
	hb_region_specify(&specifier, region->name);
	req.region = &specifier;
	req.scan = &m;
	s->seq = 0;
	s->stats.regions++;
	return send_scan(s, &req);
}

static hb_status
send_next(hb_scan *s)
{
	Hbp__ScanRequest req = HBP__SCAN_REQUEST__INIT;

	req.has_scanner_id = req.has_next_call_seq = 1;
	req.scanner_id = s->scanner;
	req.next_call_seq = s->seq++;
	return send_scan(s, &req);
}

/* Sends the next call; none if it turns out that the scan is done. */
static hb_status
ask(hb_scan *s)
{
	HB_TRY(skip_ranges(s));
	if (s->next == STEP_DONE)
		return HB_OK;
	HB_TRY(s->next == STEP_OPEN ? send_open(s) : send_next(s));
	s->asked = true;
	return HB_OK;
}

/* ---- taking an answer ---- */

static hb_status
copy_counts(hb_scan *s, const hb_scan_answer *a)
{
	const hb_host *host = &s->client->host;

	if (a->n > INT32_MAX / 2)
		return HB_NOMEM;
	while (s->counts_cap < (int) a->n)
		HB_TRY(hb_memory_array(host, (void **) &s->counts, s->counts_cap, &s->counts_cap,
							   sizeof *s->counts));
	while (s->partial_cap < (int) a->n)
		HB_TRY(hb_memory_array(host, (void **) &s->partial, s->partial_cap, &s->partial_cap,
							   sizeof *s->partial));
	if (a->n > 0)
		memcpy(s->counts, a->counts, a->n * sizeof *s->counts);
	if (a->n > 0 && a->partial != NULL)
		memcpy(s->partial, a->partial, a->n * sizeof *s->partial);
	else if (a->n > 0)
		memset(s->partial, 0, a->n * sizeof *s->partial);
	return HB_OK;
}

/* Takes the place of the last row out of the answer that is about to be overwritten. */
static hb_status
keep_last(hb_scan *s)
{
	if (s->has_last && s->last.data != s->last_key.data)
	{
		HB_TRY_MEMORY(s->client, hb_memory_set(&s->client->host, &s->last_key, s->last));
		s->last = hb_memory_bytes(&s->last_key);
	}
	if (s->passed)
		s->has_last = false;
	return HB_OK;
}

/* Waits for the answer to ahead; makes it the current one. */
static hb_status
take(hb_scan *s)
{
	hb_scan_answer a;
	hb_call old;

	s->n = s->i = 0;
	HB_TRY(keep_last(s));
	/* the caller may have been busy with rows for long */
	s->ahead.deadline_us = hb_now(s->client) + (int64_t) s->client->call_timeout_ms * 1000;
	HB_TRY(hb_scan_call_finish(s->client, &s->ahead, &a));
	HB_TRY_MEMORY(s->client, copy_counts(s, &a));
	s->asked = false;
	old = s->current;
	s->current = s->ahead;
	s->ahead = old;
	s->block = s->current.cells;
	s->n = (int) a.n;
	s->passed = s->ahead_failed = false;
	s->answers++;
	s->stats.calls++;
	s->stats.bytes += (int64_t) s->current.frame.len;
	for (int i = 0; i < s->n; i++)
		s->expected += !s->partial[i];
	hb_rpc_progress(s->client, &s->retry);
	if (s->next == STEP_OPEN && a.has_scanner)
		s->scanner = a.scanner;
	if (a.more && a.more_here && (a.has_scanner || s->next == STEP_NEXT))
	{
		s->next = STEP_NEXT;
		return HB_OK;
	}
	s->passed = true;
	return leave_region(s, !a.more);
}

/* After a failure of ahead: goes back behind the last whole row.  Returns HB_OK if that is worth
 * it. */
static hb_status
recover(hb_scan *s)
{
	hb_client *c = s->client;

	hb_connection_drop(&s->ahead);
	s->asked = false;
	s->in_parts = false;
	s->n = s->i = 0;
	if (s->next == STEP_NEXT)
		s->next = STEP_OPEN;
	if (s->has_last && !s->passed)
	{
		hb_failure kept = c->failure;

		HB_TRY(set_at(s, s->last, false));
		s->has_last = false;
		c->failure = kept;
	}
	if (c->failure.cure == HB_CURE_REOPEN)
		c->failure.cure = HB_CURE_RETRY;
	HB_TRY(hb_region_retry(c, &s->retry, s->spec.read.table));
	s->stats.retries++;
	return HB_OK;
}

/* ---- rows ---- */

static hb_status
garbage(hb_scan *s)
{
	return hb_status_fail(s->client, HB_PROTOCOL, "the cells of a row cannot be understood");
}

/* Decodes n cells of the block as a row. */
static hb_status
decode(hb_scan *s, hb_bytes *block, uint32_t n, hb_row *row)
{
	hb_bytes key = {NULL, 0};

	if (n == 0 || n > block->len / HB_CELL_BLOCK_FIXED)
		return garbage(s);
	while (s->cells_cap < (int) n)
		HB_TRY_MEMORY(s->client, hb_memory_array(&s->client->host, (void **) &s->cells,
												 s->cells_cap, &s->cells_cap, sizeof *s->cells));
	for (uint32_t i = 0; i < n; i++)
	{
		if (!hb_cell_block_next(block, &key, &s->cells[i]))
			return garbage(s);
		if (i == 0)
			row->key = key;
		else if (!hb_memory_equal(row->key, key))
			return garbage(s);
	}
	row->cells = s->cells;
	row->n_cells = (int) n;
	return HB_OK;
}

/* Counts a whole row that is handed out. */
static hb_status
hand_out(hb_scan *s, const hb_row *row)
{
	s->last = row->key;
	s->has_last = true;
	s->handed++;
	s->stats.rows++;
	s->stats.cells += row->n_cells;
	return HB_OK;
}

/* Hands out the row that was put together. */
static hb_status
hand_out_parts(hb_scan *s, hb_row *row)
{
	hb_bytes block = hb_memory_bytes(&s->parts);

	s->in_parts = false;
	HB_TRY(decode(s, &block, (uint32_t) s->n_parts, row));
	HB_TRY(hand_out(s, row));
	/* the parts may be overwritten before the answer is */
	HB_TRY_MEMORY(s->client, hb_memory_set(&s->client->host, &s->last_key, row->key));
	s->last = hb_memory_bytes(&s->last_key);
	return HB_OK;
}

/* Adds the cells of the next result to the parts. */
static hb_status
add_part(hb_scan *s)
{
	const uint8_t *from = s->block.data;
	uint32_t n = s->counts[s->i];

	if (!s->in_parts)
	{
		s->parts.len = 0;
		s->n_parts = 0;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		size_t len = hb_cell_block_length(s->block);

		if (len == 0)
			return garbage(s);
		s->block.data += len;
		s->block.len -= len;
	}
	HB_TRY_MEMORY(s->client, hb_memory_append(&s->client->host, &s->parts, from,
											  (size_t) (s->block.data - from)));
	if (s->parts.len > s->client->max_response)
		return hb_status_fail(s->client, HB_TOOLARGE, "a row is larger than %zu bytes",
							  s->client->max_response);
	s->n_parts += (int) n;
	s->in_parts = s->partial[s->i++];
	return HB_OK;
}

/* Returns true if the next result is of the row in parts. */
static bool
continues(hb_scan *s)
{
	hb_bytes a = hb_memory_bytes(&s->parts);
	hb_bytes b = s->block;
	hb_bytes key;
	hb_bytes next;
	hb_cell cell;

	return hb_cell_block_next(&a, &key, &cell) && hb_cell_block_next(&b, &next, &cell) &&
		   hb_memory_equal(key, next);
}

/* Handles the next result.  Returns HB_END if it did not complete a row. */
static hb_status
next_result(hb_scan *s, hb_row *row)
{
	bool whole = !s->partial[s->i];

	if (s->counts[s->i] == 0)
	{
		s->i++;
		return HB_END;
	}
	if (s->in_parts && !continues(s))
		return hand_out_parts(s, row);
	if (!s->in_parts && whole)
	{
		HB_TRY(decode(s, &s->block, s->counts[s->i++], row));
		return hand_out(s, row);
	}
	HB_TRY(add_part(s));
	return s->in_parts ? HB_END : hand_out_parts(s, row);
}

/* Sends the next call while rows are handed out.  What fails here fails again when the rows are
 * needed. */
static void
read_ahead(hb_scan *s)
{
	hb_failure kept;

	if (s->asked || s->next == STEP_DONE || s->spec.no_read_ahead || s->ahead_failed ||
		(s->answers <= 1 && s->i < s->n / 2) ||
		(s->spec.limit > 0 && (s->expected >= s->spec.limit || s->partial[s->n - 1])))
		return;
	kept = s->client->failure;
	s->client->deadline_us = hb_now(s->client) + (int64_t) s->client->timeout_ms * 1000;
	if (ask(s) != HB_OK)
	{
		hb_connection_drop(&s->ahead);
		s->ahead_failed = true;
	}
	s->client->failure = kept;
}

/* Ends the scanner that the server has. */
static void
close_scanner(hb_scan *s)
{
	hb_connection_drop(&s->ahead);
	if (s->next == STEP_NEXT)
	{
		Hbp__ScanRequest req = HBP__SCAN_REQUEST__INIT;
		hb_failure kept = s->client->failure;

		req.has_scanner_id = req.has_close_scanner = req.has_number_of_rows = 1;
		req.scanner_id = s->scanner;
		req.close_scanner = 1;
		s->client->deadline_us = INT64_MAX;
		(void) hb_rpc_send(s->client, &s->ahead, &s->server, HB_RPC_CLIENT, "Scan", &req.base,
						   (hb_bytes) {NULL, 0});
		hb_connection_drop(&s->ahead);
		s->client->failure = kept;
	}
	s->asked = false;
	s->next = STEP_DONE;
}

/* Waits for the next answer, again after failures.  Errors: HB_END if there is none. */
static hb_status
next_answer(hb_scan *s)
{
	hb_rpc_begin(s->client, &s->retry);
	for (;;)
	{
		hb_status st = s->asked ? HB_OK : ask(s);

		if (st == HB_OK && !s->asked)
			return HB_END;
		if (st == HB_OK)
			st = take(s);
		if (st == HB_OK)
			return HB_OK;
		HB_TRY(recover(s));
	}
}

hb_status
hb_scan_next(hb_scan *s, hb_row *row)
{
	for (;;)
	{
		if (s->spec.limit > 0 && s->handed >= s->spec.limit)
		{
			close_scanner(s);
			return HB_END;
		}
		if (s->i < s->n)
		{
			hb_status st;

			read_ahead(s);
			st = next_result(s, row);
			if (st != HB_END)
				return st;
		}
		else if (s->in_parts && s->passed)
			return hand_out_parts(s, row);
		else
			HB_TRY(next_answer(s));
	}
}

/* ---- life ---- */

static hb_status
set_ranges(hb_scan *s, const hb_range *ranges, int n, const hb_range *within)
{
	hb_status st;

	hb_arena_reset(&s->range_arena);
	st = hb_scan_range_copy(&s->range_arena, ranges, n, within, &s->ranges);
	if (st == HB_INVALID)
		return hb_status_fail(s->client, st, "ranges of rows are not sorted, or overlap");
	HB_TRY_MEMORY(s->client, st);
	return begin(s);
}

hb_status
hb_scan_open(hb_client *client, const hb_scan_spec *spec, hb_scan **scan)
{
	hb_scan *s = client->host.alloc(client->host.ctx, sizeof *s);
	hb_status st;

	*scan = NULL;
	if (s == NULL)
		return hb_status_fail(client, HB_NOMEM, "out of memory");
	memset(s, 0, sizeof *s);
	s->client = client;
	s->spec = *spec;
	s->next = STEP_DONE;
	hb_arena_init(&s->arena, &client->host);
	hb_arena_init(&s->range_arena, &client->host);
	st = hb_read_copy(client, &s->arena, &spec->read, &s->spec.read);
	if (st == HB_OK)
		st = set_ranges(s, spec->ranges, spec->n_ranges, spec->within);
	if (st != HB_OK)
	{
		hb_scan_close(s);
		return st;
	}
	*scan = s;
	return HB_OK;
}

hb_status
hb_scan_restart(hb_scan *s, const hb_range *ranges, int n_ranges, const hb_range *within)
{
	close_scanner(s);
	return ranges == NULL ? begin(s) : set_ranges(s, ranges, n_ranges, within);
}

const hb_scan_stats *
hb_scan_statistics(const hb_scan *scan)
{
	return &scan->stats;
}

void
hb_scan_close(hb_scan *s)
{
	const hb_host *host;

	if (s == NULL)
		return;
	host = &s->client->host;
	close_scanner(s);
	hb_rpc_free(s->client, &s->ahead);
	hb_rpc_free(s->client, &s->current);
	hb_arena_free(&s->arena);
	hb_arena_free(&s->range_arena);
	hb_memory_free(host, &s->at);
	hb_memory_free(host, &s->border);
	hb_memory_free(host, &s->parts);
	hb_memory_free(host, &s->last_key);
	host->free(host->ctx, s->counts);
	host->free(host->ctx, s->partial);
	host->free(host->ctx, s->cells);
	host->free(host->ctx, s);
}
