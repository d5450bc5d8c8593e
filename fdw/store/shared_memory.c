/*
 * shared_memory.c
 *		The engine's chunks of shared memory for row locks, as dynamic shared memory
 *		segments: one for each chunk, pinned, and mapped to the end of the process or
 *		until the chunk is dropped.
 *
 * PostgreSQL removes the segments when the server ends, or starts anew after a crash.
 *
 * A segment that is dropped stays mapped in sessions that have looked into it and are
 * idle now.  So its pages are given back to the kernel before; what stays mapped is empty.
 *
 * No error leaves this file: the engine does not expect one.
 */
#include "postgres.h"

#include "fdw/store/shared_memory.h"

#include <sys/mman.h>

#include "miscadmin.h"
#include "storage/dsm.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "fdw/store/error.h"
#include "fdw/store/settings.h"

static char failure[1024]; /* the text of the last failure */

static size_t
memory_limit(void *ctx)
{
	return (size_t) wt_settings_row_lock_memory_kb * 1024;
}

/* What guarded() calls. */
typedef dsm_segment *(*SegmentAction)(dsm_handle handle, size_t bytes);

static dsm_segment *
create_segment(dsm_handle handle, size_t bytes)
{
	dsm_segment *seg = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);

	if (seg == NULL)
		strlcpy(failure, "too many dynamic shared memory segments", sizeof(failure));
	else
	{
		dsm_pin_segment(seg);
		dsm_pin_mapping(seg);
	}
	return seg;
}

static dsm_segment *
map_segment(dsm_handle handle, size_t bytes)
{
	dsm_segment *seg = dsm_attach(handle);

	if (seg == NULL)
		strlcpy(failure, "the segment does not exist", sizeof(failure));
	else
		dsm_pin_mapping(seg);
	return seg;
}

static dsm_segment *
drop_segment(dsm_handle handle, size_t bytes)
{
	dsm_unpin_segment(handle);
	return NULL;
}

/* The phase of locks is left out: PostgreSQL has it only for owners with a parent, or of a
 * transaction.  Segments are released before it, and there is nothing else. */
static void
release_owner(ResourceOwner owner)
{
	if (owner == NULL)
		return;
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerDelete(owner);
}

/*
 * Calls the action.  Returns: NULL after an error, whose message is in failure then.  What the
 * action leaves after an error belongs to a resource owner of its own: the transaction's would
 * warn of it at the commit.
 */
static dsm_segment *
guarded(SegmentAction action, dsm_handle handle, size_t bytes)
{
	WtErrorPoint before;
	ResourceOwner caller = CurrentResourceOwner;
	ResourceOwner volatile owner = NULL;
	dsm_segment *volatile seg = NULL;

	HOLD_INTERRUPTS();
	before = wt_error_point();
	PG_TRY();
	{
		owner = ResourceOwnerCreate(NULL, "widetable row locks");
		CurrentResourceOwner = owner;
		seg = action(handle, bytes);
	}
	PG_CATCH();
	{
		ErrorData *e = wt_error_take(&before);

		strlcpy(failure, e->message, sizeof(failure));
		FreeErrorData(e);
	}
	PG_END_TRY();
	CurrentResourceOwner = caller;
	release_owner(owner);
	RESUME_INTERRUPTS();
	return seg;
}

static void *
memory_create(void *ctx, size_t bytes, uint64_t *id, const char **why)
{
	dsm_segment *seg = guarded(create_segment, 0, bytes);

	*why = failure;
	*id = seg != NULL ? dsm_segment_handle(seg) : 0;
	return seg != NULL ? dsm_segment_address(seg) : NULL;
}

static void *
memory_map(void *ctx, uint64_t id, const char **why)
{
	dsm_segment *seg = guarded(map_segment, (dsm_handle) id, 0);

	*why = failure;
	return seg != NULL ? dsm_segment_address(seg) : NULL;
}

static void
memory_unmap(void *ctx, uint64_t id, void *address)
{
	dsm_segment *seg = dsm_find_mapping((dsm_handle) id);

	if (seg != NULL)
		dsm_detach(seg);
}

static void
memory_drop(void *ctx, uint64_t id, void *address)
{
	dsm_segment *seg = dsm_find_mapping((dsm_handle) id);

	/* where the kernel cannot do that, the pages go when all sessions have unmapped the segment */
	if (seg != NULL)
		(void) madvise(address, dsm_segment_map_length(seg), MADV_REMOVE);
	(void) guarded(drop_segment, (dsm_handle) id, 0);
	memory_unmap(ctx, id, address);
}

void
wt_shared_memory_fill(wide_host *host)
{
	host->memory_limit = memory_limit;
	host->memory_create = memory_create;
	host->memory_map = memory_map;
	host->memory_unmap = memory_unmap;
	host->memory_drop = memory_drop;
}
