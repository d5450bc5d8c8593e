/*
 * quota.h
 *		How many wide tables a role may have.
 *
 * The store's catalog has a fixed size for all databases of the cluster
 * (widetable.max_tables).  A role that is no superuser may have a part of it
 * (widetable.max_tables_per_role) and leaves some room for superusers.
 *
 * A stored table counts for the owners of all its foreign tables.  For each table that a role may
 * have, it may have four families and two foreign tables, as the whole catalog has.
 */
#ifndef WT_QUOTA_H
#define WT_QUOTA_H

/*
 * To be called after a command of the present user has added to the stored table of a foreign
 * table, or has given one to this owner.
 * Errors: 53400 if the store has no room for it, or the owner has too many, or a role of which it
 * is a member.  If one of the two is
 * a superuser, only whether there is room at all is checked.
 */
extern void wt_quota_check(Oid owner);

/* Installs the callback that counts again when a transaction commits, because others may have
 * committed meanwhile. */
extern void wt_quota_init(void);

#endif /* WT_QUOTA_H */
