import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ContractsInForce, Stats, ToolDetail } from '@quittance/server';
import { makeFileToken } from '../../../test/make-token.ts';
import { startCli } from '../../../test/run-cli.ts';
import { root } from '../../../test/sources.ts';
import { untilDecided } from '../../../test/until-decided.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-serve-runtime-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const from = (path: string): string => JSON.stringify(pathToFileURL(join(root, path)).href);

/** A user's module that creates a runtime: a tool with a schema, a budget, contracts. */
const moduleWith = (unit: string): string => `
import { createRuntime, defineTool } from ${from('packages/quittance/src/index.ts')};
import { contractsFromYaml } from ${from('packages/quittance/src/contracts/from-yaml.ts')};

const pay = defineTool({
  name: 'pay_supplier',
  mode: 'external',
  input: { type: 'object', properties: { ${unit}: { type: 'integer' } }, required: ['${unit}'] },
  run: () => 'paid',
});
const budgets = [{ scope: 'shop', toolCalls: 7 }];
export default async (ledger) =>
  createRuntime({
    tools: [pay],
    ledger,
    budgets,
    contracts: await contractsFromYaml(${JSON.stringify(join(folder, 'rules.yaml'))}),
  });
`;

const rules = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: shop }
defaults: { mode: enforce }
rules:
  - id: not-too-much
    type: pre
    tool: pay_supplier
    when: { args.cents: { gt: 100 } }
    then: { action: block, message: 'Too much.' }
`;

type Ask = <Answer>(path: string, body?: object) => Promise<Answer>;

async function serving(source: string, visit: (ask: Ask) => Promise<void>): Promise<void> {
  writeFileSync(join(folder, 'rules.yaml'), rules);
  const path = join(folder, 'runtime.mjs');
  writeFileSync(path, source);
  const ledger = join(folder, 'ledger.db');
  const child = startCli(['serve', '--ledger', ledger, '--port', '0', '--json', '--runtime', path], {
    env: { QUITTANCE_TOKEN: makeFileToken(ledger) },
  });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (told += piece));
  const [line] = (await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    once(child, 'close').then(() => Promise.reject(new Error(told))),
  ])) as [string];
  const { url, token } = JSON.parse(line) as { readonly url: string; readonly token: string };
  try {
    await visit(async <Answer>(asked: string, body?: object) => {
      const answer = await fetch(url + asked, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return (await answer.json()) as Answer; // the type of this route's answer
    });
  } finally {
    child.kill('SIGINT');
    await once(child, 'close');
  }
}

test('a server that was started without a terminal and without a token gives no login', async () => {
  const ledger = join(folder, 'ledger.db');
  const child = startCli(['serve', '--ledger', ledger, '--port', '0', '--json']);
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const { url, link, token } = JSON.parse(line) as { url: string; link: string; token: null };
  try {
    expect({ link, token }).toEqual({ link: url, token: null });
    const headers = { authorization: 'Bearer null' };
    expect((await fetch(`${url}/v1/confirmations`)).status).toBe(401);
    expect((await fetch(`${url}/v1/confirmations`, { headers })).status).toBe(401);
  } finally {
    child.kill('SIGINT');
    await once(child, 'close');
  }
});

test('a server continues after the reader of its messages has ended', async () => {
  const path = join(folder, 'rules.yaml');
  writeFileSync(path, rules);
  const ledger = join(folder, 'ledger.db');
  const child = startCli(['serve', '--ledger', ledger, '--port', '0', '--json', '--contracts', path], {
    env: { QUITTANCE_TOKEN: makeFileToken(ledger) },
  });
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const { url, token } = JSON.parse(line) as { readonly url: string; readonly token: string };
  const ask = async (): Promise<ContractsInForce> => {
    const answer = await fetch(`${url}/v1/contracts`, { headers: { authorization: `Bearer ${token}` } });
    return (await answer.json()) as ContractsInForce; // the type of this route's answer
  };
  try {
    child.stdout.destroy();
    child.stderr.destroy();
    const changes = ['less', 'more', 'enough'];
    for (const id of changes) {
      // The message goes to the closed terminal.
      writeFileSync(path, rules.replace('not-too-much', id));
      await expect.poll(async () => (await ask()).rules.map(({ ruleId }) => ruleId)).toEqual([id]);
    }
    expect(child.exitCode).toBeNull();
  } finally {
    child.kill('SIGINT');
    if (child.exitCode === null) await once(child, 'exit');
  }
});

test("serves a user's runtime with its tools, contracts and budgets", async () => {
  await serving(moduleWith('cents'), async (ask) => {
    const call = { id: 'c1', name: 'pay_supplier', arguments: { cents: 5 } };
    await untilDecided(() => ask('/v1/calls', { sessionId: 's1', call }));
    const detail = await ask<ToolDetail>('/v1/tools/pay_supplier');
    expect(detail.tool).toMatchObject({ known: true, mode: 'external', modeOrigin: 'declared', calls: 1 });
    expect(detail.schema).toMatchObject({ properties: { cents: { type: 'integer' } } });
    const { budgets } = await ask<Stats>('/v1/stats');
    expect(budgets).toContainEqual(
      expect.objectContaining({ counter: 'named/"shop"/tool_calls', used: 1, limit: 7 }),
    );
    const inForce = await ask<ContractsInForce>('/v1/contracts');
    expect(inForce).toMatchObject({ loaded: true, canReload: true, rules: [{ ruleId: 'not-too-much' }] });
  });
  // With another schema, the tool counts as changed.
  await serving(moduleWith('euros'), async (ask) => {
    const { tool, schemas } = await ask<ToolDetail>('/v1/tools/pay_supplier');
    expect(tool.drifted).toBe(true);
    expect(schemas[0]?.changes.map(({ path, how }) => [path, how])).toContainEqual([
      expect.stringContaining('euros') as string,
      'added',
    ]);
  });
});
