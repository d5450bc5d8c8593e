/* exception.c - what an exception of a server means */
#include "hbase/exception.h"

typedef struct meaning
{
	const char *name; /* the class, without its package */
	hb_status status;
	hb_cure cure;
} meaning;

static const meaning meanings[] = {
	{"NotServingRegionException", HB_LOST, HB_CURE_RELOCATE},
	{"RegionMovedException", HB_LOST, HB_CURE_RELOCATE},
	{"RegionOpeningException", HB_LOST, HB_CURE_RELOCATE},
	{"RegionInRecoveryException", HB_LOST, HB_CURE_RELOCATE},
	{"WrongRegionException", HB_LOST, HB_CURE_RELOCATE},
	{"RegionServerStoppedException", HB_LOST, HB_CURE_RELOCATE},
	{"RegionServerAbortedException", HB_LOST, HB_CURE_RELOCATE},
	{"ServerNotRunningYetException", HB_LOST, HB_CURE_RELOCATE},
	{"ServerNotRunningException", HB_LOST, HB_CURE_RELOCATE},
	{"MasterNotRunningException", HB_LOST, HB_CURE_RELOCATE},
	{"PleaseHoldException", HB_LOST, HB_CURE_RELOCATE},
	{"FailedServerException", HB_LOST, HB_CURE_RELOCATE},
	{"UnknownScannerException", HB_LOST, HB_CURE_REOPEN},
	{"ScannerResetException", HB_LOST, HB_CURE_REOPEN},
	{"OutOfOrderScannerNextException", HB_LOST, HB_CURE_REOPEN},
	{"LeaseException", HB_LOST, HB_CURE_REOPEN},
	{"CallQueueTooBigException", HB_BUSY, HB_CURE_RETRY},
	{"CallDroppedException", HB_BUSY, HB_CURE_RETRY},
	{"CallTimeoutException", HB_TIMEOUT, HB_CURE_RETRY},
	{"RegionTooBusyException", HB_BUSY, HB_CURE_RETRY},
	{"RpcThrottlingException", HB_BUSY, HB_CURE_RETRY},
	{"ThrottlingException", HB_BUSY, HB_CURE_RETRY},
	{"MultiActionResultTooLarge", HB_TOOLARGE, HB_CURE_RETRY},
	{"RetryImmediatelyException", HB_BUSY, HB_CURE_RETRY},
	{"SpaceLimitingException", HB_BUSY, HB_CURE_NONE},
	{"QuotaExceededException", HB_BUSY, HB_CURE_NONE},
	{"TableNotFoundException", HB_NOTABLE, HB_CURE_NONE},
	{"NamespaceNotFoundException", HB_NOTABLE, HB_CURE_NONE},
	{"NoSuchColumnFamilyException", HB_NOFAMILY, HB_CURE_NONE},
	{"InvalidFamilyOperationException", HB_NOFAMILY, HB_CURE_NONE},
	{"TableNotEnabledException", HB_DISABLED, HB_CURE_NONE},
	{"TableExistsException", HB_EXISTS, HB_CURE_NONE},
	{"NamespaceExistException", HB_EXISTS, HB_CURE_NONE},
	{"AccessDeniedException", HB_DENIED, HB_CURE_NONE},
	{"AccessControlException", HB_DENIED, HB_CURE_NONE},
	{"RequestTooBigException", HB_TOOLARGE, HB_CURE_NONE},
	{"CellTooBigException", HB_TOOLARGE, HB_CURE_NONE},
	{"FailedSanityCheckException", HB_INVALID, HB_CURE_NONE},
	{"IllegalArgumentIOException", HB_INVALID, HB_CURE_NONE},
	{"IllegalArgumentException", HB_INVALID, HB_CURE_NONE},
	{"TableNotDisabledException", HB_REMOTE, HB_CURE_NONE},
	{"UnknownProtocolException", HB_REMOTE, HB_CURE_NONE},
	{"UnsupportedOperationException", HB_REMOTE, HB_CURE_NONE},
	{"NullPointerException", HB_REMOTE, HB_CURE_NONE},
	{"DeserializationException", HB_REMOTE, HB_CURE_NONE},
};

static bool
contains(hb_bytes text, const char *what)
{
	return text.len > 0 && memmem(text.data, text.len, what, strlen(what)) != NULL;
}

/* The name behind the last dot or dollar sign. */
static hb_bytes
simple_name(hb_bytes s)
{
	size_t at = s.len;

	while (at > 0 && s.data[at - 1] != '.' && s.data[at - 1] != '$')
		at--;
	return (hb_bytes) {s.data + at, s.len - at};
}

/* An exception that is of a general class and says in words what it is about. */
static hb_status
in_words(hb_bytes text)
{
	if (contains(text, "Field is not a long"))
		return HB_NOTNUMBER;
	if (contains(text, "exceeds limit of") || contains(text, "KeyValue size too large"))
		return HB_TOOLARGE;
	return HB_REMOTE;
}

hb_status
hb_exception_meaning(hb_bytes java_class, hb_bytes text, hb_do_not_retry retry, hb_cure *cure)
{
	hb_bytes name = simple_name(java_class);
	hb_bytes first = text;
	const uint8_t *newline = text.len > 0 ? memchr(text.data, '\n', text.len) : NULL;

	if (newline != NULL)
		first.len = (size_t) (newline - text.data);
	/* a client that has not authenticated is told so in words, too */
	if (hb_memory_equal(name, hb_text("AccessDeniedException")) &&
		contains(first, "Authentication is required"))
	{
		*cure = HB_CURE_NONE;
		return HB_AUTH;
	}
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
	{
		if (hb_memory_equal(name, hb_text(meanings[i].name)))
		{
			*cure = meanings[i].cure;
			if (*cure == HB_CURE_RETRY && retry == HB_RETRY_FORBIDDEN)
				*cure = HB_CURE_NONE;
			return meanings[i].status;
		}
	}
	*cure = HB_CURE_RETRY;
	if (retry == HB_RETRY_FORBIDDEN || hb_memory_equal(name, hb_text("DoNotRetryIOException")))
		*cure = HB_CURE_NONE;
	return in_words(first);
}
