/*
 * export_functions.c
 *		SQL functions that take a table's cells out and in again: export_cells,
 *		import_cells.
 *
 * A chunk is a bytea that can be imported by itself.  It has cells of one family, in key
 * order:
 *
 *		"WTC1"			  the format
 *		a zstd frame	  with its size and a checksum, of:
 *			varint		  salt_buckets of the table, 0 if it has none
 *			varint, bytes name of the family
 *			cells, to the end of the frame:
 *				byte		  bits, see CELL_*
 *				varint, bytes the row key as stored, unless CELL_SAME_KEY
 *				varint, bytes the qualifier, unless CELL_SAME_QUALIFIER
 *				varint		  timestamp minus that of the cell before it (0 for the first),
 *							  as 2n or -2n - 1
 *				varint		  time to live in microseconds, if CELL_TTL
 *				varint, bytes the value
 *
 * A varint has 7 bits in each byte, the lowest first; all bytes but the last have bit 7 set.
 *
 * A chunk comes from anywhere: import_cells checks each length before it is used.  Row keys and
 * values may be any bytes, as in a foreign table of layout cells with a key column of type bytea.
 * Only who owns the table may make one of these, and so import_cells is for the owner, too.
 */
#include "postgres.h"

#include <zstd.h>

#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "engine/wide.h"
#include "fdw/ddl/engine_table.h"
#include "fdw/func/call.h"
#include "fdw/store/bytes.h"
#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "fdw/store/error.h"
#include "fdw/table/engine.h"
#include "fdw/table/types.h"
#include "fdw/xact/batch.h"
#include "fdw/xact/derive.h"
#include "fdw/xact/engine_scan.h"
#include "fdw/xact/wal_usage.h"

static const char magic[4] = {'W', 'T', 'C', '1'};

/* A chunk ends with the cell that reaches this size, in bytes before compression; in a family whose
 * values are appended, with the last cell of that column: their order is that of their imports if
 * these are not in one transaction. */
#define CHUNK_SIZE (512 * 1024)
/* a chunk has at most that much: the size, and one cell; or cells that come to one value */
#define CHUNK_MAX \
	(CHUNK_SIZE + 3 * (size_t) WIDE_MAX_VALUE + WIDE_MAX_QUALIFIER + WIDE_MAX_ROW + 1024)

#define CELL_SAME_KEY		0x01
#define CELL_SAME_QUALIFIER 0x02
#define CELL_TTL			0x04
#define CELL_BITS			0x07

/* ----------------------------------------------------------------- export */

/* A chunk under construction. */
typedef struct Chunk
{
	WtCall *call;
	const char *family;
	ReturnSetInfo *rsinfo;
	ZSTD_CCtx *zstd;
	StringInfoData raw; /* before compression; empty: the chunk has no cell */
	/* of the last cell; they are in raw */
	size_t key_at, key_len, qual_at, qual_len;
	int64 ts;
} Chunk;

static void
put_varint(StringInfo out, uint64 v)
{
	enlargeStringInfo(out, 10);
	for (; v >= 0x80; v >>= 7)
		appendStringInfoCharMacro(out, (char) (v | 0x80));
	appendStringInfoCharMacro(out, (char) v);
}

/* Appends length and bytes.  Returns: where the bytes are. */
static size_t
put_bytes(StringInfo out, const void *data, size_t len)
{
	put_varint(out, len);
	appendBinaryStringInfo(out, data != NULL ? data : "", (int) len);
	return (size_t) out->len - len;
}

