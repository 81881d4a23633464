/** A plain loop over the OpenAI SDK, by either API, whose requests are answered from a script. */
import OpenAI from 'openai';
import { governTools } from '@quittance/openai';
import type { Harness, Round, Script, Stage, Told } from '../suite/harness.ts';
import { createPlayer } from '../suite/harness.ts';
import { plainTools } from './plain-tools.ts';

type Governed = Awaited<ReturnType<typeof governTools>>;

export const openAiHarness = (
  name: string,
  module: string,
  run: (governed: Governed) => Stage['run'],
): Harness => ({
  name,
  module,
  streams: false,
  suspends: false,
  async start(tools, options) {
    const governed = await governTools(plainTools(tools), options);
    return { runtime: governed.runtime, run: run(governed) };
  },
});

/** A client whose model follows the script. */
export function scriptedClient(
  script: Script,
  told: Told[],
  readTold: (body: never) => readonly Told[],
  toBody: (round: Round) => object,
): OpenAI {
  const player = createPlayer(script);
  return new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    fetch: async (_, init) => {
      told.splice(
        0,
        told.length,
        ...readTold(JSON.parse(await new Response(init?.body ?? null).text()) as never),
      );
      return Response.json(toBody(await player.next(told)));
    },
  });
}
