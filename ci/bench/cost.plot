A 4 KiB read fault on the zero page	instructions more than with nothing on
exceptions:page_fault_user (entry only)	+ vanilla:exceptions:read
page_fault_exit	+ patched:exit:read
page_fault_exit, hist trigger duration.log2	+ patched:exit, hist duration.log2:read
page_fault_exit, LTTng	+ patched:exit, LTTng:read
perf record -e page-faults	+ vanilla:perf record page-faults:read:mean
page_fault_exit and page_fault_entry	+ patched:both:read
exceptions:page_fault_user, perf record	+ vanilla:exceptions, perf record:read:mean
bpftrace hist, fentry + fexit	+ vanilla:fentry + fexit, bpftrace hist:read
page_fault_exit, perf record	+ patched:exit, perf record:read:mean
kprobe + kretprobe	+ vanilla:kprobe + kretprobe:read
bpftrace hist, kprobe + kretprobe	+ vanilla:kprobe + kretprobe, bpftrace hist:read
fprobe, entry and exit	+ vanilla:fprobe entry + exit:read
function_graph, depth 1	+ vanilla:function_graph, depth 1:read
