/* os_fault.h - a file system that fails or loses power */
#ifndef HOST_OS_FAULT_H
#define HOST_OS_FAULT_H

#include "engine/wide.h"
#include "engine/base/os.h"

/*
 * A wrapper around the real system, for one directory.  It counts the calls
 * that change something and can
 *   - fail:  the n-th call (and optionally all later ones) returns -EIO or -ENOSPC;
 *   - crash: at the n-th call everything later returns -EIO and
 *            os_faulty_crash() then rewrites the directory as a power failure
 *            would leave it: data not synced and directory entries not synced
 *            are lost or kept, chosen by seed for each (also torn writes).
 */
typedef struct os_fault_plan
{
	uint64_t at; /* 1-based call number; 0 = never */
	int error;	 /* errno to return, 0 = crash */
	bool sticky; /* fail all later ones too */
} os_fault_plan;

extern wide_os *os_faulty(const char *root, const os_fault_plan *plan);
extern void os_faulty_plan(wide_os *os, const os_fault_plan *plan); /* another one from now on */
extern uint64_t os_faulty_calls(wide_os *os);						/* changing calls so far */
extern bool os_faulty_crashed(wide_os *os);
extern int os_faulty_crash(wide_os *os, uint64_t seed); /* apply the crash to the directory */
extern void os_faulty_free(wide_os *os);

#endif /* HOST_OS_FAULT_H */
