/*
 * backup.h
 *		Detects base backups that copy the data directory.
 */
#ifndef WT_BACKUP_H
#define WT_BACKUP_H

/* Installs the hooks that see pg_backup_start() and the end of its backup. */
extern void wt_backup_init(void);

/* Returns: true while a base backup copies the data directory; no file may be removed then. */
extern bool wt_backup_files_held(void);

#endif /* WT_BACKUP_H */
