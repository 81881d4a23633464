// A tool can preview its effect. A person approves that exact diff, and the tool receives the snapshot behind it.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, ToolDecision } from 'quittance';
import type { ConfirmationView } from 'quittance/runtime';
import { z } from 'zod';

const files = new Map([['menu.txt', 'rye\nsalt\n']]);
const released: string[] = [];
const plan = z.object({ was: z.string(), becomes: z.string() });
const updateFile = defineTool({
  name: 'update_file', // a bounded write: by itself it would show its diff and run
  input: z.object({ path: z.string(), text: z.string() }),
  // It must change nothing. The snapshot holds what the tool needs to do exactly what is shown.
  preview: ({ path, text }) => ({
    kind: 'diff',
    path,
    diff: [...lines('-', files.get(path) ?? ''), ...lines('+', text)].join('\n'),
    snapshot: { was: files.get(path) ?? '', becomes: text },
    expiresInMs: 60_000,
  }),
  cancel: ({ operationId }) => void released.push(operationId),
  run: ({ path }, { previewed }) => {
    const { was, becomes } = plan.parse(previewed?.snapshot);
    // The file no longer matches the preview: refuse.
    if ((files.get(path) ?? '') !== was) throw new Error(`${path} has changed since it was shown.`);
    files.set(path, becomes);
    return { written: path };
  },
});
const lines = (mark: string, text: string): string[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [`${mark}${line}`]));

const runtime = createRuntime({
  tools: [updateFile],
  // Hooks and rules also see the snapshot: `snapshot.was` in a contract.
  onPreToolUse: ({ snapshot }) =>
    snapshot?.['was'] === '' ? ToolDecision.allow : ToolDecision.requiresConfirmation('The file exists.'),
});
const turn = runtime.turn({ sessionId: 'bakery' });
const update = (id: string, text: string) =>
  turn.call({ id, name: 'update_file', arguments: { path: 'menu.txt', text } });

const question = async (): Promise<ConfirmationView> => {
  for (;;) {
    const [asked] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    if (asked !== undefined) return asked;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
};

// Ada sees the diff. Her approval names the digest of the arguments and the revision of the preview.
const first = update('u1', 'rye\ncumin\n');
const asked = await question();
assert(asked.preview?.preview.kind === 'diff');
console.log(asked.preview.preview.diff);
assert.equal(asked.preview.preview.diff, '-rye\n-salt\n+rye\n+cumin');
const { confirmationId, inputDigest } = asked;
await assert.rejects(
  runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'Ada', inputDigest }),
);
await runtime.confirmations.decide(confirmationId, {
  decision: 'approve',
  by: 'Ada',
  inputDigest,
  revision: asked.preview.revision,
});
assert.equal((await first).type, 'ToolExecutionResult');
assert.equal(files.get('menu.txt'), 'rye\ncumin\n');

// She edits the next one, which creates another preview that needs its own approval.
const second = update('u2', 'nothing\n');
const draft = await question();
await runtime.confirmations.decide(draft.confirmationId, {
  decision: 'edit',
  by: 'Ada',
  inputDigest: draft.inputDigest,
  revision: draft.preview?.revision ?? 0,
  arguments: { path: 'menu.txt', text: 'rye\ncumin\nfennel\n' },
});
const edited = await question();
assert.equal(edited.preview?.revision, 2);
assert.deepEqual(released, [draft.preview?.operationId]);

// A denial releases it.
await runtime.confirmations.decide(edited.confirmationId, {
  decision: 'deny',
  by: 'Ada',
  reason: 'no fennel',
});
assert.equal((await second).type, 'ToolDenied');
assert.equal(files.get('menu.txt'), 'rye\ncumin\n');
assert.equal(released.length, 2);

const [record] = await runtime.calls.audit({ sessionId: 'bakery', callId: 'u1' });
console.log(record?.outcome);
