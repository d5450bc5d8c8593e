/*
 * compat.h
 *		Differences between PostgreSQL 15, 16, 17 and 18.  No other file looks at
 *		PG_VERSION_NUM.  A comment says which version changed what.
 */
#ifndef WT_COMPAT_H
#define WT_COMPAT_H

#include "pg_config.h"

#if PG_VERSION_NUM < 150000
#error "widetable needs PostgreSQL 15 or newer"
#endif

/* 18: a library states its name and version */
#if PG_VERSION_NUM >= 180000
#define WT_MODULE_MAGIC(library, ver) PG_MODULE_MAGIC_EXT(.name = library, .version = ver)
#else
#define WT_MODULE_MAGIC(library, ver) PG_MODULE_MAGIC
#endif

/* 18: stands before the declaration; the attribute of older versions may stand there, too */
#if PG_VERSION_NUM >= 180000
#define WT_NORETURN pg_noreturn
#else
#define WT_NORETURN pg_attribute_noreturn()
#endif

/* 17: argument fdw_restrictinfo; 18: disabled_nodes */
#if PG_VERSION_NUM >= 180000
#define wt_create_foreignscan_path(root, rel, target, rows, startup, total, pathkeys, outer, priv) \
	create_foreignscan_path(root, rel, target, rows, 0, startup, total, pathkeys, outer, NULL,     \
							NIL, priv)
#elif PG_VERSION_NUM >= 170000
#define wt_create_foreignscan_path(root, rel, target, rows, startup, total, pathkeys, outer, priv) \
	create_foreignscan_path(root, rel, target, rows, startup, total, pathkeys, outer, NULL, NIL,   \
							priv)
#else
#define wt_create_foreignscan_path(root, rel, target, rows, startup, total, pathkeys, outer, priv) \
	create_foreignscan_path(root, rel, target, rows, startup, total, pathkeys, outer, NULL, priv)
#endif

/* the same for upper relations */
#if PG_VERSION_NUM >= 180000
#define wt_create_foreign_upper_path(root, rel, target, rows, startup, total, pathkeys, priv) \
	create_foreign_upper_path(root, rel, target, rows, 0, startup, total, pathkeys, NULL, NIL, priv)
#elif PG_VERSION_NUM >= 170000
#define wt_create_foreign_upper_path(root, rel, target, rows, startup, total, pathkeys, priv) \
	create_foreign_upper_path(root, rel, target, rows, startup, total, pathkeys, NULL, NIL, priv)
#else
#define wt_create_foreign_upper_path(root, rel, target, rows, startup, total, pathkeys, priv) \
	create_foreign_upper_path(root, rel, target, rows, startup, total, pathkeys, NULL, priv)
#endif

/* 17: renamed */
#if PG_VERSION_NUM >= 170000
#define wt_variable_cache TransamVariables
#else
#define wt_variable_cache ShmemVariableCache
#endif

/* 17: argument flush */
#if PG_VERSION_NUM >= 170000
#define wt_log_message(prefix, data, len, transactional) \
	LogLogicalMessage(prefix, data, len, transactional, false)
#else
#define wt_log_message(prefix, data, len, transactional) \
	LogLogicalMessage(prefix, data, len, transactional)
#endif

/* 17: arguments failover and synced */
#if PG_VERSION_NUM >= 170000
#define wt_create_replication_slot(name) \
	ReplicationSlotCreate(name, false, RS_PERSISTENT, false, false, false)
#else
#define wt_create_replication_slot(name) ReplicationSlotCreate(name, false, RS_PERSISTENT, false)
#endif
/* 16: a slot has the reason why it was invalidated */
#if PG_VERSION_NUM >= 160000
#define wt_replication_slot_is_invalidated(slot) ((slot)->data.invalidated != RS_INVAL_NONE)
#else
#define wt_replication_slot_is_invalidated(slot) (!XLogRecPtrIsInvalid((slot)->data.invalidated_at))
#endif
/* 18: argument error_if_invalid */
#if PG_VERSION_NUM >= 180000
#define wt_acquire_replication_slot(name) ReplicationSlotAcquire(name, true, true)
#else
#define wt_acquire_replication_slot(name) ReplicationSlotAcquire(name, true)
#endif

