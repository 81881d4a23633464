/** A hand-written loop over any functions: `govern`, a runtime and a turn, without an adapter. */
import { createRuntime, govern, outcomeIsError, outcomeToContentParts, sessionCallId } from 'quittance';
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
        const rounds: (readonly string[])[] = [];
        for (;;) {
          const round = await player.next(told);
          if ('text' in round) return { text: round.text, told };
          const calls = round.calls.map((call) => {
            const earlier = rounds.filter((ids) => ids.includes(call.id)).length;
            return { ...call, id: sessionCallId(call.id, earlier) };
          });
          rounds.push(round.calls.map(({ id }) => id));
          const outcomes = await turn.callAll(calls, { ...(signal !== undefined && { signal }) });
          signal?.throwIfAborted();
          for (const [index, outcome] of outcomes.entries()) {
            if (outcome.type === 'pending') throw new Error(`Call ${outcome.callId} is pending.`);
            const texts = outcomeToContentParts(outcome).flatMap((part) =>
              part.type === 'text' ? [part.text] : [],
            );
            told.push({ callId: round.calls[index]?.id ?? '', texts, isError: outcomeIsError(outcome) });
          }
        }
      },
    };
  },
};
export default harness;
