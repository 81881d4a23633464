/** The three guards against repeated calls: duplicate, loop, twin. */
import type { Awaitable } from '../../base/json.ts';
import type { Ask } from '../../call/event.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { isPromiseLike, whenReady } from '../../base/when-ready.ts';
import type { Findings, ReadyCall } from '../state/call-stages.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import { resourceKeysOf } from '../input/resource-keys.ts';
import { wasWrittenSince } from '../undo/later-writes.ts';
import { isGuarded } from './doubt.ts';
import type { Gate, Stop, Verdict } from '../state/gate.ts';

const loopLimit = 3;
const readLoopLimit = 20;

export const duplicateGate: Gate = {
  name: 'duplicate',
  check(live) {
    const { tool, turn, input } = live;
    const earlier = tool.idempotent
      ? turn.recent.findDuplicate(tool.name, input.effective.digest)
      : undefined;
    return earlier === undefined ? findRepeat(live) : findDuplicate(live, earlier);
  },
};

/** An identical call of a tool that declares repeats pointless has succeeded, and nothing was written since. */
async function findDuplicate(live: ReadyCall & Findings, earlier: string): Promise<Verdict> {
  const { engine, sessionId, tool, input } = live;
  const keys = resourceKeysOf(tool, () => inputForTool(tool.input, input));
  if (await wasWrittenSince(engine, sessionId, earlier, keys)) return findRepeat(live);
  return {
    type: 'deny',
    reason: 'duplicate',
    code: 'call.duplicate',
    details: `Call ${earlier} of this turn did the same and succeeded; use its result.`,
  };
}

const findRepeat = (live: ReadyCall & Findings): Awaitable<Verdict> =>
  findLoop(live) ?? (isGuarded(live.tool) ? findTwin(live) : undefined);

/** Finds a model that repeats one call, or a round of several calls. */
function findLoop({ tool, turn, input, engine, policy }: ReadyCall): Stop | undefined {
  const { digest } = input.effective;
  const repeats = turn.recent.countRepeats(tool.name, digest);
  if (repeats >= limitOf(tool))
    return loop(`The last ${repeats} calls were this one and ended alike; another would too.`);
  const rounds = turn.recent.findRounds(tool.name, digest);
  if (rounds.length === 0) return undefined;
  for (const { toolNames, count } of rounds) {
    // A round that contains a polling read is allowed as often as that read: the highest limit of the round
    // applies.
    const limits = toolNames.map((name) => limitOf(engine.toolFor(name, policy)));
    if (count >= Math.max(...limits))
      return loop(
        `The same ${toolNames.length} calls (${toolNames.join(', ')}) were made ${count} times in a row and ended alike; another round would too.`,
      );
  }
  return undefined;
}

const limitOf = (tool: AnyTool | undefined): number =>
  tool?.loopLimit ?? (tool?.mode === 'read' ? readLoopLimit : loopLimit);

const loop = (details: string): Stop => ({ type: 'deny', reason: 'duplicate', code: 'call.loop', details });

/**
 * Finds the most common double payment: the model saw no clear end and repeats the call with a new id. A call
 * that may already have taken effect runs again only if a person approves.
 */
function findTwin(live: ReadyCall & Findings): Awaitable<Verdict> {
  // Another process may just have died with the same call, so each turn first recovers the calls of dead
  // owners.
  return live.turn.swept ? lookForTwins(live) : sweepFirst(live);
}

const sweepFirst = (live: ReadyCall & Findings): Awaitable<Verdict> =>
  whenReady(live.services.sweep(live.sessionId), () => {
    live.turn.swept = true;
    return lookForTwins(live);
  });

const lookForTwins = (live: ReadyCall & Findings): Awaitable<Verdict> => {
  const { tool, turn, input, engine } = live;
  const { claims } = engine.ledger;
  const found = claims.findUnsettledEffects(
    turn.sessionId,
    tool.name,
    input.effective.digest,
    'before_append',
  );
  return isPromiseLike(found) ? meetTwinsLater(live, found) : meetTwins(live, found);
};

/** A function of its own: a function with a closure allocates its variables even if it makes none. */
const meetTwinsLater = (
  live: ReadyCall & Findings,
  finding: PromiseLike<readonly string[]>,
): PromiseLike<Verdict> => finding.then((twins) => meetTwins(live, twins));

function meetTwins({ tool, asks }: ReadyCall & Findings, twins: readonly string[]): Verdict {
  if (twins.length === 0) return undefined;
  const description = `Call ${twins.at(-1)} did the same, and it is unknown whether it took effect.`;
  if (tool.rerun === 'deny')
    return { type: 'deny', reason: 'duplicate', code: 'call.twin', details: description };
  const ask: Ask = { by: { type: 'gate', name: 'twin' }, description, code: 'call.twin' };
  return { type: 'found', found: { twins, asks: [...asks, ask] } };
}
