/*
 * backup.h
 *		Is the data directory being copied?
 */
#ifndef WT_BACKUP_H
#define WT_BACKUP_H

/* Installs the hooks that see backups begin and end. */
extern void wt_backup_init(void);
extern bool wt_backup_files_held(void); /* somebody copies the data directory */

#endif /* WT_BACKUP_H */
