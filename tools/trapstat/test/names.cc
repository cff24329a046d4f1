// SPDX-License-Identifier: GPL-2.0
// names.cc - page faults in a C++ function, for test/names
//
// usage: names [PAGES [forever | PROGRAM [ARGUMENT...]]]
//
// FUNCTION: another name makes another program with the same code at the same addresses.
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#ifndef FUNCTION
#define FUNCTION touch
#endif

namespace pages {
template <typename T> __attribute__((noinline)) void FUNCTION(T nr)
{
	const T bytes = nr * 4096;
	void *start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile char *page = static_cast<char *>(start);

	for (T i = 0; i < nr; i++)
		page[i * 4096] = 1; // the page fault
	munmap(start, bytes);
}
}

// A name of the same function that is shorter, but local
#define STRING(name) STRING_OF(name)
#define STRING_OF(name) #name
asm(".set f, _ZN5pages5" STRING(FUNCTION) "IlEEvT_\n.type f, @function\n.size f, 1");

int main(int argc, char **argv)
{
	do {
		pages::FUNCTION<long>(argc > 1 ? atol(argv[1]) : 1);
		if (argc > 2)
			usleep(20000);
		if (argc > 2 && strcmp(argv[2], "forever"))
			return execv(argv[2], argv + 2);
	} while (argc > 2);
}
