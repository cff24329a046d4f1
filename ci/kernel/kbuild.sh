# Sourced after lib.sh by scripts that run the kernel's make (sh). They set $tree,
# $out, $ARCH, and $cc if it is not gcc. ccache is used if it is there. Its cache is where
# the user has it, and its objects are found from any checkout.
# shellcheck shell=sh

ccache=$(command -v ccache) || :
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1

hostcc=gcc llvm=''
case ${cc:-} in
clang-*) llvm=LLVM=-${cc#clang-} ;;
?*) hostcc=$cc ;;
esac

kmake() {
	# shellcheck disable=SC2086 # none, or one
	make -C "$tree" O="$out" ARCH="$ARCH" $llvm CC="${ccache:+ccache }${cc:-gcc}" HOSTCC="${ccache:+ccache }$hostcc" "$@"
}

# merge FRAGMENT...: on top of the configuration in $out
merge() {
	(cd "$out" && "$tree/scripts/kconfig/merge_config.sh" -m -O . .config "$@")
	kmake -s olddefconfig
}

# The options that FRAGMENTs ask for and that are not in the configuration. The last
# of several that name an option counts; "# not in VERSION: OPTION" names one that this
# kernel does not have.
lost() {
	awk -F= -v absent="# not in ${v%-vanilla}: " '
		FILENAME == ARGV[1] { has[$0]; on[$1]; next }
		/^CONFIG_/ { wanted[$1] = $0 }
		index($0, absent) == 1 { lacks[substr($0, length(absent) + 1)] }
		END {
			for (o in wanted)
				if (!(o in lacks) && (wanted[o] == o "=n" ? o in on : !(wanted[o] in has)))
					print wanted[o]
		}' "$out/.config" "$@" | sort
}
