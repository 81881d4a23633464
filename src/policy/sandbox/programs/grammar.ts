/** How a program runs other programs: the meaning of its options and operands. */
import type { ScriptLanguage } from '../harmless-script.ts';

export type OptionMeaning =
  | 'flag'
  /** With it the program needs no operand: `--version`, `node --test`. */
  | 'enough'
  /** Takes a value that runs nothing. Paths and hosts are found in it as in any word. */
  | 'value'
  /** Takes a value that names nothing: a pattern, a message, a format. */
  | 'data'
  /** Like `data`, and then no operand is a pattern. */
  | 'pattern'
  /** Takes a file with patterns, and then no operand is a pattern. */
  | 'patterns'
  /** Makes the program run or load something that the words do not show. */
  | 'refused'
  /** Makes the program connect to hosts that its words do not name. Outside every rule. */
  | 'reroutes'
  /** Its value is a file that lists file names. */
  | 'names'
  /** Its value is a module that is run. */
  | 'module'
  /** Its value is a shell text. */
  | 'text'
  /** Its first operand is a shell text. */
  | 'operand-text'
  /** Its value is a host or a URL. */
  | 'host'
  /** Its value is a program, possibly with arguments. */
  | 'program'
  /** Its value is a script in the language of the program. */
  | 'script'
  /** Its value is `name=value`, judged by `isHarmlessSetting`. */
  | 'setting'
  /** As if the program ran `rm`. */
  | 'removes'
  /** As if the program ran `tee` with its value. */
  | 'writes'
  /** The words up to `;` or `+` are a command. */
  | 'exec'
  /** All words that follow are a command. */
  | 'rest';

export type ProgramGrammar = {
  readonly options?: Readonly<Record<string, OptionMeaning>>;
  /** The operands after this many are a command, as words or as a shell text. */
  readonly runs?: { readonly after: number; readonly as: 'words' | 'text' };
  /** Its first operand is a subcommand. */
  readonly commands?: Readonly<Record<string, ProgramGrammar>> | undefined;
  /** Subcommands that are not in the table: refused by default, since they may be aliases or plug-ins. */
  readonly otherCommands?: 'harmless';
  /** The command itself runs something that cannot be read. */
  readonly refused?: true;
  /** The first operand is a script. */
  readonly script?: ScriptLanguage;
  /** Only options have scripts: the operands of `psql` are a database and a user. */
  readonly scriptsInOptions?: true;
  /** The first operand is a pattern or a filter and names nothing. */
  readonly pattern?: true;
  /** No operand names anything. */
  readonly operandsAreData?: true;
  /** Every operand must be harmless in this language. */
  readonly scripts?: ScriptLanguage;
  /** Options of the program come before its subcommand; after it they mean something else. */
  readonly ownOptionsFirst?: true;
  /** Two operands set the first to the second; `isHarmlessSetting` judges the first. */
  readonly setsOperand?: true;
  /** `skip`: `A=b` before the command is a variable of it. `refuse`: `A=b` anywhere changes what is run. */
  readonly assignments?: 'skip' | 'refuse';
  /** Without an operand it runs its input. */
  readonly needsOperand?: true;
  /** After its first operand, nothing is an option of its own. */
  readonly firstOperandEnds?: true;
  readonly optionsFirst?: true;
  /**
   * Operands that the program connects to: every one, the first, or only with a host before a colon (`host:path`).
   */
  readonly hosts?: 'all' | 'first' | 'before-colon' | 'first-before-colon';
  /** Letters after `-c` are further letters, as in every shell. */
  readonly shell?: true;
  readonly longWithOneDash?: true;
  /** Words that load code or run a program, by their start: values may be attached without a mark. */
  readonly refusedStart?: RegExp;
  readonly bundled?: true;
  readonly readsNames?: true;
  readonly isHarmlessSetting?: (setting: string) => boolean;
};

/** The grammar of each program, by name. */
export type Programs = Readonly<Record<string, ProgramGrammar>>;
