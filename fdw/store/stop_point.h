/*
 * stop_point.h
 *		Named places at which tests halt a session.
 */
#ifndef WT_STOP_POINT_H
#define WT_STOP_POINT_H

extern bool wt_stop_point_any; /* widetable.stop_at is set */

/* Halts if widetable.stop_at has the name.  Use wt_stop_point(). */
extern void wt_stop_point_wait(const char *name);

/* Defines the setting, when the library is loaded. */
extern void wt_stop_point_init(void);

/*
 * A place that sessions may halt at.  Costs a comparison while the setting is empty.
 * Requires: the name is in the list of stop_point.c.
 */
static inline void
wt_stop_point(const char *name)
{
	if (unlikely(wt_stop_point_any))
		wt_stop_point_wait(name);
}

#endif /* WT_STOP_POINT_H */
