/*
 * lookup_ahead.h
 *		The node that reads the outer side of a join ahead (fdw/plan/lookup_path.c).
 */
#ifndef WT_LOOKUP_AHEAD_H
#define WT_LOOKUP_AHEAD_H

/* Registers the node. */
extern void wt_lookup_ahead_init(void);

#endif /* WT_LOOKUP_AHEAD_H */
