/**
 * Look-ups for unsettled effects that were answered without a look, see `LookUp`.
 *
 * 1. A guess says that the session has no unsettled effect of a tool and input. It stays open until an append starts or
 *    holds a call with that input. The append function then looks, and refuses the entry if the guess was wrong.
 * 2. If an entry does not name its input, every open guess of its session is checked: too many checks are safe.
 * 3. After a wrong guess, look-ups of that session and tool are real ones.
 */
import { isEmittedEvent } from '../../call/emitted-event.ts';
import type { Entry } from '../../ledger/journal.ts';
import { lastInputDigest } from '../../ledger/unsettled-effect.ts';

export type Effect = { readonly toolName: string; readonly inputDigest: string };
type Guess = Effect & { open: number };

/** With more open guesses than this, no more are made. */
const mostOpen = 10_000;
const mostDoubtful = 10_000;

export class EffectGuesses {
  readonly #bySession = new Map<string, Guess[]>();
  readonly #doubtful = new Set<string>();
  #open = 0;

  /** May this look-up be answered with a guess? Notes the guess if so. */
  tryGuess(sessionId: string, effect: Effect): boolean {
    if (this.#open >= mostOpen || this.#doubtful.has(doubtKey(sessionId, effect.toolName))) return false;
    const known = this.#bySession.get(sessionId);
    const same = known?.find((guess) => isSame(guess, effect));
    if (same !== undefined) same.open++;
    else if (known === undefined) this.#bySession.set(sessionId, [{ ...effect, open: 1 }]);
    else known.push({ ...effect, open: 1 });
    this.#open++;
    return true;
  }

  /** The guesses that this append must check. They are closed: whatever it answers, they are not needed any more. */
  takeFor({ sessionId, callId, events }: Entry): readonly Effect[] {
    const known = this.#bySession.get(sessionId);
    if (known === undefined || callId === undefined) return none;
    const begins = events.some(
      (event) => !isEmittedEvent(event) && (event.type === 'tool.started' || event.type === 'tool.held'),
    );
    const ends = events.some((event) => event.type === 'tool.responded');
    if (!begins && !ends) return none;
    const digest = lastInputDigest(events, callId);
    if (digest === undefined)
      return begins ? known.map(({ toolName, inputDigest }) => ({ toolName, inputDigest })) : none;
    const taken = known.filter(({ inputDigest }) => inputDigest === digest);
    for (const guess of taken) this.#close(sessionId, known, guess);
    return begins ? taken : none;
  }

  /** Look-ups of this session and tool are real from now on. */
  noteWrong(sessionId: string, effects: readonly Effect[]): void {
    if (this.#doubtful.size >= mostDoubtful) this.#doubtful.clear();
    for (const { toolName } of effects) this.#doubtful.add(doubtKey(sessionId, toolName));
  }

  #close(sessionId: string, known: Guess[], guess: Guess): void {
    this.#open--;
    if (--guess.open > 0) return;
    known.splice(known.indexOf(guess), 1);
    if (known.length === 0) this.#bySession.delete(sessionId);
  }
}

const none: readonly Effect[] = Object.freeze([]);

const isSame = (one: Effect, other: Effect): boolean =>
  one.toolName === other.toolName && one.inputDigest === other.inputDigest;

const doubtKey = (sessionId: string, toolName: string): string =>
  `${sessionId.length}:${sessionId}${toolName}`;
