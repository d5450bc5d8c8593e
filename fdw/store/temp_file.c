/*
 * temp_file.c
 *		The engine's temporary files as temporary files of PostgreSQL: they obey
 *		temp_file_limit, go to temp_tablespaces, and appear in pg_stat_database and, by
 *		log_temp_files, in the log.
 *
 * PostgreSQL has no function that counts bytes against temp_file_limit, and its temporary
 * files keep their names, which spill files do not, so that nothing of them is left when
 * the process dies.  So each spill file has a temporary file of PostgreSQL beside it, its
 * account: PostgreSQL chooses its tablespace, and so that of the spill file; it gets the
 * size of the spill file by one byte at its end, takes a block on disk, and is closed, and
 * so reported, when the spill file is.
 *
 * Invariants
 *	- These functions are called in the process's own thread, in a transaction, and end
 *	  before it does: an account belongs to the top transaction's resource owner, and the
 *	  batch is freed before that is released.
 *	- An account is at least as large as its spill file at any time.
 *	- No error leaves this file: the engine does not expect one.
 */
#include "postgres.h"

#include "fdw/store/temp_file.h"

#include "access/xact.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "fdw/store/compat.h"
#include "fdw/store/wait_event.h"
#include "fdw/store/error.h"

#define SUFFIX ".spill" /* of a spill file's name, after that of its account */

static char failure[1024]; /* the text of the last failure */

void
wt_temp_file_prepare(void)
{
	PrepareTempTablespaces();
}

static File
file_of(void *account)
{
	return (File) (intptr_t) account;
}

/* Returns: the status of a failed system call, errno; its text is in failure. */
static wide_status
system_failure(const char *what, const char *path)
{
	int e = errno;

	snprintf(failure, sizeof(failure), "could not %s temporary file \"%s\": %s", what, path,
			 strerror(e));
	return e == ENOSPC || e == EDQUOT || e == EFBIG ? WIDE_NOSPACE : WIDE_IO;
}

/* In PG_CATCH: ends the handling of the error.  Returns: its status; its text is in failure. */
static wide_status
caught(const WtErrorPoint *before)
{
	ErrorData *e = wt_error_take(before);
	wide_status st;

	strlcpy(failure, e->message, sizeof(failure));
	st = e->sqlerrcode == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED ? WIDE_TEMP_LIMIT
		 : e->sqlerrcode == ERRCODE_DISK_FULL				   ? WIDE_NOSPACE
		 : e->sqlerrcode == ERRCODE_OUT_OF_MEMORY			   ? WIDE_NOMEM
															   : WIDE_IO;
	FreeErrorData(e);
	return st;
}

static wide_status
temp_open(void *ctx, char *path, size_t size, void **account, const char **why)
{
	WtErrorPoint before = wt_error_point();
	ResourceOwner owner = CurrentResourceOwner;
	volatile wide_status st = WIDE_OK;

	*account = NULL;
	*why = failure;
	PG_TRY();
	{
		File file;

		/* until the end of the transaction, not of the statement */
		CurrentResourceOwner = TopTransactionResourceOwner;
		file = OpenTemporaryFile(false);
		snprintf(path, size, "%s" SUFFIX, FilePathName(file));
		*account = (void *) (intptr_t) file;
	}
	PG_CATCH();
	{
		st = caught(&before);
	}
	PG_END_TRY();
	CurrentResourceOwner = owner;
	return st;
}

static wide_status
temp_resize(void *ctx, void *account, uint64_t bytes, const char **why)
{
	File file = file_of(account);
	WtErrorPoint before = wt_error_point();
	volatile wide_status st = WIDE_OK;
	char end = 0;

	*why = failure;
	PG_TRY();
	{
		errno = 0;
		/* more is a write, which counts, less is a truncation, which counts as well */
		if ((off_t) bytes < FileSize(file))
		{
			if (FileTruncate(file, (off_t) bytes, wt_wait_event(WT_WAIT_TEMP_FILE)) < 0)
				st = system_failure("truncate", FilePathName(file));
		}
		else if (bytes > 0 &&
				 FileWrite(file, &end, 1, (off_t) bytes - 1, wt_wait_event(WT_WAIT_TEMP_FILE)) != 1)
		{
			/* a short write sets no errno */
			if (errno == 0)
				errno = ENOSPC;
			st = system_failure("write", FilePathName(file));
		}
	}
	PG_CATCH();
	{
		st = caught(&before);
	}
	PG_END_TRY();
	return st;
}

static void
temp_close(void *ctx, void *account)
{
	FileClose(file_of(account));
}

void
wt_temp_file_fill(wide_host *host)
{
	host->temp_open = temp_open;
	host->temp_resize = temp_resize;
	host->temp_close = temp_close;
}
