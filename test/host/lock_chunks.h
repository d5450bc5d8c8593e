/* lock_chunks.h - chunks of shared memory for row locks, from a region that all processes of a test
 * have mapped at the same address */
#ifndef HOST_LOCK_CHUNKS_H
#define HOST_LOCK_CHUNKS_H

#include "engine/wide.h"

/* Settings of this process. */
extern size_t lock_chunks_limit;
extern bool lock_chunks_fail_create, lock_chunks_fail_map;

/* Maps the region, before the first fork, and forgets all chunks.  A chunk that is dropped is
 * filled with another byte. */
extern void lock_chunks_map(void);
/* Adds the callbacks to *host. */
extern void lock_chunks_fill(wide_host *host);
/* Bytes of the chunks that exist. */
extern size_t lock_chunks_bytes(void);

#endif /* HOST_LOCK_CHUNKS_H */
