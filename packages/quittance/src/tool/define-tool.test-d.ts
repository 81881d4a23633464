import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import type { JsonObject } from '../base/json.ts';
import type { AnyTool, Tool, ToolInput, ToolOutput } from './define-tool.ts';
import { defineTool } from './define-tool.ts';
import { jsonSchema } from './schema.ts';
import type { ToolContext } from './tool-context.ts';
import type { Equal, Expect } from './type-test.test-d.ts';

const byZod = defineTool({
  name: 'refund',
  input: z.object({ orderId: z.string(), amount: z.number().default(0), since: z.coerce.date() }),
  costMicros: ({ amount }) => amount * 10,
  idempotencyKey: ({ orderId }) => orderId,
  resourceKeys: ({ orderId }) => [orderId],
  async run(args, context) {
    const seen: [
      Expect<Equal<typeof args, { orderId: string; amount: number; since: Date }>>,
      Expect<Equal<typeof context, ToolContext>>,
    ] = [true, true];
    return { refunded: args.amount, ok: seen[0] };
  },
});

const byValibot = defineTool({
  name: 'lookup',
  input: v.object({ id: v.pipe(v.string(), v.transform(Number)), tags: v.optional(v.array(v.string())) }),
  run: ({ id, tags }) => [id, tags?.length],
});

const byTaughtValibot = defineTool({
  name: 'lookup_too',
  input: toStandardJsonSchema(v.object({ id: v.string() })),
  run: ({ id }) => id,
});

const byArktype = defineTool({
  name: 'search_web',
  input: type({ query: 'string', 'limit?': 'number' }),
  run: ({ query, limit }) => ({ query, limit }),
});

const byJsonSchema = defineTool({
  name: 'send_mail',
  input: jsonSchema<{ to: string; cc?: string[] }>({ type: 'object' }),
  run: ({ to, cc }) => `${to} ${cc?.join()}`,
});

const byPlainJsonSchema = defineTool({
  name: 'anything',
  input: { type: 'object', properties: { a: { type: 'string' } } },
  run: (args) => args['a'],
});

const withoutInput = defineTool({ name: 'ping', run: () => 'pong' });
const withoutResult = defineTool({ name: 'nothing', async run() {} });

const withOutput = defineTool({
  name: 'get_order',
  output: z.object({ total: z.string().transform(Number), at: z.date() }),
  run: () => ({ total: '5', at: new Date() }),
});

const withTypedJsonOutput = defineTool({
  name: 'get_total',
  output: jsonSchema<{ total: number }>({ type: 'object' }),
  run: async () => ({ total: 5 }),
});

const withJsonOutput = defineTool({ name: 'get_text', output: { type: 'string' }, run: () => 'text' });

export type InferenceTests = [
  Expect<Equal<(typeof byZod)['name'], 'refund'>>,
  Expect<Equal<ToolInput<typeof byZod>['orderId'], string>>,
  Expect<Equal<ToolInput<typeof byZod>['amount'], number | undefined>>,
  Expect<Equal<ToolOutput<typeof byZod>['ok'], true>>,
  Expect<Equal<ToolInput<typeof byValibot>['id'], string>>,
  Expect<Equal<ToolOutput<typeof byValibot>, (number | undefined)[]>>,
  Expect<Equal<ToolInput<typeof byTaughtValibot>, { id: string }>>,
  Expect<Equal<ToolOutput<typeof byTaughtValibot>, string>>,
  Expect<Equal<ToolInput<typeof byArktype>, { query: string; limit?: number }>>,
  Expect<Equal<ToolOutput<typeof byArktype>, { query: string; limit: number | undefined }>>,
  Expect<Equal<ToolInput<typeof byJsonSchema>, { to: string; cc?: string[] }>>,
  Expect<Equal<ToolOutput<typeof byJsonSchema>, string>>,
  Expect<Equal<ToolInput<typeof byPlainJsonSchema>, JsonObject>>,
  Expect<Equal<ToolInput<typeof withoutInput>, JsonObject>>,
  Expect<Equal<ToolOutput<typeof withoutInput>, string>>,
  Expect<Equal<ToolOutput<typeof withoutResult>, void>>,
  Expect<Equal<ToolOutput<typeof withOutput>, { total: number; at: Date }>>,
  Expect<Equal<ToolOutput<typeof withTypedJsonOutput>, { total: number }>>,
  Expect<Equal<ToolOutput<typeof withJsonOutput>, string>>,
  Expect<Equal<ToolInput<AnyTool>, unknown>>,
];

