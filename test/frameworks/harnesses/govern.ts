/** A loop of one's own over any functions: `govern`, a runtime and a turn, and no adapter at all. */
import { createRuntime, govern, outcomeIsError, outcomeToContentParts } from 'quittance';
import type { Harness, Told } from '../suite/harness.ts';
import { createPlayer } from '../suite/harness.ts';
import { plainTools } from './plain-tools.ts';

const harness: Harness = {
  name: 'any function',
  module: import.meta.url,
  streams: false,
  suspends: false,
  async start(tools, { overrides = {}, turn: everyTurn, ...options }) {
    const runtime = createRuntime({ ...options, tools: govern(plainTools(tools), overrides) });
    return {
      runtime,
      async run(script, { sessionId, signal }) {
        const player = createPlayer(script);
        const told: Told[] = [];
        const turn = runtime.turn({ sessionId, ...everyTurn });
        for (;;) {
          const round = await player.next(told);
          if ('text' in round) return { text: round.text, told };
          const outcomes = await turn.callAll(round.calls, { ...(signal !== undefined && { signal }) });
          signal?.throwIfAborted();
          for (const outcome of outcomes) {
            if (outcome.type === 'pending') throw new Error(`Call ${outcome.callId} is pending.`);
            const texts = outcomeToContentParts(outcome).flatMap((part) =>
              part.type === 'text' ? [part.text] : [],
            );
            told.push({ callId: outcome.callId, texts, isError: outcomeIsError(outcome) });
          }
        }
      },
    };
  },
};
export default harness;
