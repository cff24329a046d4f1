/* Dereferences null as often as the argument says, in compiled code that does not compare first. */
class Loads {
	private int field;

	private static int read(Loads loads) {
		return loads.field;
	}

	public static void main(String[] arguments) {
		Loads[] all = { new Loads(), null };
		int caught = 0;
		for (int i = 0; i < 20000; i++)
			read(all[0]);
		for (int i = Integer.parseInt(arguments[0]); i > 0; i--) {
			try {
				read(all[1]);
			} catch (NullPointerException exception) {
				caught++;
			}
		}
		System.out.println(caught);
	}
}
