/** Builders for the tables of programs. */
import type { ProgramGrammar, OptionMeaning } from './grammar.ts';

type Rows = Readonly<Record<string, OptionMeaning>>;

/** Gives all these options one meaning. */
export const mean = (meaning: OptionMeaning, names: string): Rows =>
  names === '' ? {} : Object.fromEntries(names.split(' ').map((name) => [name, meaning]));

/** Gives all these programs or subcommands one grammar. */
export const all = (names: string, grammar: ProgramGrammar): Readonly<Record<string, ProgramGrammar>> =>
  Object.fromEntries(names.split(' ').map((name) => [name, grammar]));

/**
 * Programs that run the command after their options; `values` are the options with a value, `flags` those without.
 * An option in neither list is refused: it may take the next word, and then another word names the program.
 */
export const prefix = (values: string, flags = '', more: ProgramGrammar = {}): ProgramGrammar => ({
  optionsFirst: true,
  runs: { after: 0, as: 'words' },
  ...more,
  options: { ...mean('value', values), ...mean('flag', flags), ...more.options },
});

/** The same for programs whose first operand is not yet the command: `timeout 5 ls`. */
export const prefixAfterOne = (values: string, flags = '', more: ProgramGrammar = {}): ProgramGrammar =>
  prefix(values, flags, { runs: { after: 1, as: 'words' }, ...more });

const informs = mean('enough', '--version -V -v --help -h');

export const interpreter = (refused: string, values = '', more: ProgramGrammar = {}): ProgramGrammar => ({
  needsOperand: true,
  firstOperandEnds: true,
  ...more,
  options: {
    ...informs,
    ...mean('refused', refused),
    ...mean('value', values),
    ...more.options,
  },
});

export const refused: ProgramGrammar = { refused: true };
export const plain: ProgramGrammar = {};
