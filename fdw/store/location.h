/*
 * location.h
 *		Where the sorted files of the store are: in its directory, or in a tablespace.
 */
#ifndef WT_LOCATION_H
#define WT_LOCATION_H

/* Defines widetable.directory. */
extern void wt_location_define(void);

/*
 * Errors: 55000 if the store's directory is a symbolic link.
 */
extern void wt_location_check_link(void);

/*
 * In the process that opens the store, before it attaches: compares the setting with where the
 * store is; for a store that is about to be made, makes the directory of its files.
 * Errors: 55000 if the setting has changed, or the directory is missing; 22023 if the setting
 * names no tablespace.
 */
extern void wt_location_prepare(void);

/*
 * Before the removal of a store that is not open: finds its files by LOCATION, or by the setting if
 * that is missing.  Errors: XX001 if LOCATION is damaged; those of the file system.
 */
extern void wt_location_find(void);

/* Returns: the directory of the sorted files, for the engine, valid until the next call; NULL: that
 * of the store.  Requires: some process has prepared or found it. */
extern const char *wt_location_files(void);

/*
 * The store is removed: removes LOCATION and the directory of the sorted files, which are gone.
 * Raises no error.
 */
extern void wt_location_remove(const char *files);

#endif /* WT_LOCATION_H */