static void
chunk_add(Chunk *k, wide_bytes key, const wide_cell *cell)
{
	StringInfo out = &k->raw;
	bool first = out->len == 0;
	int bits = cell->ttl_us > 0 ? CELL_TTL : 0;
	int64 before = first ? 0 : k->ts;
	uint64 step;

	if (first)
	{
		put_varint(out, (uint64) k->call->t->salt_buckets);
		put_bytes(out, k->family, strlen(k->family));
	}
	else
	{
		if (wt_bytes_equal(out->data + k->key_at, k->key_len, key.data, key.len))
			bits |= CELL_SAME_KEY;
		if (wt_bytes_equal(out->data + k->qual_at, k->qual_len, cell->qualifier.data,
						   cell->qualifier.len))
			bits |= CELL_SAME_QUALIFIER;
	}
	appendStringInfoChar(out, (char) bits);
	if (!(bits & CELL_SAME_KEY))
	{
		k->key_at = put_bytes(out, key.data, key.len);
		k->key_len = key.len;
	}
	if (!(bits & CELL_SAME_QUALIFIER))
	{
		k->qual_at = put_bytes(out, cell->qualifier.data, cell->qualifier.len);
		k->qual_len = cell->qualifier.len;
	}
	/* no overflow: both are at least 0 */
	step = (uint64) cell->ts - (uint64) before;
	put_varint(out, (int64) step < 0 ? ~(step << 1) : step << 1);
	k->ts = cell->ts;
	if (bits & CELL_TTL)
		put_varint(out, (uint64) cell->ttl_us);
	put_bytes(out, cell->value.data, cell->value.len);
}

/* Adds the chunk to the result, and begins a new one. */
static void
chunk_end(Chunk *k)
{
	size_t room = ZSTD_compressBound((size_t) k->raw.len);
	char *out;
	size_t n;
	Datum value;
	bool null = false;

	if (k->raw.len == 0)
		return;
	out = palloc(VARHDRSZ + sizeof(magic) + room);
	memcpy(out + VARHDRSZ, magic, sizeof(magic));
	n = ZSTD_compress2(k->zstd, out + VARHDRSZ + sizeof(magic), room, k->raw.data,
					   (size_t) k->raw.len);
	if (ZSTD_isError(n))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not compress cells: %s", ZSTD_getErrorName(n))));
	SET_VARSIZE(out, VARHDRSZ + sizeof(magic) + n);
	value = PointerGetDatum(out);
	tuplestore_putvalues(k->rsinfo->setResult, k->rsinfo->setDesc, &value, &null);
	pfree(out);
	resetStringInfo(&k->raw);
	/* after a large cell: its memory is not kept */
	if (k->raw.maxlen > 4 * CHUNK_SIZE)
	{
		pfree(k->raw.data);
		initStringInfo(&k->raw);
	}
}

/* Returns true if the cell is of the column of the chunk's last one. */
static bool
goes_on(const Chunk *k, wide_bytes key, const wide_cell *cell)
{
	const char *raw = k->raw.data;

	return k->raw.len > 0 && wt_bytes_equal(raw + k->key_at, k->key_len, key.data, key.len) &&
		   wt_bytes_equal(raw + k->qual_at, k->qual_len, cell->qualifier.data, cell->qualifier.len);
}

/* Adds the versions of a family that the statement sees, of rows in the range. */
static void
export_family(Chunk *k, const wide_family *family, wide_range *range)
{
	wide_scan_family f = {.id = family->id, .want = WIDE_WANT_ALL, .max_versions = PG_INT32_MAX};
	wide_scan_spec spec = {
		.families = &f, .nfamilies = 1, .ranges = range, .nranges = 1, .operands = true};
	int64 as_of = wt_clock_as_of();
	bool appends = family->opt.merge == WIDE_MERGE_APPEND;
	WtEngineScan *scan;
	wide_row row;

	if (as_of != PG_INT64_MAX)
	{
		spec.ts_min = PG_INT64_MIN;
		spec.ts_max = as_of + 1;
	}
	k->family = family->name;
	scan = wt_engine_scan_open(GetActiveSnapshot(), &spec);
	while (wt_engine_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < row.ncells; i++)
		{
			if (k->raw.len >= CHUNK_SIZE && !(appends && goes_on(k, row.key, &row.cells[i])))
				chunk_end(k);
			chunk_add(k, row.key, &row.cells[i]);
		}
	}
	chunk_end(k);
	wt_engine_scan_close(scan);
}

/* The compressor, whose memory is malloc'd, is freed with the memory context. */
static void
free_compressor(void *arg)
{
	ZSTD_freeCCtx(arg);
}

