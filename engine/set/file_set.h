/* file_set.h - the files of each family, in the shared segment */
#ifndef WIDE_FILE_SET_H
#define WIDE_FILE_SET_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Numbers from here on are of files that a recovery has written: the log never names them. */
#define FILE_REPLAYED ((uint64_t) 1 << 62)
extern uint64_t file_set_new_number(wide_db *db);

/* Bulk batches: promise n file slots (WIDE_FULL), give back, or use them: cannot fail. Called by
 * prepare / free / finish (under LOCK_COMMIT) and replay. */
extern wide_status file_set_reserve(wide_db *db, int n);
extern void file_set_unreserve(wide_db *db, int n);
extern void file_set_link(wide_db *db, const file_meta *files, int n);

/* For file_set_load.c, under LOCK_SET: a file of the store; one whose family has been dropped is
 * born dead. */
extern void file_set_link_slot(wide_db *db, const file_meta *meta, uint64_t version, bool listed);

/* For catalog.c, under LOCK_SET: all files of the family are dead from here on; the list is
 * empty afterwards. */
extern void file_set_drop_family(wide_db *db, family_slot *fs);

/* Files of a family; UINT32_MAX when more than half of the table of files is in use. */
extern uint32_t file_set_family_files(wide_db *db, wide_family_id family);

/*
 * So many files a windowed family may have before windows are joined: fewer when
 * more than half of the table of files is in use.
 */
#define FILE_SET_WINDOW_FILES		1000
#define FILE_SET_WINDOW_FILES_LEAST 8
extern uint32_t file_set_window_files_most(wide_db *db);

/* Level-0 files of a family that compaction should merge (for write stalls); 0 when dropped. */
extern uint32_t file_set_level0_files(wide_db *db, wide_family_id family);

/* Something is waiting to be written to the manifest: catalog, linked files, removals. */
extern bool file_set_dirty(wide_db *db);

/* A slot, live or dead, has that number (true also when the store is poisoned). */
extern bool file_set_has_file(wide_db *db, uint64_t number);

/* For edit.c and collect.c, under LOCK_SET. */
extern uint32_t *file_set_slot_find(wide_db *db, family_slot *fam, uint64_t number);
extern file_slot *file_set_slot_by_number(wide_db *db, uint64_t number);
extern void file_set_slot_die(wide_db *db, file_slot *f, uint64_t version, bool pending);
extern uint32_t file_set_free_slots(const set_state *set);

#endif /* WIDE_FILE_SET_H */
