/* scan_call.c - the answer of a Scan call */
#include "hbase/scan_call.h"

hb_status
hb_scan_call_finish(hb_client *client, hb_call *call, hb_scan_answer *answer)
{
	Hbp__ScanResponse *r;

	HB_TRY(hb_rpc_finish(client, call));
	HB_TRY(hb_rpc_unpack(client, call, &hbp__scan_response__descriptor, &r));
	if (r->n_partial_flag_per_result != 0 && r->n_partial_flag_per_result != r->n_cells_per_result)
		return hb_status_fail(client, HB_PROTOCOL, "flags and results of a scan do not agree");
	answer->counts = r->cells_per_result;
	answer->n = r->n_cells_per_result;
	answer->partial = r->n_partial_flag_per_result == 0 ? NULL : r->partial_flag_per_result;
	answer->more = !r->has_more_results || r->more_results;
	answer->more_here = r->has_more_results_in_region && r->more_results_in_region;
	answer->has_scanner = r->has_scanner_id;
	answer->scanner = r->scanner_id;
	return HB_OK;
}
