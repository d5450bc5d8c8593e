/*
 * error_state.c - SQL functions for test/tap/error_state.t: what an error that the extension
 * catches leaves behind.  They call the extension, whose functions wt_* are exported, so it must be
 * loaded.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "fmgr.h"
#include "miscadmin.h"

PG_MODULE_MAGIC;

extern void wt_wal_flush(uint64 lsn);

PG_FUNCTION_INFO_V1(held_after_flush);

/*
 * Asks for a flush of WAL far behind its end, which raises an error within the extension, as the
 * engine does it in a commit: with interrupts held off.  Returns how often they are held off
 * afterwards; 1 is right.
 */
Datum
held_after_flush(PG_FUNCTION_ARGS)
{
	uint32 held;

	HOLD_INTERRUPTS();
	wt_wal_flush(GetXLogInsertRecPtr() + ((uint64) 1 << 40));
	held = InterruptHoldoffCount;
	InterruptHoldoffCount = 0;
	PG_RETURN_INT32((int32) held);
}
