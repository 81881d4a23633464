/** The three guards against doing a thing again: duplicate, loop, twin. */
import type { Awaitable } from '../../base/json.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { isGuarded } from './doubt.ts';
import type { Gate, Stop } from '../state/gate.ts';

const loopLimit = 3;
const readLoopLimit = 20;

export const duplicateGate: Gate = {
  name: 'duplicate',
  check: (hand) =>
    findDuplicate(hand) ?? findLoop(hand) ?? (isGuarded(hand.knownTool) ? findTwin(hand) : undefined),
};

/** A tool that says repeating it is pointless, asked for the same thing again with nothing written in between. */
function findDuplicate({ knownTool: tool, turn, input }: CallInHand): Stop | undefined {
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
function findLoop({ knownTool: tool, turn, input, engine, policy }: CallInHand): Stop | undefined {
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
function findTwin(hand: CallInHand): Awaitable<Stop | undefined> {
  // Somebody may have died over the same thing a moment ago: with every turn, that is found out first.
  return hand.turn.swept ? lookForTwins(hand) : sweepFirst(hand);
}

async function sweepFirst(hand: CallInHand): Promise<Stop | undefined> {
  await hand.engine.sweep(hand.turn.sessionId);
  hand.turn.swept = true;
  return lookForTwins(hand);
}

const lookForTwins = (hand: CallInHand): Awaitable<Stop | undefined> => {
  const { knownTool: tool, turn, input, engine } = hand;
  return whenReady(
    engine.ledger.claims.findUnsettledEffects(turn.sessionId, tool.name, input.effective.digest),
    (twins) => meetTwins(hand, twins),
  );
};

function meetTwins(hand: CallInHand, twins: readonly string[]): Stop | undefined {
  if (twins.length === 0) return undefined;
  const { knownTool: tool } = hand;
  const description = `Call ${twins.at(-1)} did the same and nobody knows whether it took effect.`;
  if (tool.rerun === 'deny')
    return { type: 'deny', reason: 'duplicate', code: 'call.twin', details: description };
  hand.twins = twins;
  hand.ask({ by: { type: 'gate', name: 'twin' }, description, code: 'call.twin' });
  return undefined;
}
