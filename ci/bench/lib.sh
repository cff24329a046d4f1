# Sourced by the scripts here, after ci/lib.sh (sh). They set $root and $work.
# shellcheck shell=sh

here=$root/ci/bench

# files TO FILE...: copy programs, and what they are linked with
files() {
	to=$1
	shift
	for f; do [ -e "$f" ] || die "no $f: run ci/setup check"; done
	{
		printf '%s\n' "$@"
		ldd "$@" 2>/dev/null | sed -n 's/^\t\(.* => \)\{0,1\}\(\/[^ ]*\) .*/\2/p'
	} | sort -u | while read -r f; do
		mkdir -p "$to${f%/*}"
		cp -L "$f" "$to$f"
	done
}

# programs DIR SETS: the C programs that run in the guest of the SETS
programs() {
	cflags='-O2 -Wall -Wextra -Wno-unused-parameter'
	if [ "$2" = arm64 ]; then
		# shellcheck disable=SC2086 # lists of words
		$arm64_cc $cflags -static -o "$1/faults" "$here/faults.c"
		return
	fi
	# shellcheck disable=SC2086 # a list of words
	gcc $cflags -static -o "$1/faults" "$here/faults.c" &&
		gcc $cflags -static -o "$1/bpf" "$here/bpf.c" -lbpf -lelf -lz &&
		gcc $cflags -static -o "$1/whole" "$here/whole.c" &&
		gcc $cflags -static -o "$1/alloc" "$here/alloc.c"
}

# The kernel KERNEL is a version in build/, then built as x86_64-guest, or VERSION/CONFIG.
dir_of() {
	case $1 in */*) echo "$build/$1" ;; *) echo "$build/$1/x86_64-guest" ;; esac
}

# kernel_of NAME: the kernel that the results call NAME. $v is the version.
kernel_of() {
	config=x86_64-guest
	case $1 in
	*-Os) config=x86_64-size ;;
	*-dist) config=x86_64-distribution ;;
	*-arm64) config=arm64-guest ;;
	esac
	case $1 in
	vanilla*) echo "$v-vanilla/$config" ;;
	alone) echo "$v-$(alone)/$config" ;;
	*) echo "$v/$config" ;;
	esac
}

# How many patches the traps events are; what follows is not about exceptions.
alone() {
	series "$v" | grep -c '/traps/[^/]*$'
}

# make_modules KERNEL SETS: the modules that SETS need, in $work/modules
make_modules() {
	rm -rf "$work/modules"
	mkdir "$work/modules"
	out=$(dir_of "$1")
	for set in $2; do
		case $set in
		module)
			rm -rf "$work/module"
			cp -r "$here/module" "$work/module"
			make -s -C "$out" M="$work/module" modules
			cp "$work/module/ticks.ko" "$work/modules/"
			;;
		lttng)
			"$root/ci/kernel/lttng" "${1%%/*}" >&2
			mkdir "$work/modules/files"
			cp -r "$build/${1%%/*}/lttng/root/lib" "$work/modules/files/"
			;;
		esac
	done
}

# make_guest DIR SETS [FILE...]: what the guest gets, in $work/guest: the SETS of DIR, the
# programs, FILEs, and in files/ what has its place in the root directory
make_guest() {
	guest=$work/guest
	rm -rf "$guest"
	mkdir -p "$guest/files/src" "$guest/sets"
	cp "$here/guest" "$guest/"
	for set in $2; do cp "$1/$set" "$guest/sets/" 2>/dev/null || die "no set $set in ci/bench/sets"; done
	for f in faults bpf; do gcc -E -P -o "$guest/files/src/$f.i" "$here/$f.c"; done
	programs "$guest" "$2" || die 'cannot build the programs'
	shift 2
	[ $# -eq 0 ] || cp -r "$@" "$guest/"
	# shellcheck disable=SC2046 # names without spaces
	set -- $(sed -n "s,^# files: ,,; T; s,BUILD/,$build/,g; p" "$guest"/sets/*)
	[ $# -eq 0 ] || files "$guest/files" "$@"
}

# boot KERNEL SETS [OPTION...]: the guest that counts instructions, with more of
# QEMU's OPTIONs; what it measured is in $work/results.
boot() {
	kernel=$1 sets=$2 dir=$(dir_of "$1")
	shift 2
	# shellcheck disable=SC2086 # a list of sets
	"$root/ci/vm/run" -b "$work/guest" -d -m 2G -k "${dir#"$build"/}" \
		-l "$build/log/bench-$(echo "$kernel" | tr / -).log" -q "$*" -- ./guest $sets \
		>"$work/results" || die "$kernel: $(tail -n 1 "$work/results")"
}

# versions VERSION SETS [CONFIG]: what the results of the vanilla kernel depend on: equal lines, equal results.
# Needs the guest of the SETS, which are exact.
versions() {
	sed 's/^/# /' "$build/$1/linux/.source"
	if [ "$2" = arm64 ]; then
		compiler=${arm64_cc%% *} linker=ld.lld-19 qemu=qemu-system-aarch64
		set -- "$1" demo.config 9p.config arm64-demo.config guest.config arm64-guest.config
	else
		compiler=gcc linker=ld qemu=qemu-system-x86_64
		set -- "$1" demo.config 9p.config x86_64-demo.config guest.config btf.config x86_64-guest.config "${3:-x86_64-size}.config"
	fi
	$compiler --version | sed -n '1s/^/# /p'
	$linker --version | sed -n '1s/^/# /p'
	$qemu --version | sed -n '1s/^/# /p'
	shift
	echo "# configuration $(cd "$root/kernel-config" && cat "$@" | grep ^CONFIG_ | sum)"
	echo "# measuring programs $(cat "$here"/faults-*.h "$here/faults.c" "$here/guest" "$work"/guest/sets/* | sum)"
}

sum() { sha256sum | cut -c1-16; }

# The SETS that are exact, and their results of the kernel NAME. Vanilla 7.3 compiled for size
# dies of a kretprobe and of an fprobe on handle_mm_fault().
exact='off traps kprobes kinds peers'
exact_results() {
	case $1 in
	*-Os | *-dist) sets='off traps' ;;
	*-arm64) sets=arm64 ;;
	alone) sets='off traps kprobes' ;;
	patched) sets='off traps kprobes kinds' ;;
	vanilla) sets=$exact ;;
	esac
	boot "$(kernel_of "$1")" "$sets"
	sed "s/^/$1	/" "$work/results"
}
