/* file_set.h - which sorted files each family has, in the shared segment */
#ifndef WIDE_FILE_SET_H
#define WIDE_FILE_SET_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Recovery gives the files that it writes numbers from here on; the log never names them. */
#define FILE_REPLAYED ((uint64_t) 1 << 62)

/* Returns a number for a new file. */
extern uint64_t file_set_new_number(wide_db *db);

/* ------------------------------------------- files of a large transaction */

/*
 * Room in the table of files is kept so that work which makes files fewer can always be done: large
 * batches leave an eighth of the table, and two files for each family, to flushes, and these a
 * sixteenth to compactions.
 */

/* Reserves n file slots, by prepare.  Returns: WIDE_OK, WIDE_FULL or WIDE_POISONED. */
extern wide_status file_set_reserve(wide_db *db, int n);

/* Returns the number of files that a flush may add; if it has to, with those that it leaves to
 * compactions. */
extern uint32_t file_set_room(wide_db *db, bool all);

/* Warns in the host's log, once, when four fifths of the table of files are in use. */
extern void file_set_warn(wide_db *db);

/* The same in replay.  It leaves half as many slots free, so that it can be behind with
 * compactions. Reserves nothing if the store is not followed. */
extern wide_status file_set_reserve_in_replay(wide_db *db, int n);

/* Returns true if half of the slots that large batches may have are in use. */
extern bool file_set_crowded(wide_db *db);

/* Returns WIDE_FULL with a text that says how full the table of files is. */
extern wide_status file_set_full(const wide_db *db) __attribute__((cold));

/* Gives reserved slots back. */
extern void file_set_unreserve(wide_db *db, int n);

/* Adds files to the set, in reserved slots; they are unlisted until the next edit.  Cannot fail.
 * Requires: LOCK_COMMIT, or replay (which has reserved nothing). */
extern void file_set_link(wide_db *db, const file_meta *files, int n);

/* --------------------------------------------------------------- numbers */

/* Keeps files of the pinned version from being unlinked, or no longer, for the job that has claimed
 * their family: it needs no pin then, which would keep all files that others remove. */
extern wide_status file_set_hold(wide_db *db, const uint64_t *numbers, int n, bool hold);

/* Returns true if something waits for the next edit: the catalog, linked files, removals. */
extern bool file_set_dirty(wide_db *db);

/* Returns true if a slot, live or dead, has the file, and if the store is poisoned. */
extern bool file_set_has_file(wide_db *db, uint64_t number);

/* Returns true if a slot refers to this file of the directory, and if the store is poisoned. */
extern bool file_set_has_container(wide_db *db, uint64_t number);

/* Returns the number of the family's files; UINT32_MAX if more than half of the table of files is
 * in use. */
extern uint32_t file_set_family_files(wide_db *db, wide_family_id family);

/* Returns the number of files that a windowed family may have before its windows are joined:
 * between these bounds, fewer if more than half of the table of files is in use. */
#define FILE_SET_WINDOW_FILES		1000
#define FILE_SET_WINDOW_FILES_LEAST 8
extern uint32_t file_set_window_files_most(wide_db *db);

/* Returns the number of level-0 files that compaction should merge, for write stalls; of a
 * windowed family the files above file_set_window_files_most; 0 if the family was dropped. */
extern uint32_t file_set_level0_files(wide_db *db, wide_family_id family);

/* ------------------------ for other files of this room; under LOCK_SET */

/* Returns the most files that a windowed family may have after one of several windows was split:
 * half of those at which windows would be joined if the table of files were half full; 0 if it is,
 * because then files of several windows are written on purpose. */
extern uint32_t file_set_split_most(wide_db *db);

/* Returns the number of slots that are neither used nor reserved. */
extern uint32_t file_set_free_slots(const set_state *set);

/* Returns the link that leads to the family's live file with this number; NULL if there is none. */
extern uint32_t *file_set_slot_find(wide_db *db, family_slot *fam, uint64_t number);

/* Returns the slot with this file: live, else the one that died last; NULL if there is none. */
extern file_slot *file_set_slot_by_number(wide_db *db, uint64_t number);

/* Adds a file to the set, in the version that the caller makes: see file_set.c.  If its family has
 * been dropped it is dead at once.  Requires: a free slot. */
extern void file_set_link_slot(wide_db *db, const file_meta *meta, uint64_t version, bool listed);

/* Returns the container with this number; NULL if there is none. */
extern container_slot *file_set_container(wide_db *db, uint64_t number);

/* Moves a slot to the dead lists, its family's (NULL: the family is gone) and that of all: its file
 * is not in this version.  pending: no durable edit says so yet.  Requires: the slot is in no other
 * list. */
extern void file_set_slot_die(wide_db *db, file_slot *f, family_slot *fam, uint64_t version,
							  bool pending);

/* Frees the slot of a dead file, and that of its container if it was the last one there. */
extern void file_set_slot_free(wide_db *db, file_slot *f);

/* Makes all files of the family dead and its list empty. */
extern void file_set_drop_family(wide_db *db, family_slot *fs);

#endif /* WIDE_FILE_SET_H */
