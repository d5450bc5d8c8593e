/*
 * executor_hooks.h
 *		What happens when a statement starts and when its run ends.
 */
#ifndef WT_EXECUTOR_HOOKS_H
#define WT_EXECUTOR_HOOKS_H

/* Installs the hooks on ExecutorStart and ExecutorRun. */
extern void wt_executor_hooks_init(void);

#endif /* WT_EXECUTOR_HOOKS_H */
