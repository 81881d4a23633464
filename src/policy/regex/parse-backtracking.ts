/**
 * Reads patterns with lookaround and backreferences into steps for a machine that counts them. What one character may
 * be (classes, escapes, case) is left to the platform, asked about one character at a time: that has a bound.
 */
import type { Step } from './backtracking-program.ts';

/** Thrown for what is no pattern, or one with something in it that is not known here. */
export class UnknownSyntax extends Error {}

export type BacktrackingProgram = { readonly steps: readonly Step[]; readonly registers: number };

/** Repetitions are written out; this many steps are enough for any pattern somebody wrote. */
const mostSteps = 20_000;

type Node = (emit: Emitter) => void;
type Flags = { readonly i: boolean; readonly m: boolean; readonly s: boolean };

export function parseBacktracking(pattern: string): BacktrackingProgram {
  const reader = new PatternReader(pattern);
  const node = reader.readAll();
  const emitter = new Emitter(reader.groups * 2 + 2);
  node(emitter);
  return { steps: emitter.finish(), registers: emitter.registers };
}

class Emitter {
  readonly steps: Step[] = [];
  registers: number;

  constructor(registers: number) {
    this.registers = registers;
  }

  add<Added extends Step>(step: Added): Added {
    if (this.steps.length >= mostSteps) throw new UnknownSyntax('it repeats too much');
    this.steps.push(step);
    return step;
  }

  /** The steps of a part of its own, which shares the registers. */
  inner(node: Node): readonly Step[] {
    const emitter = new Emitter(this.registers);
    node(emitter);
    this.registers = emitter.registers;
    return emitter.finish();
  }

  finish(): readonly Step[] {
    this.add({ type: 'match' });
    return this.steps;
  }
}

const nothing: Node = () => undefined;
const sequence =
  (nodes: readonly Node[]): Node =>
  (emit) => {
    for (const node of nodes) node(emit);
  };

const choice =
  (branches: readonly Node[]): Node =>
  (emit) => {
    const jumps = branches.slice(0, -1).map((branch) => {
      const fork = emit.add({ type: 'fork', first: emit.steps.length + 1, second: 0 });
      branch(emit);
      const jump = emit.add({ type: 'jump', to: 0 });
      fork.second = emit.steps.length;
      return jump;
    });
    branches.at(-1)?.(emit);
    for (const jump of jumps) jump.to = emit.steps.length;
  };

const repeat =
  (node: Node, least: number, most: number, lazy: boolean): Node =>
  (emit) => {
    for (let count = 0; count < least; count++) node(emit);
    const forks: (Step & { type: 'fork' })[] = [];
    const fork = (): void => {
      forks.push(emit.add({ type: 'fork', first: emit.steps.length + 1, second: 0 }));
    };
    if (most === Number.POSITIVE_INFINITY) {
      const start = emit.steps.length;
      const register = emit.registers++;
      fork();
      emit.add({ type: 'save', register });
      node(emit);
      emit.add({ type: 'progress', register });
      emit.add({ type: 'jump', to: start });
    } else
      for (let count = least; count < most; count++) {
        fork();
        node(emit);
      }
    for (const each of forks) {
      each.second = emit.steps.length;
      if (lazy) [each.first, each.second] = [each.second, each.first];
    }
  };

const assert =
  (holds: (text: string, at: number) => boolean): Node =>
  (emit) => {
    emit.add({ type: 'assert', holds });
  };

const isWord = (text: string, at: number): boolean => /\w/.test(text[at] ?? '');
const isBoundary = (text: string, at: number): boolean => isWord(text, at - 1) !== isWord(text, at);