/* 17: MyBackendId became MyProcNumber; a PGPROC has its virtual transaction id in vxid */
#if PG_VERSION_NUM >= 170000
#define wt_my_backend_id ((uint32) MyProcNumber)
#define wt_my_lxid		 (MyProc->vxid.lxid)
#define wt_set_vxid(v, backend, lx) \
	((v).procNumber = (ProcNumber) (backend), (v).localTransactionId = (lx))
#else
#define wt_my_backend_id ((uint32) MyBackendId)
#define wt_my_lxid		 (MyProc->lxid)
#define wt_set_vxid(v, backend, lx) \
	((v).backendId = (BackendId) (backend), (v).localTransactionId = (lx))
#endif

/* 17: by the type of the backend */
#if PG_VERSION_NUM >= 170000
#define wt_in_background_worker AmBackgroundWorkerProcess()
#else
#define wt_in_background_worker IsBackgroundWorker
#endif

/* 16: settings have a memory context; the "extra" of a check hook must be allocated there */
#if PG_VERSION_NUM >= 160000
#define wt_guc_malloc(size) guc_malloc(LOG, size)
#else
#define wt_guc_malloc(size) malloc(size)
#endif

/* 16: one function for all classes of objects */
#if PG_VERSION_NUM >= 160000
#define wt_owns_table(relid) object_ownercheck(RelationRelationId, relid, GetUserId())
#else
#define wt_owns_table(relid) pg_class_ownercheck(relid, GetUserId())
#endif

/* 17: transaction_timeout */
#if PG_VERSION_NUM >= 170000
#define wt_transaction_timeout_pending TransactionTimeoutPending
#else
#define wt_transaction_timeout_pending false
#endif

/* 18: ExecutorRun has no argument execute_once */
#if PG_VERSION_NUM >= 180000
#define WT_RUN_ONCE_PARAM
#define WT_RUN_ONCE_ARG
#else
#define WT_RUN_ONCE_PARAM , bool execute_once
#define WT_RUN_ONCE_ARG	  , execute_once
#endif

/*
 * In an ExecutorRun hook: runs the plan without parallel workers.  PostgreSQL starts
 * none for a plan that may run again.  Early minor releases of 15 to 17 recognise that
 * by execute_once, all others by already_executed, which the early ones ignore if
 * execute_once is false.
 */
#if PG_VERSION_NUM >= 180000
#define wt_run_without_workers(qd) ((qd)->already_executed = true)
#else
#define wt_run_without_workers(qd) ((qd)->already_executed = true, execute_once = false)
#endif

/* 16: macros for variable-length values left postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 18: explain.h was split */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/*
 * 18: the locale says whether it sorts by bytes.  pg_locale.h includes ICU's headers
 * if the server was built with ICU.  They are not needed: this file reads only members
 * of the struct that precede those that depend on ICU.
 */
#pragma push_macro("USE_ICU")
#undef USE_ICU
#include "utils/pg_locale.h"
#pragma pop_macro("USE_ICU")
#if PG_VERSION_NUM >= 180000
#define wt_collate_is_c(coll) (OidIsValid(coll) && pg_newlocale_from_collation(coll)->collate_is_c)
#else
#define wt_collate_is_c(coll) lc_collate_is_c(coll)
#endif

/* 18: the direction of a pathkey is a comparison type */
#if PG_VERSION_NUM >= 180000
#define wt_pathkey_ascends(pk) ((pk)->pk_cmptype == COMPARE_LT)
#else
#define wt_pathkey_ascends(pk) ((pk)->pk_strategy == BTLessStrategyNumber)
#endif

/* 18: the same for the direction of a sort operator */
#if PG_VERSION_NUM >= 180000
#define WtSortDirection CompareType
#define WT_SORT_ASCENDS COMPARE_LT
#else
#define WtSortDirection int16
#define WT_SORT_ASCENDS BTLessStrategyNumber
#endif

/* 16: no argument for nullability by outer joins */
#if PG_VERSION_NUM >= 160000
#define wt_expression_pathkey(root, expr, opno, rel) \
	build_expression_pathkey(root, expr, opno, rel, false)
#else
#define wt_expression_pathkey(root, expr, opno, rel) \
	build_expression_pathkey(root, expr, NULL, opno, rel, false)
#endif

/* 18: argument is_analyze */
#if PG_VERSION_NUM >= 180000
#define wt_vacuum_delay() vacuum_delay_point(true)
#else
#define wt_vacuum_delay() vacuum_delay_point()
#endif

#endif /* WT_COMPAT_H */
