/* sst_verify.h - checks every byte of a sorted file */
#ifndef WIDE_SST_VERIFY_H
#define WIDE_SST_VERIFY_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Reads every byte; fn for each problem. */
extern wide_status sst_verify(wide_db *db, const file_meta *meta, wide_problem_fn fn, void *arg);

#endif /* WIDE_SST_VERIFY_H */
