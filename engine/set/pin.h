/*
 * pin.h - pins keep the files and memtables of a version of the set in place while
 * they are read.
 */
#ifndef WIDE_PIN_H
#define WIDE_PIN_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* A pinned version: while the pin lives, none of its memtables is reused and none of its files is
 * unlinked.  {0}: no pin. */
typedef struct version_pin
{
	uint64_t version;
	int nmemtables;
	uint32_t memtables[WIDE_MEMTABLES]; /* indexes, newest first */
	uint32_t serial;					/* of pin.c; 0: no pin */
} version_pin;

/* Pins the current version.  Returns: WIDE_OK, WIDE_NOMEM or WIDE_POISONED. */
extern wide_status pin_take(wide_db *db, version_pin *pin);

/* As pin_take, but pins files only (nmemtables is 0): memtables may be reused. */
extern wide_status pin_take_files(wide_db *db, version_pin *pin);

/* As pin_take_files, but pins all files that are added later as well, also those that the set does
 * not have yet.  For files that are read before they are linked. */
extern wide_status pin_take_later(wide_db *db, version_pin *pin);

/* Releases the pin, if it is one. */
extern void pin_drop(wide_db *db, version_pin *pin);

/* The files of a family in a version: level 0 newest first, then by level and key.  The memory is
 * pin.c's and stays valid until the pin is dropped. */
typedef struct family_files
{
	const file_meta *files;
	int n;
	int level_start[SET_LEVELS + 1]; /* files of level l are [level_start[l], level_start[l+1]) */
} family_files;

/* Lists the files of a family in the pinned version.  Returns: WIDE_OK, WIDE_NOMEM or
 * WIDE_POISONED. */
extern wide_status pin_files(wide_db *db, const version_pin *pin, wide_family_id family,
							 family_files *out);

#define PIN_RANGES 64

/* The versions that processes have pinned: of each from its oldest to its newest one. */
typedef struct pin_ranges
{
	int n;
	uint64_t first[PIN_RANGES], last[PIN_RANGES]; /* both inclusive */
	uint64_t oldest;							  /* UINT64_MAX: there is none */
} pin_ranges;

/* Reads the pins of all processes. */
extern void pin_read(wide_db *db, pin_ranges *out);

/* Returns true if a file that was added and removed with these versions belongs to a pinned one. */
extern bool pin_ranges_need(const pin_ranges *r, uint64_t added, uint64_t removed);

/* Returns true if a pin of any process may have this flushed memtable. */
extern bool pin_has_memtable(wide_db *db, const memtable *t);

/* Frees what this process has for pins; for wide_detach. */
extern void pin_detach(wide_db *db);

#endif /* WIDE_PIN_H */