static ZSTD_CCtx *
make_compressor(void)
{
	MemoryContextCallback *cb = palloc(sizeof(*cb));
	ZSTD_CCtx *c = ZSTD_createCCtx();

	if (c == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	cb->func = free_compressor;
	cb->arg = c;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, cb);
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	return c;
}

/* Returns: argument n, a stored key; NULL if it is null. */
static wide_bytes
key_bound(FunctionCallInfo fcinfo, int n)
{
	struct varlena *v;

	if (PG_ARGISNULL(n))
		return (wide_bytes) {NULL, 0};
	v = PG_GETARG_VARLENA_PP(n);
	return (wide_bytes) {(const uint8 *) VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v)};
}

PG_FUNCTION_INFO_V1(wt_sql_export_cells);

Datum
wt_sql_export_cells(PG_FUNCTION_ARGS)
{
	WtCall c;
	Chunk chunk = {.call = &c, .rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};
	wide_range range = {key_bound(fcinfo, 1), key_bound(fcinfo, 2)};
	MemoryContext cxt, old;
	wide_family *families;
	int n;

	wt_call_rel(&c, fcinfo, "export_cells()", 0, ACL_SELECT);
	wt_call_acl(&c, ACL_SELECT, NULL);
	wt_engine_require(c.t, WT_CAN_MAINTAIN, "cannot export the cells of");
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (range.lo.data == NULL)
		range.lo = (wide_bytes) {(const uint8 *) "", 0};
	if (range.hi.data != NULL && wt_bytes_cmp(range.lo, range.hi) >= 0)
		return (Datum) 0;
	if (!wt_engine_table(c.t, false, &c.e))
		return (Datum) 0;
	cxt = AllocSetContextCreate(CurrentMemoryContext, "widetable export", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(cxt);
	chunk.zstd = make_compressor();
	initStringInfo(&chunk.raw);
	families = wt_engine_table_families(&c.e, &n);
	for (int i = 0; i < n; i++)
		export_family(&chunk, &families[i], &range);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return (Datum) 0;
}

/* ----------------------------------------------------------------- import */

/* What is left of a chunk's contents. */
typedef struct Rest
{
	const uint8 *p, *end;
} Rest;

static void
malformed(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid chunk of cells"),
			 errdetail("%s", what),
			 errhint("widetable.export_cells() makes chunks.")));
}

static uint64
take_varint(Rest *in)
{
	uint64 v = 0;

	for (int shift = 0; shift < 64; shift += 7)
	{
		uint8 b;

		if (in->p >= in->end)
			malformed("It ends within a number.");
		b = *in->p++;
		if (shift == 63 && b > 1)
			break;
		v |= (uint64) (b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	malformed("A number has more than 64 bits.");
	return 0; /* keep compiler quiet */
}

static wide_bytes
take_bytes(Rest *in)
{
	uint64 len = take_varint(in);
	const uint8 *p = in->p;

	if (len > (uint64) (in->end - in->p))
		malformed("It ends within a key, qualifier or value.");
	in->p += len;
	return (wide_bytes) {p, len};
}

/* Returns: the contents of the chunk, palloc'd. */
static Rest
unpack(struct varlena *chunk)
{
	const char *p = VARDATA_ANY(chunk);
	size_t len = VARSIZE_ANY_EXHDR(chunk);
	unsigned long long size;
	uint8 *out;
	size_t n;

	if (len < sizeof(magic) || memcmp(p, magic, sizeof(magic)) != 0)
		malformed("It does not begin with \"WTC1\".");
	p += sizeof(magic);
	len -= sizeof(magic);
	size = ZSTD_getFrameContentSize(p, len);
	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > CHUNK_MAX)
		malformed("Its size is wrong.");
	out = palloc(size + 1);
	n = ZSTD_decompress(out, size, p, len);
	if (ZSTD_isError(n))
		malformed(ZSTD_getErrorName(n));
	if (n != size)
		malformed("Its size is wrong.");
	return (Rest) {out, out + n};
}

/* Takes the head of the contents.  Returns: the family that the cells are for. */
static wide_family_id
take_head(WtCall *c, Rest *in)
{
	uint64 salt = take_varint(in);
	wide_bytes name = take_bytes(in);
	char family[WIDE_MAX_FAMILY + 1];
	wide_family_id id;

	if (salt != (uint64) c->t->salt_buckets)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot import cells into \"%s\"", c->relname),
				 errdetail("They are of a table with salt_buckets " UINT64_FORMAT
						   ", and this one has %d (0: none).",
						   salt, c->t->salt_buckets)));
	if (name.len == 0 || name.len > WIDE_MAX_FAMILY || memchr(name.data, 0, name.len) != NULL)
		malformed("The name of the family is wrong.");
	memcpy(family, name.data, name.len);
	family[name.len] = '\0';
	/* it becomes part of an error's text */
	pg_verify_mbstr(GetDatabaseEncoding(), family, (int) name.len, false);
	id = wt_engine_table_family_by_name(c->t, &c->e, family);
	if (id == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("cannot import cells into \"%s\": there is no family \"%s\"", c->relname,
						family),
				 errhint("ALTER FOREIGN TABLE ... OPTIONS (SET families ...) adds it.")));
	return id;
}

