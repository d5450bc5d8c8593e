/*
 * type_io.c
 *		Values of any type as text, by the type's input and output functions.
 *
 * The session's settings for dates, intervals and numbers change neither the stored
 * bytes nor how they are read: they are replaced by fixed ones during each call.
 */
#include "postgres.h"

#include "fdw/table/type_io.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "fdw/store/bytes.h"
#include "fdw/table/types.h"

/*
 * The functions of one type.  Entries are never freed: a type may change while its
 * function runs.  A change marks the entry, and the next lookup compares the functions.
 */
typedef struct IoEntry
{
	Oid typid; /* hash key */
	bool stale;
	Oid ioparam; /* of the input function */
	FmgrInfo in;
	FmgrInfo out;
} IoEntry;

static HTAB *io_cache;

static void
io_invalidate(Datum arg, int cacheid, uint32 hashvalue)
{
	HASH_SEQ_STATUS scan;
	IoEntry *e;

	hash_seq_init(&scan, io_cache);
	while ((e = hash_seq_search(&scan)) != NULL)
		e->stale = true;
}

static IoEntry *
io_lookup(Oid typid)
{
	IoEntry *e;
	bool found;
	bool varlena;
	Oid in_oid, out_oid, ioparam;

	if (io_cache == NULL)
	{
		HASHCTL ctl = {
			.keysize = sizeof(Oid), .entrysize = sizeof(IoEntry), .hcxt = CacheMemoryContext};

		io_cache = hash_create("widetable type I/O", 16, &ctl,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		CacheRegisterSyscacheCallback(TYPEOID, io_invalidate, (Datum) 0);
	}
	e = hash_search(io_cache, &typid, HASH_FIND, NULL);
	if (e && !e->stale)
		return e;
	getTypeInputInfo(typid, &in_oid, &ioparam);
	getTypeOutputInfo(typid, &out_oid, &varlena);
	e = hash_search(io_cache, &typid, HASH_ENTER, &found);
	e->stale = true; /* an error leaves the entry marked */
	if (!found || e->in.fn_oid != in_oid || e->out.fn_oid != out_oid)
	{
		e->in.fn_oid = e->out.fn_oid = InvalidOid;
		fmgr_info_cxt(in_oid, &e->in, CacheMemoryContext);
		fmgr_info_cxt(out_oid, &e->out, CacheMemoryContext);
	}
	e->ioparam = ioparam;
	e->stale = false;
	return e;
}

/* The session's settings of output and input styles */
typedef struct Styles
{
	int date, interval, digits;
} Styles;

/* Sets the fixed ones.  Returns those of the session. */
static Styles
styles_set(void)
{
	Styles save = {DateStyle, IntervalStyle, extra_float_digits};

	DateStyle = USE_ISO_DATES;
	IntervalStyle = INTSTYLE_POSTGRES;
	extra_float_digits = 3;
	return save;
}

static void
styles_restore(const Styles *save)
{
	DateStyle = save->date;
	IntervalStyle = save->interval;
	extra_float_digits = save->digits;
}

void
wt_type_io_output(const WtColumn *c, Datum value, StringInfo out)
{
	IoEntry *io = io_lookup(c->typid);
	char *s = NULL;
	Styles save = styles_set();

	PG_TRY();
	{
		s = OutputFunctionCall(&io->out, value);
	}
	PG_FINALLY();
	{
		styles_restore(&save);
	}
	PG_END_TRY();
	appendBinaryStringInfo(out, s, strlen(s));
	pfree(s);
}

static void
decode_error_context(void *arg)
{
	const WtColumn *c = arg;

	/* bad input for the type's function is corrupt data here */
	if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_DATA_EXCEPTION)
		errcode(ERRCODE_DATA_CORRUPTED);
	errcontext("decoding column \"%s\"", c->name);
}

Datum
wt_type_io_input(const WtColumn *c, const uint8 *data, size_t len)
{
	IoEntry *io = io_lookup(c->typid);
	ErrorContextCallback context = {error_context_stack, decode_error_context,
									unconstify(WtColumn *, c)};
	Styles save;
	Datum result = (Datum) 0;
	char *s = palloc(len + 1);

	wt_bytes_copy(s, data, len);
	s[len] = '\0';
	error_context_stack = &context;
	save = styles_set();
	PG_TRY();
	{
		result = InputFunctionCall(&io->in, s, io->ioparam, c->typmod);
	}
	PG_FINALLY();
	{
		styles_restore(&save);
	}
	PG_END_TRY();
	error_context_stack = context.previous;
	pfree(s);
	return result;
}

void
wt_type_io_check(const WtColumn *c, Datum value)
{
	StringInfoData text;

	/* input functions check the domains that they meet */
	initStringInfo(&text);
	wt_type_io_output(c, value, &text);
	(void) wt_type_io_input(c, (const uint8 *) text.data, text.len);
	pfree(text.data);
}

Datum
wt_type_io_convert(Datum value, Oid from, Oid to, int32 typmod)
{
	char *text;
	Oid input, ioparam;

	if (from == UNKNOWNOID)
		text = DatumGetCString(value);
	else
	{
		Oid output;
		bool varlena;

		getTypeOutputInfo(from, &output, &varlena);
		text = OidOutputFunctionCall(output, value);
	}
	getTypeInputInfo(to, &input, &ioparam);
	return OidInputFunctionCall(input, text, ioparam, typmod);
}
