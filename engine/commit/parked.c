/*
 * parked.c - what a replay has read and cannot apply yet.
 *
 * While something is parked, follow.parked keeps the log from where it begins, as prepare_lsn does
 * for a prepared transaction of a living process.  It stays when the replay breaks off: others may
 * still flush, and what was parked has to be read again.
 *
 * Locking: none; the list belongs to the process that replays.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "engine/commit/parked.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"

/* Keeps the log from the oldest record of a parked batch or an unlinked file on. */
static void
keep_log(wide_db *db)
{
	uint64_t start = 0;

	for (parked *p = db->replay->first; p != NULL; p = p->next)
		if (start == 0 || p->start < start)
			start = p->start;
	atomic_store(&db->seg->follow.parked, start);
}

parked *
parked_find(wide_db *db, bool file, uint64_t id)
{
	parked *p = db->replay->first;

	while (p != NULL && (p->file != file || p->id != id))
		p = p->next;
	return p;
}

wide_status
parked_begin(wide_db *db, bool file, uint64_t id, const wide_replay_event *ev, parked **out)
{
	parked **link = &db->replay->first;
	parked *p = parked_find(db, file, id);

	if (p != NULL)
		parked_remove(db, p);
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return status_fail(WIDE_NOMEM, "out of memory for recovery");
	*p = (parked) {.file = file,
				   .id = id,
				   .start = ev->start,
				   .xid = file ? 0 : ev->xid,
				   .forgeable = ev->forgeable};
	while (*link != NULL)
		link = &(*link)->next;
	*out = *link = p;
	keep_log(db);
	return WIDE_OK;
}

void
parked_remove(wide_db *db, parked *gone)
{
	parked **link = &db->replay->first;

	while (*link != gone)
		link = &(*link)->next;
	*link = gone->next;
	db->replay->waiting_moved |= gone->committed != 0;
	buffer_free(&gone->data);
	buffer_free(&gone->locks);
	free(gone);
	keep_log(db);
}

void
parked_free_all(wide_db *db)
{
	parked *next;

	for (parked *p = db->replay->first; p != NULL; p = next)
	{
		next = p->next;
		buffer_free(&p->data);
		buffer_free(&p->locks);
		free(p);
	}
	db->replay->first = NULL;
}

wide_status
parked_damaged(uint64_t lsn, const char *what)
{
	return status_fail(WIDE_CORRUPT, "log record at %llX: %s", (unsigned long long) lsn, what);
}
