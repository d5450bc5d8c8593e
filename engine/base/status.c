/* status.c - a status together with its error text */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include "engine/base/status.h"

/* Of the thread rather than the process: the tests' threads stand for processes. */
static _Thread_local char error_text[512];

wide_status
status_fail(wide_status st, const char *fmt, ...)
{
	char text[sizeof(error_text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(error_text, text, sizeof(text));
	return st;
}

const char *
wide_error_text(void)
{
	return error_text;
}

const char *
wide_status_name(wide_status st)
{
	switch (st)
	{
		case WIDE_OK:
			return "ok";
		case WIDE_END:
			return "end";
		case WIDE_NOTFOUND:
			return "not found";
		case WIDE_EXISTS:
			return "exists already";
		case WIDE_INVALID:
			return "invalid argument";
		case WIDE_LIMIT:
			return "limit exceeded";
		case WIDE_NOMEM:
			return "out of memory";
		case WIDE_FULL:
			return "no room left";
		case WIDE_NOSPACE:
			return "no space left on disk";
		case WIDE_BUSY:
			return "busy";
		case WIDE_CONFLICT:
			return "conflict";
		case WIDE_IO:
			return "input/output error";
		case WIDE_CORRUPT:
			return "corrupt data";
		case WIDE_INTERRUPTED:
			return "interrupted";
		case WIDE_POISONED:
			return "store is poisoned";
	}
	return "unknown status";
}
