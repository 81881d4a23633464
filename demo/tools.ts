/** The tools of the demo: real files, real HTTP, a real clock. They do not know about the demo. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineTool, ToolError, toolResult } from 'quittance';
import type { AnyTool } from 'quittance';
import { z } from 'zod';
import type { World } from './world.ts';

const path = z.string().min(1);
const payment = z.object({ order: z.number().int(), cents: z.number().int().min(1) });

export function createTools({ folder, shop }: World): readonly AnyTool[] {
  const fetchJson = async (target: string, init: RequestInit = {}): Promise<unknown> => {
    const response = await fetch(target, init);
    if (response.status >= 500) throw new Error(`HTTP ${response.status} from ${new URL(target).pathname}`);
    return response.json();
  };
  const post = (route: string, body: unknown, headers: Record<string, string> = {}): Promise<unknown> =>
    fetchJson(`${shop.url}${route}`, { method: 'POST', headers, body: JSON.stringify(body) });

  return [
    defineTool({
      name: 'list_files',
      run: async () => ({ files: (await readdir(folder)).toSorted() }),
    }),
    defineTool({
      name: 'read_file',
      input: z.object({ path }),
      run: async (args) => ({ text: await readFile(join(folder, args.path), 'utf8') }),
    }),
    defineTool({
      name: 'write_file',
      input: z.object({ path, text: z.string() }),
      mode: 'safe_write',
      idempotent: true,
      resourceKeys: (args) => [args.path],
      run: async ({ path: file, text }) => {
        await writeFile(join(folder, file), text);
        return { written: text.length };
      },
    }),
    defineTool({
      name: 'delete_file',
      input: z.object({ path }),
      run: async ({ path: file }) => {
        await rm(join(folder, file));
        return { deleted: file };
      },
    }),
    defineTool({
      name: 'get_order',
      input: z.object({ id: z.number().int() }),
      run: ({ id }, { signal }) => fetchJson(`${shop.url}/orders/${id}`, { signal }),
    }),
    defineTool({ name: 'get_rate', run: () => fetchJson(`${shop.url}/rate`) }),
    defineTool({ name: 'get_partner', run: () => fetchJson(`${shop.deadUrl}/hello`) }),
    defineTool({
      name: 'get_stock',
      output: z.object({ croissant: z.number() }),
      run: async () => (await fetchJson(`${shop.url}/stock`)) as { croissant: number },
    }),
    defineTool({
      name: 'get_old_prices',
      run: () => {
        throw new ToolError('tool.execution_error', 'The price service was shut down.', { retryable: false });
      },
    }),
    defineTool({
      name: 'get_sales',
      costMicros: 400_000,
      run: () => fetchJson(`${shop.url}/sales`),
    }),
    // Ignores the signal, as many tools do: its answer arrives late.
    defineTool({ name: 'get_forecast', timeoutMs: 100, run: () => fetchJson(`${shop.url}/forecast`) }),
    defineTool({ name: 'get_date', loopLimit: 3, run: () => new Date().toISOString().slice(0, 10) }),
    defineTool({ name: 'refund', input: payment, timeoutMs: 300, run: (args) => post('/refunds', args) }),
    defineTool({
      name: 'pay_supplier',
      input: payment,
      timeoutMs: 100,
      rerun: 'deny',
      run: (args) => post('/payments', args),
    }),
    defineTool({
      name: 'send_receipt',
      input: z.object({ order: z.number().int(), to: z.string() }),
      idempotencyKey: ({ order }) => `receipt/${order}`,
      run: (args, { idempotencyKey }) => post('/receipts', args, { 'idempotency-key': idempotencyKey }),
    }),
    defineTool({
      name: 'sign_in',
      input: z.object({ user: z.string(), password: z.string() }),
      run: (args) => post('/sign-in', args),
    }),
    defineTool({
      name: 'close_books',
      mode: 'safe_write',
      run: () => toolResult({ success: true, terminal: true, message: 'The books are closed.' }),
    }),
  ];
}
