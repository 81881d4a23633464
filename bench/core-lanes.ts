/** The lanes of the core benchmark: a function alone, validated by its schema, and as a tool on the memory ledger. */
import { createRuntime, defineTool } from 'quittance';
import { z } from 'zod';

export const schema = z.object({ city: z.string(), days: z.number() });
export const body = async (args: { city: string; days: number }): Promise<{ city: string; ok: boolean }> => ({
  city: args.city,
  ok: true,
});
export const args = { city: 'Lyon', days: 3 };

export const readTool = defineTool({
  name: 'get_weather',
  input: schema,
  mode: 'read',
  loopLimit: 1_000_000_000,
  run: body,
});
export const writeTool = defineTool({
  name: 'send_mail',
  input: schema,
  mode: 'external',
  loopLimit: 1_000_000_000,
  run: body,
});

export type Lane = { readonly name: string; readonly call: (n: number) => Promise<unknown> };

export const oursOn = (
  name: string,
  toolName: string,
  tools = [readTool, writeTool] as const,
  sessionId = 's',
): Lane => {
  // A new turn per thousand calls, as an agent does, so that no turn grows without end.
  const runtime = createRuntime({ tools });
  let turn = runtime.turn({ sessionId });
  let nextId = 0;
  return {
    name,
    call: (n) => {
      if (n % 1_000 === 0) turn = runtime.turn({ sessionId });
      return turn.call({ id: `c${nextId++}`, name: toolName, arguments: args });
    },
  };
};

export const createLanes = (): readonly Lane[] => [
  { name: 'function alone', call: () => body(args) },
  { name: 'validated by zod', call: async () => body(schema.parse(args)) },
  oursOn('quittance, read', 'get_weather'),
  oursOn('quittance, external', 'send_mail'),
];
