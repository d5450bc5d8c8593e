/*
 * as_owner.h
 *		Work for a table's owner, whoever has asked for it.
 *
 * Expressions of roll-ups, and checks of domains, call functions of the owner.  Who builds or
 * verifies, or the process that does, may have more rights than the owner has.
 */
#ifndef WT_AS_OWNER_H
#define WT_AS_OWNER_H

#include "postgres.h"

typedef struct WtAsOwner
{
	Oid user;
	int context; /* of security */
	int level;	 /* of settings */
} WtAsOwner;

/*
 * From here on the current user is the owner.  plain: settings are those in which definitions are
 * written, whatever the session has: search_path, styles of dates and the like.
 * On error the end of the (sub)transaction restores both.
 */
extern WtAsOwner wt_as_owner_begin(Oid owner, bool plain);

/* Restores user and settings. */
extern void wt_as_owner_end(const WtAsOwner *saved);

#endif /* WT_AS_OWNER_H */
