# Sourced by the checks that run the self-tests (sh), which set $root, $v, $arch,
# $static, $cc, $kernel, $out, $installed and $log.
# shellcheck shell=sh disable=SC2154

tests=$root/build/$v/linux/tools/testing/selftests

# selftests DIR TARGET: not by the Makefile above traps, whose O= would be the modules'
# kernel's, too.
selftests() {
	name=${1##*/}
	env -u MAKELEVEL -u MAKEFLAGS make -s -C "$1" OUTPUT="$out/$name" \
		INSTALL_PATH="$installed/$name" COLLECTION="$name" KSELFTESTS="$tests" \
		ARCH="$arch" CC="$cc" USERLDFLAGS="$static" KDIR="$kernel" "$2"
}

# Builds all programs, as DIR:PROGRAM in $list, into $installed/DIR.
install_selftests() {
	[ -d "$tests/traps" ] || die "no $tests/traps: apply the patches first"
	rm -rf "$installed"
	: >"$log"
	list=''
	for dir in "$tests/traps" "$root/selftests/invasive"; do
		# Those that are in no patch are x86's.
		[ "$arch" != arm64 ] || [ "${dir##*/}" = traps ] || continue
		mkdir -p "$out/${dir##*/}" "$installed/${dir##*/}"
		(
			lock	# modules are built where their source is
			old_modules "$dir" "$kernel"
			selftests "$dir" install >>"$log" 2>&1 || die "does not build: $log"
		)
		list="$list$(selftests "$dir" emit_tests 2>>"$log")
" || die "no list of tests: $log"
	done
}
