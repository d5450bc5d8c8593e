/*
 * compat.h
 *		Differences between PostgreSQL 15, 16, 17 and 18.  No other file looks at
 *		PG_VERSION_NUM.  Each version that changed something has a section, with the
 *		older forms in its #else.
 */
#ifndef WT_COMPAT_H
#define WT_COMPAT_H

#include "pg_config.h"

#if PG_VERSION_NUM < 150000
#error "widetable needs PostgreSQL 15 or newer"
#endif

/* The Makefile defines WT_HBASE where protobuf-c is there, and leaves out fdw/remote/ elsewhere. */
#ifdef WT_HBASE
#define WT_WITH_HBASE(call) call
#else
#define WT_WITH_HBASE(call) ((void) 0)
#endif

/* checkpoint_watch.c knows the beginning of the checkpointer's private struct; that of a new
 * version has to be compared first */
#if PG_VERSION_NUM >= 190000
#define wt_checkpointer_struct_is_known false
#else
#define wt_checkpointer_struct_is_known true
#endif

/* remote_query.c knows what plans of postgres_fdw have in fdw_private; the same holds */
#if PG_VERSION_NUM >= 190000
#define wt_postgres_fdw_is_known false
#else
#define wt_postgres_fdw_is_known true
#endif

#if PG_VERSION_NUM >= 180000

/* explain.h was split */
#include "commands/explain_format.h"
#include "commands/explain_state.h"

/* a library states its name and version */
#define WT_MODULE_MAGIC(library, ver)	  PG_MODULE_MAGIC_EXT(.name = library, .version = ver)
/* argument disabled_nodes of paths */
#define WT_DISABLED_NODES_ARG			  , 0
/* argument error_if_invalid */
#define wt_acquire_replication_slot(name) ReplicationSlotAcquire(name, true, true)
/* ExecutorRun has no argument execute_once */
#define WT_RUN_ONCE_PARAM
#define WT_RUN_ONCE_ARG
#define wt_run_without_workers(qd) ((qd)->already_executed = true)
#define wt_run_to_end(qd)		   ExecutorRun(qd, ForwardScanDirection, 0)

/* the locale says whether it sorts by bytes */
#define wt_collate_is_c(coll) (OidIsValid(coll) && pg_newlocale_from_collation(coll)->collate_is_c)

/* the direction of a pathkey is a comparison type, that of a sort operator as well */
#define wt_pathkey_ascends(pk) ((pk)->pk_cmptype == COMPARE_LT)
#define WtSortDirection		   CompareType
#define WT_SORT_ASCENDS		   COMPARE_LT
/* argument is_analyze */
#define wt_vacuum_delay()	   vacuum_delay_point(true)

#else

#define WT_MODULE_MAGIC(library, ver) PG_MODULE_MAGIC
#define WT_DISABLED_NODES_ARG
#define wt_acquire_replication_slot(name) ReplicationSlotAcquire(name, true)
#define WT_RUN_ONCE_PARAM				  , bool execute_once
#define WT_RUN_ONCE_ARG					  , execute_once
/*
 * In an ExecutorRun hook: runs the plan without parallel workers.  PostgreSQL starts
 * none for a plan that may run again.  Early minor releases of 15 to 17 recognise that
 * by execute_once, all others by already_executed, which the early ones ignore if
 * execute_once is false.
 */
#define wt_run_without_workers(qd)		  ((qd)->already_executed = true, execute_once = false)
#define wt_run_to_end(qd)				  ExecutorRun(qd, ForwardScanDirection, 0, true)
#define wt_collate_is_c(coll)			  lc_collate_is_c(coll)
#define wt_pathkey_ascends(pk)			  ((pk)->pk_strategy == BTLessStrategyNumber)
#define WtSortDirection					  int16
#define WT_SORT_ASCENDS					  BTLessStrategyNumber
#define wt_vacuum_delay()				  vacuum_delay_point()

#endif

#if PG_VERSION_NUM >= 170000

/* base backups verify the checksums of files with names of tables only */
#define wt_backup_checks_all_files		false
/* argument fdw_restrictinfo of paths */
#define WT_RESTRICTINFO_ARG				, NIL
/* renamed */
#define wt_variable_cache				TransamVariables
/* events of the class Extension have names */
#define wt_new_wait_event(name, before) WaitEventExtensionNew(name)
/* argument flush */
#define wt_log_message(prefix, data, len, transactional) \
	LogLogicalMessage(prefix, data, len, transactional, false)
/* arguments failover and synced */
#define wt_create_replication_slot(name) \
	ReplicationSlotCreate(name, false, RS_PERSISTENT, false, false, false)
/* MyBackendId became MyProcNumber; a PGPROC has its virtual transaction id in vxid */
#define wt_my_backend_id ((uint32) MyProcNumber)
#define wt_my_lxid		 (MyProc->vxid.lxid)
#define wt_set_vxid(v, backend, lx) \
	((v).procNumber = (ProcNumber) (backend), (v).localTransactionId = (lx))
/* by the type of the backend */
#define wt_in_background_worker		   AmBackgroundWorkerProcess()
/* transaction_timeout */
#define wt_transaction_timeout_pending TransactionTimeoutPending

#else

#define wt_backup_checks_all_files true
#define WT_RESTRICTINFO_ARG
#define wt_variable_cache				ShmemVariableCache
#define wt_new_wait_event(name, before) (before)
#define wt_log_message(prefix, data, len, transactional) \
	LogLogicalMessage(prefix, data, len, transactional)