export const tools: readonly AnyTool[] = [
  byZod,
  byValibot,
  byArktype,
  byJsonSchema,
  withoutInput,
  withOutput,
];

export const wrong: unknown[] = [
  // @ts-expect-error a name is needed
  defineTool({ run: () => 1 }),
  // @ts-expect-error a body is needed
  defineTool({ name: 'x' }),
  // @ts-expect-error there is no such mode
  defineTool({ name: 'x', mode: 'write', run: () => 1 }),
  // @ts-expect-error there is no such field
  defineTool({ name: 'x', timeout: 5, run: () => 1 }),
  // @ts-expect-error no schema
  defineTool({ name: 'x', input: 5, run: () => 1 }),
  // @ts-expect-error the schema knows no such argument
  defineTool({ name: 'x', input: z.object({ a: z.number() }), run: ({ b }) => b }),
  // @ts-expect-error the argument is a number
  defineTool({ name: 'x', input: v.object({ a: v.number() }), run: ({ a }) => a.toUpperCase() }),
  // @ts-expect-error the argument is a number
  defineTool({ name: 'x', input: type({ a: 'number' }), run: ({ a }) => a.toUpperCase() }),
  // @ts-expect-error the argument is a number
  defineTool({ name: 'x', input: jsonSchema<{ a: number }>({}), run: ({ a }) => a.toUpperCase() }),
  // @ts-expect-error the output is text
  defineTool({ name: 'x', output: z.string(), run: () => 5 }),
  // @ts-expect-error the output is text, now or later
  defineTool({ name: 'x', output: v.string(), run: async () => 5 }),
  // @ts-expect-error the output lacks its total
  defineTool({ name: 'x', output: jsonSchema<{ total: number }>({}), run: () => ({}) }),
  // @ts-expect-error a key is text
  defineTool({ name: 'x', input: z.object({ a: z.number() }), idempotencyKey: ({ a }) => a, run: () => 1 }),
  // @ts-expect-error a cost is a number
  defineTool({ name: 'x', input: z.object({ a: z.string() }), costMicros: ({ a }) => a, run: () => 1 }),
];

/** As in the runtime: the name and the arguments must belong together. */
declare function call<Tools extends readonly AnyTool[], Name extends Tools[number]['name']>(
  given: Tools,
  name: Name,
  args: ToolInput<Extract<Tools[number], Tool<Name>>>,
): void;

export function useOfTools(given: readonly [typeof byZod, typeof byJsonSchema]): void {
  call(given, 'send_mail', { to: 'ann' });
  call(given, 'refund', { orderId: 'o', since: '2026-01-01' });
  // @ts-expect-error no such tool
  call(given, 'send_male', { to: 'ann' });
  // @ts-expect-error not what it takes
  call(given, 'send_mail', { to: 5 });
  // @ts-expect-error what the other one takes
  call(given, 'send_mail', { orderId: 'o' });
}

const elsewhere = defineTool({
  name: 'render',
  input: z.object({ scene: z.string() }),
  output: z.object({ frames: z.number() }),
  handoff: true,
});
export type HandedOff = [
  Expect<Equal<ToolInput<typeof elsewhere>, { scene: string }>>,
  Expect<Equal<ToolOutput<typeof elsewhere>, { frames: number }>>,
];
// @ts-expect-error: what another process runs has no body here
defineTool({ name: 'render', handoff: true, run: () => 1 });
// @ts-expect-error: a tool has a body, or somebody else does
defineTool({ name: 'render' });
