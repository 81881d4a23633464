/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
/** Contracts that are reloaded while calls continue, through the public API. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contractsFromMultiple, contractsFromYaml, contractsFromYamlString } from 'quittance/contracts';
import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../packages/quittance/src/base/json.ts';
import { finishSteps, takeSteps } from '../packages/quittance/src/base/steps.ts';
import { packDocument, unpackDocument } from '../packages/quittance/src/contracts/packed-document.ts';
import { compileInSteps } from '../packages/quittance/src/policy/judge/compile-policy.ts';
import { lintInSteps } from '../packages/quittance/src/policy/compose/lint-rules.ts';
import { readDocument } from '../packages/quittance/src/policy/read/parse-document.ts';
import { cpuMs } from './cpu-time.ts';
import { documentOf, sampleWorld } from './sample-policy.ts';
import { releaseStages } from './sample-workflow.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function write(name: string, text: string, folder = newFolder()): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-reload-'));
  folders.push(folder);
  return folder;
}

const workflowText = JSON.stringify({
  apiVersion: 'edictum/v1',
  kind: 'Workflow',
  metadata: { name: 'sample' },
  stages: releaseStages,
});

const rule = (index: number, salt: string): JsonObject => ({
  id: `r${index}`,
  type: 'pre',
  tool: `t${index % 50}`,
  when: { any: [{ 'args.path': { matches: `^/${salt}/${index}/` } }, { 'args.n': { gt: index } }] },
  then: { action: 'block', message: `${salt} ${index}` },
});
const rules = (count: number, salt: string): string =>
  JSON.stringify(documentOf(Array.from({ length: count }, (_, index) => rule(index, salt))));

describe('a reload', () => {
  it('leaves the event loop free, however many rules there are', async () => {
    const path = write('rules.yaml', rules(400, 'old'));
    const contracts = await contractsFromYaml(path);
    writeFileSync(path, rules(400, 'new'));
    let turns = 0;
    let goesOn = true;
    let longest = 0;
    let before = cpuMs();
    const tick = (): void => {
      turns++;
      longest = Math.max(longest, cpuMs() - before);
      before = cpuMs();
      if (goesOn) setImmediate(tick);
    };
    setImmediate(tick);
    const reloading = contracts.reload();
    expect(contracts.evaluate({ toolName: 't1', input: { n: 5 } })).toMatchObject({
      decidedBy: { message: 'old 1' },
    });
    expect(await reloading).toMatchObject({ ok: true });
    goesOn = false;
    const startsAt = cpuMs();
    contractsFromYamlString(rules(400, 'third'));
    const atOnce = cpuMs() - startsAt;
    expect(turns).toBeGreaterThan(5);
    expect(longest).toBeLessThan(atOnce / 2);
    expect(contracts.evaluate({ toolName: 't1', input: { n: 5 } })).toMatchObject({
      decidedBy: { message: 'new 1' },
    });
  });

  it('gives the same contracts as a first load, parents and workflows included', async () => {
    const folder = newFolder();
    const base = documentOf([rule(1, 'base')], { metadata: { name: 'base' } });
    const child = { ...documentOf([rule(2, 'child')], { metadata: { name: 'child' } }), extends: 'base' };
    write('base.yaml', JSON.stringify(base), folder);
    const path = write('child.yaml', rules(1, 'first'), folder);
    const flow = write('flow.yaml', workflowText, folder);
    const contracts = await contractsFromYaml(path);
    const workflow = await contractsFromYaml(flow);
    writeFileSync(path, JSON.stringify(child));
    writeFileSync(flow, `${workflowText}\n`);
    expect(await contracts.reload()).toMatchObject({ ok: true });
    expect(await workflow.reload()).toMatchObject({ ok: true });
    const again = await contractsFromYaml(path);
    expect(contracts.policy.composed).toEqual(again.policy.composed);
    expect(contracts.version).toBe(again.version);
    expect(contracts.policy.composed.rules.map(({ id }) => id)).toEqual(['r1', 'r2']);
    const flowAgain = await contractsFromYaml(flow);
    expect(JSON.stringify(workflow.policy.workflows)).toBe(JSON.stringify(flowAgain.policy.workflows));
  });

  it('lists every problem of every file, and leaves the old rules in force', async () => {
    const path = write('rules.yaml', rules(3, 'old'));
    const contracts = await contractsFromYaml(path);
    const { version } = contracts;
    const bad = (id: string): JsonObject => ({ ...rule(1, 'bad'), id, when: { 'args.a': { matches: '(' } } });
    writeFileSync(path, JSON.stringify(documentOf([bad('one'), bad('two')])));
    const result = await contracts.reload();
    expect(result).toMatchObject({ ok: false, error: { code: 'contracts.invalid' } });
    expect(String((result as { error: Error }).error)).toMatch(
      /not a valid regular[\s\S]*not a valid regular/,
    );
    expect(contracts.version).toBe(version);
    writeFileSync(path, 'rules: [');
    expect(await contracts.reload()).toMatchObject({ ok: false });
    rmSync(path);
    expect(await contracts.reload()).toMatchObject({ ok: false, error: { code: 'contracts.invalid' } });
    writeFileSync(path, rules(3, 'new'));
    expect(await contracts.reload()).toMatchObject({ ok: true });
  });

  it('is followed by contracts made from these before it resolves', async () => {
    const path = write('rules.yaml', rules(200, 'old'));
    const part = await contractsFromYaml(path);
    const joined = contractsFromMultiple([part]);
    writeFileSync(path, rules(200, 'new'));
    await part.reload();
    expect(joined.evaluate({ toolName: 't1', input: { n: 5 } })).toMatchObject({
      decidedBy: { message: 'new 1' },
    });
  });

  it('does not put rules into force over rules that came later', async () => {
    const contracts = contractsFromYamlString(rules(300, 'first'));
    const slow = contracts.replaceInSlices(contractsFromYamlString(rules(300, 'second')).read);
    contracts.reload(rules(1, 'third'));
    await slow;
    expect(contracts.evaluate({ toolName: 't1', input: { n: 5 } })).toMatchObject({ decision: 'allow' });
    expect(contracts.policy.composed.rules).toHaveLength(1);
  });
});

describe('documents sent from a thread', () => {
  it('arrive unchanged', async () => {
    for (const text of [rules(250, 'x'), rules(1, 'x').replace('{', '')]) {
      const result = readDocument(text, 'a');
      expect(await takeSteps(unpackDocument(packDocument(result)))).toEqual(result);
    }
  });

  it('arrive as workflows whose patterns still match', () => {
    const result = readDocument(workflowText, 'flow');
    const unpacked = finishSteps(unpackDocument(packDocument(result)));
    if (!unpacked.ok || unpacked.document.kind !== 'Workflow' || !result.ok)
      throw new Error('not a workflow');
    expect(JSON.stringify(unpacked)).toBe(JSON.stringify(result));
    const { stages } = unpacked.document.workflow;
    const checks = stages.flatMap((stage) => stage.checks);
    for (const { regex } of checks) expect(typeof regex.test('x')).toBe('boolean');
    for (const glob of stages.flatMap((stage) => stage.tools)) expect(glob.matches(glob.pattern)).toBe(true);
  });

  it('are compiled and checked in one step per pattern and rule', () => {
    const { composed } = contractsFromYamlString(rules(40, 'x')).policy;
    expect([...lintInSteps(composed)]).toHaveLength(40);
    expect([...compileInSteps(composed, sampleWorld())]).toHaveLength(80);
  });
});
