import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import type { JsonObject } from '../base/json.ts';
import type { AnyTool, Tool, ToolInput, ToolOutput } from './define-tool.ts';
import { defineTool } from './define-tool.ts';
import { govern } from './govern.ts';
import { jsonSchema } from './schema.ts';
import type { ToolContext } from './tool-context.ts';
import type { Equal, Expect } from './type-test.test-d.ts';

type Named<Tools extends readonly AnyTool[], Name extends string> = Extract<
  Tools[number],
  { readonly name: Name }
>;

const functions = govern(
  {
    refund: async ({ orderId, amount }: { orderId: string; amount: number }) => ({ orderId, amount }),
    ping: () => 'pong',
    search: (args: { query: string }, context: ToolContext) => [args.query, context.callId],
    loose: (args: unknown) => args,
  },
  { refund: { mode: 'destructive', idempotencyKey: ({ orderId }) => orderId }, ping: { mode: 'read' } },
);

const objects = govern({
  byExecute: {
    description: 'x',
    inputSchema: z.object({ n: z.coerce.number() }),
    execute: async ({ n }: { n: number }) => n,
  },
  byHandler: { parameters: v.object({ s: v.string() }), handler: ({ s }: { s: string }) => s },
  byFunc: { schema: type({ b: 'boolean' }), func: ({ b }: { b: boolean }) => b },
  byInvoke: { input_schema: { type: 'object' }, invoke: ({ id }: { id: string }) => id },
  byCall: { input: jsonSchema<{ d: string }>({}), call: () => null },
  checked: {
    inputSchema: z.object({}),
    outputSchema: z.object({ at: z.date() }),
    execute: () => ({ at: new Date() }),
  },
});

const list = govern([
  { name: 'lookup', schema: z.object({ id: z.string() }), run: async ({ id }: { id: string }) => id.length },
  { name: 'notify', parameters: { type: 'object' }, execute: ({ to }: { to: string }) => to },
]);

const own = defineTool({ name: 'own', input: z.object({ a: z.string() }), run: ({ a }) => a });
const mixed = govern({ own, other: (): number => 1 });

class Mailer {
  readonly name = 'mail';
  readonly schema = z.object({ to: z.string() });
  invoke({ to }: { to: string }): { sent: string } {
    return { sent: to };
  }
}
const instances = govern([new Mailer()]);

export type GovernTests = [
  Expect<Equal<(typeof functions)[number]['name'], 'refund' | 'ping' | 'search' | 'loose'>>,
  Expect<Equal<ToolInput<Named<typeof functions, 'refund'>>, { orderId: string; amount: number }>>,
  Expect<Equal<ToolOutput<Named<typeof functions, 'refund'>>, { orderId: string; amount: number }>>,
  Expect<Equal<ToolInput<Named<typeof functions, 'ping'>>, JsonObject>>,
  Expect<Equal<ToolOutput<Named<typeof functions, 'ping'>>, string>>,
  Expect<Equal<ToolInput<Named<typeof functions, 'search'>>, { query: string }>>,
  Expect<Equal<ToolInput<Named<typeof functions, 'loose'>>, JsonObject>>,
  Expect<Equal<ToolInput<Named<typeof objects, 'byExecute'>>, { n: unknown }>>,
  Expect<Equal<ToolOutput<Named<typeof objects, 'byExecute'>>, number>>,
  Expect<Equal<ToolInput<Named<typeof objects, 'byHandler'>>, { s: string }>>,
  Expect<Equal<ToolInput<Named<typeof objects, 'byFunc'>>, { b: boolean }>>,
  Expect<Equal<ToolInput<Named<typeof objects, 'byInvoke'>>, { id: string }>>,
  Expect<Equal<ToolInput<Named<typeof objects, 'byCall'>>, { d: string }>>,
  Expect<Equal<ToolOutput<Named<typeof objects, 'byCall'>>, null>>,
  Expect<Equal<ToolOutput<Named<typeof objects, 'checked'>>, { at: Date }>>,
  Expect<
    Equal<
      typeof list,
      readonly [Tool<'lookup', { id: string }, number>, Tool<'notify', { to: string }, string>]
    >
  >,
  Expect<Equal<ToolInput<Named<typeof mixed, 'own'>>, { a: string }>>,
  Expect<Equal<ToolOutput<Named<typeof mixed, 'other'>>, number>>,
  Expect<Equal<typeof instances, readonly [Tool<'mail', { to: string }, { sent: string }>]>>,
];

export const wrong: unknown[] = [
  // @ts-expect-error there is no such tool
  govern({ refund: () => 1 }, { refnd: { mode: 'read' } }),
  // @ts-expect-error there is no such mode
  govern({ refund: () => 1 }, { refund: { mode: 'write' } }),
  // @ts-expect-error there is no such field
  govern({ refund: () => 1 }, { refund: { timeout: 5 } }),
  // @ts-expect-error the body stays what it is
  govern({ refund: () => 1 }, { refund: { run: () => 2 } }),
  // @ts-expect-error there is no such argument
  govern({ refund: ({ id }: { id: string }) => id }, { refund: { idempotencyKey: ({ order }) => order } }),
  // @ts-expect-error tools in a list have names
  govern([{ execute: () => 1 }]),
  // @ts-expect-error there is no such tool in the list
  govern([{ name: 'a', execute: () => 1 }], { b: { mode: 'read' } }),
  // @ts-expect-error no tool at all
  govern({ refund: 5 }),
];
