/** The three guards against doing a thing again: duplicate, loop, twin. */
import type { Awaitable } from '../../base/json.ts';
import type { Ask } from '../../call/event.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { Findings, ReadyCall } from '../state/call-stages.ts';
import { isGuarded } from './doubt.ts';
import type { Gate, Stop, Verdict } from '../state/gate.ts';

const loopLimit = 3;
const readLoopLimit = 20;

export const duplicateGate: Gate = {
  name: 'duplicate',
  check: (live) =>
    findDuplicate(live) ?? findLoop(live) ?? (isGuarded(live.tool) ? findTwin(live) : undefined),
};

/** A tool that says repeating it is pointless, asked for the same thing again with nothing written in between. */
function findDuplicate({ tool, turn, input }: ReadyCall): Stop | undefined {
  if (!tool.idempotent) return undefined;
  const earlier = turn.recent.findDuplicate(tool.name, input.effective.digest);
  if (earlier === undefined) return undefined;
  return {
    type: 'deny',
    reason: 'duplicate',
    code: 'call.duplicate',
    details: `Call ${earlier} of this turn did the same and succeeded; use its result.`,
  };
}

/** A model going round in circles: over one call, or over several in turns. */
function findLoop({ tool, turn, input, engine, policy }: ReadyCall): Stop | undefined {
  const { digest } = input.effective;
  const repeats = turn.recent.countRepeats(tool.name, digest);
  if (repeats >= limitOf(tool))
    return loop(`The last ${repeats} calls were this one and ended alike; another would too.`);
  for (const { toolNames, count } of turn.recent.findRounds(tool.name, digest)) {
    // Whatever waits between two looks is no loop as long as looking is none: the most patient tool decides.
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
 * The commonest way to pay twice: a model that saw no clear end asks again under a new id. What may have happened
 * already does not happen again unless a person says so.
 */
function findTwin(live: ReadyCall & Findings): Awaitable<Verdict> {
  // Somebody may have died over the same thing a moment ago: with every turn, that is found out first.
  return live.turn.swept ? lookForTwins(live) : sweepFirst(live);
}

async function sweepFirst(live: ReadyCall & Findings): Promise<Verdict> {
  await live.services.sweep(live.sessionId);
  live.turn.swept = true;
  return lookForTwins(live);
}

const lookForTwins = (live: ReadyCall & Findings): Awaitable<Verdict> => {
  const { tool, turn, input, engine } = live;
  return whenReady(
    engine.ledger.claims.findUnsettledEffects(turn.sessionId, tool.name, input.effective.digest),
    (twins) => meetTwins(live, twins),
  );
};

function meetTwins({ tool, asks }: ReadyCall & Findings, twins: readonly string[]): Verdict {
  if (twins.length === 0) return undefined;
  const description = `Call ${twins.at(-1)} did the same and nobody knows whether it took effect.`;
  if (tool.rerun === 'deny')
    return { type: 'deny', reason: 'duplicate', code: 'call.twin', details: description };
  const ask: Ask = { by: { type: 'gate', name: 'twin' }, description, code: 'call.twin' };
  return { type: 'found', found: { twins, asks: [...asks, ask] } };
}
