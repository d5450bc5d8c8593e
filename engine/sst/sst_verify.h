/* sst_verify.h - checks every byte of a sorted file */
#ifndef WIDE_SST_VERIFY_H
#define WIDE_SST_VERIFY_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/*
 * Reads every byte of a file and calls fn for each problem; if fn returns an error, this ends the
 * verification and is returned.  fn NULL: returns WIDE_CORRUPT with the first problem.
 * meta: what the manifest says of the file; if cells or bytes is 0, it is not compared.
 * Returns WIDE_OK even if fn was called.  Errors: WIDE_INTERRUPTED, WIDE_NOMEM.
 */
extern wide_status sst_verify(wide_db *db, const file_meta *meta, wide_problem_fn fn, void *arg);

#endif /* WIDE_SST_VERIFY_H */
