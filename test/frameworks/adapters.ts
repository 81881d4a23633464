/** Makes the calls of conformance cases through an adapter, by the loop of its framework. */
import type { MakeCaller } from '../../conformance/make-caller.ts';
import type { Adapter } from '../../conformance/through-adapters.ts';
import { loadHarnesses } from './harnesses.ts';
import type { Harness } from './suite/harness.ts';

const callThrough =
  (harness: Harness): MakeCaller =>
  async ({ tools, ...options }) => {
    const stage = await harness.start(
      tools.map(({ name, run }) => ({ name, parameters: {}, takesAnything: true, run })),
      {
        ...options,
        overrides: Object.fromEntries(tools.map(({ name }) => [name, { mode: 'external' }])),
      },
    );
    return {
      runtime: stage.runtime,
      async makeCall({ sessionId, ...call }) {
        await stage.run([{ calls: [call] }, { text: 'Done.' }], { sessionId });
        const [made] = await stage.runtime.calls.list({ sessionId, callId: call.id });
        if (made?.settled === undefined) throw new Error(`The call ${call.id} never came to an end.`);
        return made.settled.outcome;
      },
    };
  };

/** Every adapter, for `npm run conformance`. */
export const loadAdapters = async (): Promise<readonly Adapter[]> =>
  (await loadHarnesses()).map((harness) => ({ name: harness.name, makeCaller: callThrough(harness) }));
