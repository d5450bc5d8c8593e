/*
 * stop_point.h
 *		Places at which tests halt a session.
 */
#ifndef WT_STOP_POINT_H
#define WT_STOP_POINT_H

/* a place at which tests halt a session, see there */
extern bool wt_stop_point_any; /* widetable.stop_at is set */
extern void wt_stop_point_wait(const char *name);
/* Defines the setting, at load. */
extern void wt_stop_point_init(void);

static inline void
wt_stop_point(const char *name)
{
	if (unlikely(wt_stop_point_any))
		wt_stop_point_wait(name);
}

#endif /* WT_STOP_POINT_H */