class PatternReader {
  /** Capturing groups so far. */
  groups = 0;
  readonly #names = new Map<string, number>();
  readonly #text: string;
  #at = 0;
  #furthestReference = 0;
  #flags: Flags = { i: false, m: false, s: false };

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): Node {
    const node = this.#choice();
    if (this.#at < this.#text.length) throw new UnknownSyntax('it closes a group that was never opened');
    if (this.#furthestReference > this.groups)
      throw new UnknownSyntax('it refers to a group that is not there');
    return node;
  }

  /** Takes what the sticky pattern matches here, or nothing. */
  #take(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }

  /** Flags set inside hold to the end of the group they stand in. */
  #choice(): Node {
    const flags = this.#flags;
    const branches = [this.#sequence()];
    while (this.#take(/\|/y)) branches.push(this.#sequence());
    this.#flags = flags;
    return choice(branches);
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    while (this.#at < this.#text.length && !/[|)]/.test(this.#text[this.#at] as string))
      nodes.push(this.#quantified());
    return sequence(nodes);
  }

  #quantified(): Node {
    const node = this.#atom();
    const found = this.#take(/([*+?]|\{(\d{1,4})(,(\d{0,4}))?\})(\??)/y);
    if (found === undefined) return node;
    if (this.#take(/[*+?]/y)) throw new UnknownSyntax('it repeats a repetition');
    const [, sign, low, comma, high = '', lazy] = found;
    const infinite = Number.POSITIVE_INFINITY;
    if (low === undefined)
      return repeat(node, sign === '+' ? 1 : 0, sign === '?' ? 1 : infinite, lazy === '?');
    const most = comma === undefined ? Number(low) : high === '' ? infinite : Number(high);
    if (most < Number(low)) throw new UnknownSyntax('it repeats from more to less');
    return repeat(node, Number(low), most, lazy === '?');
  }

  #atom(): Node {
    const { m } = this.#flags;
    const [start] = this.#take(/\^|\\A/y) ?? [];
    if (start !== undefined)
      return assert(
        start === '^' && m ? (text, at) => at === 0 || text[at - 1] === '\n' : (_text, at) => at === 0,
      );
    const [end] = this.#take(/\$|\\[zZ]/y) ?? [];
    if (end !== undefined)
      return assert(
        end === '$' && m
          ? (text, at) => at === text.length || text[at] === '\n'
          : (text, at) => at === text.length,
      );
    const [boundary] = this.#take(/\\[bB]/y) ?? [];
    if (boundary !== undefined)
      return assert((text, at) => isBoundary(text, at) === (boundary === String.raw`\b`));
    const reference = this.#take(/\\([1-9]\d?)|\\k<(\w+)>|\(\?P=(\w+)\)/y);
    if (reference !== undefined) return this.#reference(reference);
    return this.#take(/\(/y) ? this.#group() : this.#character();
  }

  #reference([, digits, name, otherName]: RegExpExecArray): Node {
    const group = digits === undefined ? this.#names.get(name ?? otherName ?? '') : Number(digits);
    if (group === undefined) throw new UnknownSyntax('it refers to a group that is not there');
    this.#furthestReference = Math.max(this.#furthestReference, group);
    const ignoreCase = this.#flags.i;
    return (emit) => {
      emit.add({ type: 'back', group, ignoreCase });
    };
  }

  #group(): Node {
    const [inline, alone] = this.#take(/\?([ims]+)\)/y) ?? [];
    if (inline !== undefined) {
      this.#flags = addFlags(this.#flags, alone);
      return nothing;
    }
    const [plain, within] = this.#take(/\?([ims]*):/y) ?? [];
    if (plain !== undefined) return this.#body(within);
    const [look, behind, sign] = this.#take(/\?(<?)([=!])/y) ?? [];
    if (look !== undefined) {
      const node = this.#body();
      const direction = behind === '<' ? 'behind' : 'ahead';
      return (emit) => {
        emit.add({ type: 'look', direction, negated: sign === '!', program: emit.inner(node) });
      };
    }
    const [, name] = this.#take(/\?P?<([A-Za-z_]\w*)>/y) ?? [];
    if (name === undefined && this.#take(/\?/y)) throw new UnknownSyntax('it has a group of an unknown kind');
    const group = ++this.groups;
    if (name !== undefined) this.#names.set(name, group);
    const node = this.#body();
    return (emit) => {
      emit.add({ type: 'save', register: group * 2 });
      node(emit);
      emit.add({ type: 'save', register: group * 2 + 1 });
    };
  }

  #body(flags?: string): Node {
    const before = this.#flags;
    this.#flags = addFlags(before, flags);
    const node = this.#choice();
    this.#flags = before;
    if (!this.#take(/\)/y)) throw new UnknownSyntax('it leaves a group open');
    return node;
  }

  #character(): Node {
    const [plain] = this.#take(/[^\\[.*+?]/uy) ?? [];
    const special = plain ?? this.#take(specialCharacter)?.[0];
    if (special === undefined || special.includes('[:'))
      throw new UnknownSyntax('it has a part that is not known');
    const source = plain === undefined ? special : `\\u{${(plain.codePointAt(0) ?? 0).toString(16)}}`;
    const accepts = compileCharacter(source, this.#flags);
    return (emit) => {
      emit.add({ type: 'char', accepts });
    };
  }
}

/** A dot, a class, an escape. */
const specialCharacter =
  /\.|\[\^?(?:\\[^]|[^\]\\])(?:\\[^]|[^\]\\])*\]|\\p\{[^}]*\}|\\P\{[^}]*\}|\\x[\da-f]{2}|\\u[\da-f]{4}|\\u\{[\da-f]+\}|\\[^\da-zA-Z]|\\[dDwWsSnrtfv0]/iy;

function addFlags(flags: Flags, added = ''): Flags {
  return {
    i: flags.i || added.includes('i'),
    m: flags.m || added.includes('m'),
    s: flags.s || added.includes('s'),
  };
}

/** Asks the platform about one character; about the common ones beforehand. */
function compileCharacter(source: string, { i, s }: Flags): (codePoint: number) => boolean {
  const matches = new RegExp(`^${source}$`, `u${i ? 'i' : ''}${s ? 's' : ''}`);
  const ask = (codePoint: number): boolean => matches.test(String.fromCodePoint(codePoint));
  const common = Array.from({ length: 128 }, (_, codePoint) => ask(codePoint));
  return (codePoint) => common[codePoint] ?? ask(codePoint);
}