/* Takes a cell; *key, *cell: the one before it, and then this one. */
static void
take_cell(Rest *in, bool first, wide_bytes *key, wide_cell *cell)
{
	int bits = *in->p++;
	uint64 step;

	if ((bits & ~CELL_BITS) || (first && (bits & (CELL_SAME_KEY | CELL_SAME_QUALIFIER))))
		malformed("A cell has unknown bits.");
	if (!(bits & CELL_SAME_KEY))
		*key = take_bytes(in);
	if (!(bits & CELL_SAME_QUALIFIER))
		cell->qualifier = take_bytes(in);
	step = take_varint(in);
	step = (step >> 1) ^ (0 - (step & 1));
	cell->ts = (int64) ((uint64) (first ? 0 : cell->ts) + step);
	if (cell->ts < 0 || cell->ts == WIDE_TS_MAX)
		malformed("A timestamp is out of range.");
	cell->ttl_us = 0;
	if (bits & CELL_TTL)
	{
		uint64 ttl = take_varint(in);

		if (ttl == 0 || ttl > PG_INT64_MAX)
			malformed("A time to live is out of range.");
		cell->ttl_us = (int64) ttl;
	}
	cell->value = take_bytes(in);
	if (key->len == 0 || key->len > WIDE_MAX_ROW || cell->qualifier.len > WIDE_MAX_QUALIFIER ||
		cell->value.len > WIDE_MAX_VALUE)
		malformed("A key, qualifier or value has a wrong length.");
}

PG_FUNCTION_INFO_V1(wt_sql_import_cells);

Datum
wt_sql_import_cells(PG_FUNCTION_ARGS)
{
	WtCall c;
	Rest in;
	wide_family_id family;
	wide_bytes key = {0};
	wide_cell cell = {0};
	int64 n = 0;

	wt_call_rel(&c, fcinfo, "import_cells()", CMD_INSERT, WT_CALL_OWNER);
	wt_engine_require(c.t, WT_CAN_MAINTAIN, "cannot import cells into");
	wt_call_need_arg(fcinfo, 1, "cells");
	in = unpack(PG_GETARG_VARLENA_PP(1));
	wt_call_engine(&c, true);
	family = take_head(&c, &in);
	wt_batch_command();
	for (; in.p < in.end; n++)
	{
		CHECK_FOR_INTERRUPTS();
		take_cell(&in, n == 0, &key, &cell);
		(void) wt_derive_before_put(c.t, family, key, cell.qualifier, cell.ts, PG_INT64_MIN,
									cell.ttl_us);
		wt_error_check(wide_batch_put(wt_batch(true), family, key, cell.qualifier, cell.ts,
									  PG_INT64_MIN, cell.ttl_us, cell.value),
					   "could not import cells");
		wt_wal_usage_charge();
	}
	wt_derive_settle();
	PG_RETURN_INT64(n);
}
