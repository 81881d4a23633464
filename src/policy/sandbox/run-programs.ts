/**
 * Finds the programs that a command would run: its first word, and the programs that this one runs according to its
 * grammar (program-grammar.ts). Words may make a program run or load something that the words do not show. The
 * reading reports that, and only an entry of the rule that names those exact words allows it.
 */
import { commandsInLine, readCommandLine, type ShellWord } from './command-line.ts';
import { isHarmlessScript } from './harmless-script.ts';
import { grammarOfProgram } from './program-grammar.ts';
import type { ProgramGrammar } from './programs/grammar.ts';
import { harmlessVariables } from './programs/harmless-variables.ts';
import { type FoundOption, isOption, findOption } from './find-option.ts';

export type ProgramRun = {
  /** The words from the program on. */
  readonly words: readonly ShellWord[];
  readonly inner: readonly InnerRun[];
  /** Words that name nothing: patterns, messages, formats. */
  readonly data: ReadonlySet<number>;
  /** Words that this program connects to, whatever they look like: `curl intranet`. */
  readonly hosts: readonly string[];
  /** It takes file names from its input or from a list, so the files it touches are unknown. */
  readonly readsNames: boolean;
};

export type InnerRun = {
  /** The index of the word that causes it; an entry that reaches further allows it by name. */
  readonly at: number;
  /**
   * `opaque`: code, a module, or another program named by an option. `unreadable`: a shell text that cannot be read.
   */
  readonly runs: readonly ProgramRun[] | 'opaque' | 'unreadable';
  /** It is a chain of commands. */
  readonly chained: boolean;
  /** It came from a text, so its words are not among those of the outer command. */
  readonly fromText: boolean;
};

const deepest = 4;

/** Undefined if the words name no program. */
export function readRun(words: readonly ShellWord[], depth = 0): ProgramRun | undefined {
  const start = words.findIndex(({ text }) => !isHarmlessAssignment(text));
  const own = start < 0 ? [] : words.slice(start);
  const [first] = own;
  if (first === undefined || first.text === '' || first.wildcard || depth > deepest) return undefined;
  const name = first.text.slice(first.text.lastIndexOf('/') + 1).replace(/\.exe$/i, '');
  const grammar = grammarOfProgram(name);
  return new RunReading(own, grammar, depth).read();
}

/** `NODE_ENV=test npm test`: a variable that neither chooses a program nor loads code. */
function isHarmlessAssignment(text: string): boolean {
  const found = /^([A-Za-z_]\w*)=([\w.,:@%+-]*)$/.exec(text);
  return found !== null && harmlessVariables.has(found[1] ?? '');
}

/** `operand`: its number among the operands, from 1. */
function namesHost(text: string, operand: number, hosts: ProgramGrammar['hosts']): boolean {
  switch (hosts) {
    case undefined:
      return false;
    case 'all':
      return true;
    case 'first':
      return operand === 1;
    case 'before-colon':
      return /^[^/:]+:/.test(text);
    case 'first-before-colon':
      return operand === 1 && /^[^/:]+:/.test(text);
  }
}

class RunReading {
  readonly #words: readonly ShellWord[];
  readonly #depth: number;
  readonly #inner: InnerRun[] = [];
  #grammar: ProgramGrammar;
  #readsNames = false;
  readonly #data = new Set<number>();
  readonly #hosts: string[] = [];

  constructor(words: readonly ShellWord[], grammar: ProgramGrammar, depth: number) {
    this.#words = words;
    this.#grammar = grammar;
    this.#depth = depth;
  }

