/* Dereferences null as often as the argument says, in compiled code without a check for it. */
class Loads {
	private final int field = 1;

	private static int read(Loads loads) {
		return loads.field;
	}

	public static void main(String[] arguments) {
		int caught = 0;
		for (int i = 0; i < 20000; i++)
			read(new Loads());
		for (int i = Integer.parseInt(arguments[0]); i > 0; i--) {
			try {
				read(null);
			} catch (NullPointerException exception) {
				caught++;
			}
		}
		System.out.println(caught);
	}
}
