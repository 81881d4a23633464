/** What a pattern with lookaround or backreferences becomes: steps for a machine that counts them. */

export type Step =
  | { readonly type: 'char'; readonly accepts: (codePoint: number) => boolean }
  | { readonly type: 'assert'; readonly holds: (text: string, at: number) => boolean }
  /** Goes on at `first`, and at `second` where that leads nowhere. */
  | { type: 'fork'; first: number; second: number }
  | { type: 'jump'; to: number }
  /** Notes the position in a register. */
  | { readonly type: 'save'; readonly register: number }
  /** Fails where nothing was consumed since the register was saved: a loop of nothing would never end. */
  | { readonly type: 'progress'; readonly register: number }
  | { readonly type: 'back'; readonly group: number; readonly ignoreCase: boolean }
  | {
      readonly type: 'look';
      readonly direction: 'ahead' | 'behind';
      readonly negated: boolean;
      readonly program: readonly Step[];
    }
  | { readonly type: 'match' };

/** Thrown where the steps of a search are used up. */
export class TooManySteps extends Error {}

/** How many steps are left for one search. */
export type StepBudget = { left: number };

/** The end of a match that begins at `start`, or -1. Registers hold where groups begin and end. */
export function runProgram(
  program: readonly Step[],
  text: string,
  start: number,
  registers: number[],
  budget: StepBudget,
  mustEndAt = -1,
): number {
  // Two numbers each: a place to go on and a position, or a register (as -1 - register) and what it held.
  const pending: number[] = [0, start];
  while (pending.length > 0) {
    let at = pending.pop() as number;
    let next = pending.pop() as number;
    if (next < 0) {
      registers[-1 - next] = at;
      continue;
    }
    for (let alive = true; alive;) {
      if (--budget.left < 0) throw new TooManySteps();
      const step = program[next] as Step;
      next++;
      switch (step.type) {
        case 'char': {
          const codePoint = text.codePointAt(at);
          alive = codePoint !== undefined && step.accepts(codePoint);
          at += codePoint !== undefined && codePoint > 0xffff ? 2 : 1;
          break;
        }
        case 'assert':
          alive = step.holds(text, at);
          break;
        case 'fork':
          pending.push(step.second, at);
          next = step.first;
          break;
        case 'jump':
          next = step.to;
          break;
        case 'save':
          pending.push(-1 - step.register, registers[step.register] ?? -1);
          registers[step.register] = at;
          break;
        case 'progress':
          alive = registers[step.register] !== at;
          break;
        case 'back': {
          const end = matchAgain(text, at, step, registers);
          alive = end >= 0;
          at = end;
          break;
        }
        case 'look':
          alive = looks(step, text, at, registers, budget) !== step.negated;
          break;
        case 'match':
          if (mustEndAt < 0 || at === mustEndAt) return at;
          alive = false;
          break;
      }
    }
  }
  return -1;
}

/** A group that took no part matches nothing, as in every engine but one. */
function matchAgain(
  text: string,
  at: number,
  { group, ignoreCase }: Step & { type: 'back' },
  registers: readonly number[],
): number {
  const start = registers[group * 2] ?? -1;
  const end = registers[group * 2 + 1] ?? -1;
  if (start < 0 || end < start) return -1;
  const wanted = text.slice(start, end);
  const found = text.slice(at, at + wanted.length);
  const same = ignoreCase ? wanted.toLowerCase() === found.toLowerCase() : wanted === found;
  return same ? at + wanted.length : -1;
}

function looks(
  { direction, program }: Step & { type: 'look' },
  text: string,
  at: number,
  registers: number[],
  budget: StepBudget,
): boolean {
  if (direction === 'ahead') return runProgram(program, text, at, registers, budget) >= 0;
  for (let start = at; start >= 0; start--)
    if (runProgram(program, text, start, registers, budget, at) >= 0) return true;
  return false;
}