  read(): ProgramRun {
    let operands = 0;
    let scripted = this.#grammar.scriptsInOptions === true;
    let enough = false;
    let textFirst = false;
    if (this.#grammar.refused === true) this.#refuse(1);
    this.#readsNames = this.#grammar.readsNames === true;
    let optionsOver = false;
    let at = 1;
    for (; at < this.#words.length; at++) {
      const text = this.#words[at]?.text ?? '';
      const grammar = this.#grammar;
      if (grammar.refusedStart?.test(text) === true) {
        this.#refuse(at);
        continue;
      }
      if (text === '--' && !optionsOver) {
        optionsOver = true;
        continue;
      }
      if (!optionsOver && isOption(text, at, grammar)) {
        const option = findOption(text, grammar);
        if (option.meaning === 'script' || option.meaning === 'pattern' || option.meaning === 'patterns')
          scripted = true;
        if (option.meaning === 'enough') enough = true;
        if (option.meaning === 'operand-text') textFirst = true;
        // If it takes the next word as its value, another word names what is run: `env --unse ls rm`.
        if (option.unclear && (grammar.runs !== undefined || grammar.commands !== undefined))
          this.#refuse(at);
        at = this.#readOption(at, option);
        continue;
      }
      if (grammar.commands !== undefined) {
        this.#enterCommand(at, text, grammar, grammar.commands);
        // An unlisted word may itself be an operand, as in `git config user.name`.
        if (grammar.otherCommands === 'harmless' && !Object.hasOwn(grammar.commands, text)) at--;
        operands = 0;
        continue;
      }
      if (grammar.assignments === 'skip' && /^\w+=/.test(text)) {
        if (!isHarmlessAssignment(text)) this.#refuse(at);
        continue;
      }
      if (grammar.assignments === 'refuse' && /^[\w.+-]+[:+?]*=/.test(text)) {
        this.#refuse(at);
        continue;
      }
      operands++;
      if (textFirst) {
        this.#runText(at, this.#words.slice(at, at + 1));
        return this.#finish();
      }
      if (namesHost(text, operands, grammar.hosts)) this.#hosts.push(text.replace(/^@/, ''));
      if (grammar.needsOperand === true && /^(?:-|\/dev\/(?:stdin|fd\/.*)|\/proc\/.*)$/.test(text))
        this.#refuse(at);
      if (grammar.setsOperand === true && operands === 1 && at + 1 < this.#words.length)
        if (grammar.isHarmlessSetting?.(text) !== true) this.#refuse(at);
      if (grammar.script !== undefined && !scripted && operands === 1) {
        if (isHarmlessScript(grammar.script, text)) this.#data.add(at);
        else this.#refuse(at);
        continue;
      }
      if (grammar.operandsAreData === true || (grammar.pattern === true && !scripted && operands === 1)) {
        this.#data.add(at);
        continue;
      }
      if (grammar.scripts !== undefined && !isHarmlessScript(grammar.scripts, text)) this.#refuse(at);
      if (grammar.runs !== undefined && operands > grammar.runs.after) {
        if (grammar.runs.as === 'words') this.#runWords(at, this.#words.length);
        else this.#runText(at, this.#words.slice(at));
        return this.#finish();
      }
      // Options after a program's file belong to the file: `python a.py -c x`.
      if (grammar.firstOperandEnds === true) return this.#finish();
      if (grammar.optionsFirst === true) optionsOver = true;
    }
    if (this.#grammar.needsOperand === true && operands === 0 && !enough && this.#inner.length === 0)
      this.#refuse(at, 'unreadable');
    return this.#finish();
  }

  /** Continues with the grammar of a subcommand. */
  #enterCommand(
    at: number,
    name: string,
    grammar: ProgramGrammar,
    commands: NonNullable<ProgramGrammar['commands']>,
  ): void {
    const sub = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (sub === undefined) {
      if (grammar.otherCommands !== 'harmless') this.#refuse(at);
      this.#grammar = { ...grammar, commands: undefined };
    } else if (grammar.ownOptionsFirst === true) this.#grammar = sub;
    else this.#grammar = { ...sub, options: { ...grammar.options, ...sub.options } };
    if (this.#grammar.readsNames === true) this.#readsNames = true;
    if (this.#grammar.refused === true) this.#refuse(at);
  }

  #finish(): ProgramRun {
    return {
      words: this.#words,
      inner: this.#inner,
      data: this.#data,
      hosts: this.#hosts,
      readsNames: this.#readsNames,
    };
  }

  #refuse(at: number, runs: 'opaque' | 'unreadable' = 'opaque'): void {
    this.#inner.push({ at, runs, chained: false, fromText: false });
  }

  /** Returns the index of the last word that belongs to the option. */
  #readOption(at: number, { meaning, value }: FoundOption): number {
    const next = this.#words[at + 1]?.text;
    const valueAt = value === undefined ? at + 1 : at;
    const given = value ?? next;
    switch (meaning) {
      case undefined:
      case 'flag':
      case 'enough':
      case 'operand-text':
        return at;
      case 'host':
        if (given !== undefined) this.#hosts.push(given);
        return valueAt;
      case 'value':
      case 'patterns':
        return valueAt;
      case 'data':
      case 'pattern':
        this.#data.add(valueAt);
        return valueAt;
      case 'refused':
        this.#refuse(at);
        return at;
      case 'names':
        this.#readsNames = true;
        return valueAt;
      case 'reroutes':
        this.#refuse(at, 'unreadable');
        return valueAt;
      case 'module':
        // A module is a program by another name: an entry must name it.
        this.#refuse(valueAt);
        return valueAt;
      case 'text':
        this.#runText(valueAt, given === undefined ? [] : [{ text: given, wildcard: false }]);
        return valueAt;
      case 'program':
        if (given === undefined) this.#refuse(at);
        else this.#runText(valueAt, [{ text: given, wildcard: false }]);
        return valueAt;
      case 'script':
        if (
          given === undefined ||
          this.#grammar.script === undefined ||
          !isHarmlessScript(this.#grammar.script, given)
        )
          this.#refuse(at);
        else this.#data.add(valueAt);
        return valueAt;
      case 'setting':
        if (given === undefined || this.#grammar.isHarmlessSetting?.(given) !== true) this.#refuse(valueAt);
        return valueAt;
      case 'removes':
        this.#runNamed(at, 'rm');
        return at;
      case 'writes':
        this.#runNamed(at, 'tee');
        return at + 1;
      case 'exec': {
        // Up to `;` or `{} +`, as in `find -exec`. Any other `+` is a word of the command.
        let end = at + 1;
        while (end < this.#words.length && !this.#endsExec(end)) end++;
        this.#runWords(at + 1, end);
        return end;
      }
      case 'rest':
        this.#runWords(valueAt, this.#words.length);
        return this.#words.length;
    }
  }

  #endsExec(at: number): boolean {
    const text = this.#words[at]?.text;
    return text === ';' || (text === '+' && this.#words[at - 1]?.text === '{}');
  }

  #runNamed(at: number, name: string): void {
    const run = {
      words: [{ text: name, wildcard: false }],
      inner: [],
      data: new Set<number>(),
      hosts: [],
      readsNames: false,
    };
    this.#inner.push({ at, runs: [run], chained: false, fromText: false });
  }

  #runWords(from: number, to: number): void {
    const words = this.#words.slice(from, to);
    const run = readRun(words, this.#depth + 1);
    if (run === undefined) this.#refuse(from, 'unreadable');
    else this.#inner.push({ at: from, runs: [run], chained: false, fromText: false });
  }

  /** Words that are joined and passed to a shell. */
  #runText(at: number, words: readonly ShellWord[]): void {
    const line = readCommandLine(words.map(({ text }) => text).join(' '));
    const runs: ProgramRun[] = [];
    for (const command of commandsInLine(line) ?? []) {
      const run = command.files.length > 0 ? undefined : readRun(command.words, this.#depth + 1);
      if (run === undefined) return this.#refuse(at, 'unreadable');
      runs.push(run);
    }
    if (runs.length === 0) this.#refuse(at, 'unreadable');
    else this.#inner.push({ at, runs, chained: !line.plain, fromText: true });
  }
}
