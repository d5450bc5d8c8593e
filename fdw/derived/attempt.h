/*
 * attempt.h
 *		Work of a command that has not been asked for, and that may not be possible.
 */
#ifndef WT_ATTEMPT_H
#define WT_ATTEMPT_H

/*
 * Calls work(arg) in a subtransaction.  Returns false, and what it has done is rolled back, if a
 * definition makes it impossible: something is gone, or has another name.  Errors: all
 * others, such as that a lock was not to be had.
 */
extern bool wt_attempt(void (*work)(void *arg), void *arg);

#endif /* WT_ATTEMPT_H */
