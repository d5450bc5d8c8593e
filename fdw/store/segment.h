/*
 * segment.h
 *		The engine's shared segment: its size, where it is, how a process gets at it.
 */
#ifndef WT_SEGMENT_H
#define WT_SEGMENT_H

/* While the library is preloaded: has PostgreSQL make room for the segment in main shared memory.
 */
extern void wt_segment_request(void);

/*
 * Returns: the address of the segment, which is mapped if it was not; NULL: there is none yet.  It
 * may not be formatted. Errors: 55000 if it cannot be mapped.
 */
extern void *wt_segment_map(void);

/*
 * Makes and formats the segment, or formats the one in main shared memory.
 * Requires: this process opens the store alone, and no process is attached.
 * Errors: 53100 if there is no room for the smallest one; those of dynamic shared memory.
 */
extern void wt_segment_create(void);

/* Formats the segment again.  Requires: as above; it is mapped. */
extern void wt_segment_format(void);

#endif /* WT_SEGMENT_H */