#define wt_create_replication_slot(name) ReplicationSlotCreate(name, false, RS_PERSISTENT, false)
#define wt_my_backend_id				 ((uint32) MyBackendId)
#define wt_my_lxid						 (MyProc->lxid)
#define wt_set_vxid(v, backend, lx) \
	((v).backendId = (BackendId) (backend), (v).localTransactionId = (lx))
#define wt_in_background_worker		   IsBackgroundWorker
#define wt_transaction_timeout_pending false

#endif

#if PG_VERSION_NUM >= 160000

/* macros for variable-length values left postgres.h */
#include "varatt.h"

/* a slot has the reason why it was invalidated */
#define wt_replication_slot_is_invalidated(slot) ((slot)->data.invalidated != RS_INVAL_NONE)

/* settings have a memory context; the "extra" of a check hook must be allocated there */
#define wt_guc_malloc(size) guc_malloc(LOG, size)
#define wt_guc_free(p)		guc_free(p)
/* argument extra, for details of errors */
#define wt_decode_datetime(fields, types, n, kind, tm, fsec, tz) \
	DecodeDateTime(fields, types, n, kind, tm, fsec, tz, &(DateTimeErrorExtra) {0})
/* one function for all classes of objects */
#define wt_owns_table(relid)   object_ownercheck(RelationRelationId, relid, GetUserId())
/* privileges that a statement needs have nodes and a list of their own */
#define WtPermissions		   RTEPermissionInfo
#define wt_permissions(estate) ((estate)->es_rteperminfos)
#define wt_may_use_server(server) \
	(object_aclcheck(ForeignServerRelationId, server, GetUserId(), ACL_USAGE) == ACLCHECK_OK)
#define wt_may_create_in(schema, role) \
	(object_aclcheck(NamespaceRelationId, schema, role, ACL_CREATE) == ACLCHECK_OK)
/* those of relations of the query, without outer joins */
#define wt_foreign_scan_relids(scan) ((scan)->fs_base_relids)
/* no argument for nullability by outer joins */
#define wt_expression_pathkey(root, expr, opno, rel) \
	build_expression_pathkey(root, expr, opno, rel, false)
/* argument escontext */
#define wt_make_range(type, lower, upper, empty) make_range(type, lower, upper, empty, NULL)
#define wt_qualified_names(text)				 stringToQualifiedNameList(text, NULL)
/* the user whose privileges are checked for a scan, for a target; InvalidOid: the current one */
#define wt_user_of_scan(plan, estate)			 ((plan)->checkAsUser)
#define wt_user_of_target(rinfo, estate)		 ExecGetResultRelCheckAsUser(rinfo, estate)

#else

#define wt_replication_slot_is_invalidated(slot) (!XLogRecPtrIsInvalid((slot)->data.invalidated_at))

#define wt_guc_malloc(size)	   malloc(size)
#define wt_owns_table(relid)   pg_class_ownercheck(relid, GetUserId())
/* the members with the same names are in the entries of the range table */
#define WtPermissions		   RangeTblEntry
#define wt_permissions(estate) ((estate)->es_range_table)
#define wt_guc_free(p)		   free(p)
#define wt_decode_datetime(fields, types, n, kind, tm, fsec, tz) \
	DecodeDateTime(fields, types, n, kind, tm, fsec, tz)
#define wt_may_use_server(server) \
	(pg_foreign_server_aclcheck(server, GetUserId(), ACL_USAGE) == ACLCHECK_OK)
#define wt_may_create_in(schema, role) \
	(pg_namespace_aclcheck(schema, role, ACL_CREATE) == ACLCHECK_OK)
#define wt_foreign_scan_relids(scan) ((scan)->fs_relids)
#define wt_expression_pathkey(root, expr, opno, rel) \
	build_expression_pathkey(root, expr, NULL, opno, rel, false)
#define wt_make_range(type, lower, upper, empty) make_range(type, lower, upper, empty)
#define wt_qualified_names(text)				 stringToQualifiedNameList(text)
#define wt_user_of_scan(plan, estate)                                                           \
	(exec_rt_fetch((plan)->scan.scanrelid > 0 ? (plan)->scan.scanrelid                          \
											  : (Index) bms_next_member((plan)->fs_relids, -1), \
				   estate)                                                                      \
		 ->checkAsUser)
/* a partition that rows are routed to is not in the range table */
#define wt_user_of_target(rinfo, estate)                                    \
	(exec_rt_fetch((rinfo)->ri_RangeTableIndex != 0                         \
					   ? (rinfo)->ri_RangeTableIndex                        \
					   : (rinfo)->ri_RootResultRelInfo->ri_RangeTableIndex, \
				   estate)                                                  \
		 ->checkAsUser)

#endif

#define wt_create_foreignscan_path(root, rel, target, rows, startup, total, pathkeys, outer, priv) \
	create_foreignscan_path(root, rel, target, rows WT_DISABLED_NODES_ARG, startup, total,         \
							pathkeys, outer, NULL WT_RESTRICTINFO_ARG, priv)
#define wt_create_foreign_upper_path(root, rel, target, rows, startup, total, pathkeys, priv) \
	create_foreign_upper_path(root, rel, target, rows WT_DISABLED_NODES_ARG, startup, total,  \
							  pathkeys, NULL WT_RESTRICTINFO_ARG, priv)

/*
 * pg_locale.h includes ICU's headers if the server was built with ICU.  They are not
 * needed: this file reads only members of the struct that precede those that depend on
 * ICU.
 */
#pragma push_macro("USE_ICU")
#undef USE_ICU
#include "utils/pg_locale.h"
#pragma pop_macro("USE_ICU")

#endif /* WT_COMPAT_H */
