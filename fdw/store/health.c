/*
 * health.c
 *		What the processes of this server have last said about the store, for views that do
 *		not open it.
 *
 * Locking: the anchor's mutex.
 */
#include "postgres.h"

#include "fdw/store/health.h"

#include "storage/spin.h"
#include "utils/timestamp.h"

#include "fdw/store/anchor.h"

void
wt_health_failed(const char *text)
{
	WtAnchor *a = wt_anchor();
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&a->mutex);
	strlcpy(a->health.error, text, sizeof(a->health.error));
	a->health.error_time = now;
	a->health.failing = true;
	SpinLockRelease(&a->mutex);
}

void
wt_health_recovered(void)
{
	WtAnchor *a = wt_anchor();

	SpinLockAcquire(&a->mutex);
	a->health.failing = false;
	SpinLockRelease(&a->mutex);
}

void
wt_health_replayed(XLogRecPtr lsn, bool end)
{
	WtAnchor *a = wt_anchor();
	TimestampTz now = end ? GetCurrentTimestamp() : 0;

	SpinLockAcquire(&a->mutex);
	a->health.replayed = lsn;
	if (end)
		a->health.caught_up = now;
	SpinLockRelease(&a->mutex);
}
