// Reads beyond the memory of a WebAssembly module as often as the argument says.
const module = new WebAssembly.Module(new Uint8Array([
	0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,		// WebAssembly, version 1
	1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f,		// a type of functions: int to int
	3, 2, 1, 0,					// a function of it
	5, 3, 1, 0, 1,					// a memory of one page
	7, 8, 1, 4, 0x6c, 0x6f, 0x61, 0x64, 0, 0,	// the function's name is load
	10, 9, 1, 7, 0, 0x20, 0, 0x28, 2, 0, 0x0b,	// it is i32.load of its argument
]));
const { load } = new WebAssembly.Instance(module).exports;
let caught = 0;
for (let i = Number(process.argv[2]); i > 0; i--) {
	try {
		load(1 << 20);
	} catch (error) {
		caught++;
	}
}
console.log(caught);
