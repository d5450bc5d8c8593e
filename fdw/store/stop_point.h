/*
 * stop_point.h
 *		Places at which tests halt a session.
 */
#ifndef WT_STOP_POINT_H
#define WT_STOP_POINT_H

/* a place at which tests halt a session, see there */
extern bool wt_stops;			/* widetable.stop_at is set */
extern void wt_stop_here(const char *name);
extern void wt_stop_init(void);

static inline void
wt_stop(const char *name)
{
	if (unlikely(wt_stops))
		wt_stop_here(name);
}

#endif							/* WT_STOP_POINT_H */
