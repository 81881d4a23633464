/** Builders for the tables of programs. */
import type { ProgramGrammar, OptionMeaning } from './grammar.ts';

type Rows = Readonly<Record<string, OptionMeaning>>;

/** Gives all these options one meaning. */
export const mean = (meaning: OptionMeaning, names: string): Rows =>
  Object.fromEntries(names.split(' ').map((name) => [name, meaning]));

/** Gives all these programs or subcommands one grammar. */
export const all = (names: string, grammar: ProgramGrammar): Readonly<Record<string, ProgramGrammar>> =>
  Object.fromEntries(names.split(' ').map((name) => [name, grammar]));

/** Programs that run the command after their options; `values` are the options with a value. */
export const prefix = (values: string, after = 0, more: ProgramGrammar = {}): ProgramGrammar => ({
  optionsFirst: true,
  runs: { after, as: 'words' },
  ...more,
  options: { ...mean('value', values), ...more.options },
});

const informs = mean('enough', '--version -V -v --help -h');

export const interpreter = (refused: string, values = '', more: ProgramGrammar = {}): ProgramGrammar => ({
  needsOperand: true,
  firstOperandEnds: true,
  ...more,
  options: {
    ...informs,
    ...(refused !== '' && mean('refused', refused)),
    ...(values !== '' && mean('value', values)),
    ...more.options,
  },
});

export const refused: ProgramGrammar = { refused: true };
export const plain: ProgramGrammar = {};
