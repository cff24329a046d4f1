Whole programs	percent more instructions than with nothing on
gcc, all events recorded	% patched:all events:gcc; patched:off:gcc
gcc, histogram only	% patched:hist only:gcc; patched:off:gcc
fork + exec, all events recorded	% patched:all events:spawn; patched:off:spawn
fork + exec, histogram only	% patched:hist only:spawn; patched:off:spawn
malloc, all events recorded	% patched:all events:alloc; patched:off:alloc
malloc, histogram only	% patched:hist only:alloc; patched:off:alloc
