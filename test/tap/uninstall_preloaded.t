# uninstall_preloaded: as uninstall, with the library preloaded.  Takes about 60 seconds.
WAY=preloaded
. "${0%/*}/uninstall.t"
