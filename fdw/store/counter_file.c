/*
 * counter_file.c
 *		pg_stat/widetable.stat: the engine's counters between two runs of the server.
 *
 * As with PostgreSQL's own statistics, a clean shutdown writes the file and the next start
 * reads and removes it.  So no counter is older than a crash: after one they begin at 0, and
 * stats_reset says since when.
 *
 * Layout, in the byte order of the machine:
 *
 *      0  8 bytes  "widestat"
 *      8  u32      1, the format
 *     12  u32      n, number of counters
 *     16  i64      when they began at 0, microseconds since 1970
 *     24  n u64    counters, in the order of the engine's list
 *         u32      CRC-32C of all before
 *
 * A file that is not exactly this is ignored.
 */
#include "postgres.h"

#include "fdw/store/counter_file.h"

#include <unistd.h>

#include "pgstat.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"

#include "fdw/store/clock.h"
#include "fdw/store/compat.h"
#include "utils/timestamp.h"

#define PATH	  PGSTAT_STAT_PERMANENT_DIRECTORY "/widetable.stat"
#define TEMPORARY PATH ".tmp"

typedef struct CounterFile
{
	char magic[8];
	uint32 format;
	uint32 n;
	int64 since;
	uint64 values[WIDE_COUNTERS_MAX];
} CounterFile;

static const char magic[8] = {'w', 'i', 'd', 'e', 's', 't', 'a', 't'};

/* Returns: the bytes before the checksum. */
static Size
body_bytes(uint32 n)
{
	return offsetof(CounterFile, values) + n * sizeof(uint64);
}

static pg_crc32c
checksum(const void *data, Size len)
{
	pg_crc32c crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, len);
	FIN_CRC32C(crc);
	return crc;
}

/* Returns: false if the bytes are not what wt_counter_file_save writes. */
static bool
is_good(const CounterFile *f, const char *bytes, Size len)
{
	pg_crc32c stored;

	if (len < body_bytes(0) || memcmp(f->magic, magic, sizeof(magic)) != 0 || f->format != 1 ||
		f->n > WIDE_COUNTERS_MAX || len != body_bytes(f->n) + sizeof(pg_crc32c))
		return false;
	memcpy(&stored, bytes + body_bytes(f->n), sizeof(stored));
	return EQ_CRC32C(stored, checksum(bytes, body_bytes(f->n)));
}

void
wt_counter_file_load(wide_db *db)
{
	/* one byte more than a file may have */
	char bytes[sizeof(CounterFile) + sizeof(pg_crc32c) + 1];
	CounterFile f = {0};
	Size len = 0;
	FILE *file = AllocateFile(PATH, PG_BINARY_R);

	if (file != NULL)
	{
		len = fread(bytes, 1, sizeof(bytes), file);
		FreeFile(file);
		memcpy(&f, bytes, Min(len, sizeof(f)));
		if (!is_good(&f, bytes, len))
		{
			ereport(LOG, (errmsg("widetable: ignoring invalid file \"%s\"", PATH),
						  errdetail("The counters of pg_stat_widetable begin at 0.")));
			f = (CounterFile) {0};
		}
		/* what it has is from before a crash when it is read again */
		(void) unlink(PATH);
	}
	wide_counters_load(db, f.values, (int) f.n,
					   f.since != 0 ? f.since : GetCurrentTimestamp() + WT_EPOCH_DIFF);
}

void
wt_counter_file_remove(void)
{
	(void) unlink(PATH);
}

void
wt_counter_file_save(wide_db *db)
{
	CounterFile f = {.format = 1};
	int64_t since;
	uint64_t values[WIDE_COUNTERS_MAX];
	pg_crc32c crc;
	FILE *file;
	bool good;

	memcpy(f.magic, magic, sizeof(magic));
	f.n = (uint32) wide_counters_save(db, values, &since);
	f.since = since;
	for (uint32 i = 0; i < f.n; i++)
		f.values[i] = values[i];
	crc = checksum(&f, body_bytes(f.n));
	file = AllocateFile(TEMPORARY, PG_BINARY_W);
	good = file != NULL && fwrite(&f, body_bytes(f.n), 1, file) == 1 &&
		   fwrite(&crc, sizeof(crc), 1, file) == 1;
	if (file != NULL && FreeFile(file) != 0)
		good = false;
	if (good)
		(void) durable_rename(TEMPORARY, PATH, LOG);
	else
	{
		ereport(LOG, (errcode_for_file_access(),
					  errmsg("widetable: could not write file \"%s\": %m", TEMPORARY)));
		(void) unlink(TEMPORARY);
	}
}
