/* pin.h - pins: they keep files and memtables in place while they are read */
#ifndef WIDE_PIN_H
#define WIDE_PIN_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

extern void pin_detach(wide_db *db);

/*
 * A pinned version of everything a read needs: which memtables, which files.
 * While a pin lives, no memtable region of it is reused and no file unlinked.
 */
typedef struct version_pin
{
	uint64_t version;
	int nmemtables;
	uint32_t memtables[WIDE_MEMTABLES]; /* indexes, newest first */
	uint32_t serial;					/* file_set.c's */
} version_pin;

extern wide_status pin_take(wide_db *db, version_pin *pin);

/* Files only (nmemtables 0): memtables may be reused meanwhile. */
extern wide_status pin_take_files(wide_db *db, version_pin *pin);
extern void pin_drop(wide_db *db, version_pin *pin);

/* The files of a family as of a pin: level 0 newest first, then by level and key.  Private
 * memory, valid until the pin is dropped. */
typedef struct family_files
{
	const file_meta *files;
	int n;
	int level_start[SET_LEVELS + 1]; /* files of level l are [level_start[l], level_start[l+1]) */
} family_files;

extern wide_status pin_files(wide_db *db, const version_pin *pin, wide_family_id family,
							 family_files *out);

/* The oldest version that somebody has pinned; UINT64_MAX none. */
extern uint64_t pin_oldest(wide_db *db);

/* Does anybody's pin include this flushed memtable? */
extern bool pin_has_memtable(wide_db *db, const memtable *t);

#endif /* WIDE_PIN_H */
