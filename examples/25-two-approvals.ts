// A payment needs two people of finance. The requester and people outside the group do not count.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';
import type { DirectIdentity } from 'quittance/events';

const paid: unknown[] = [];
const pay = defineTool({ name: 'pay', mode: 'external', run: (args) => ({ payments: paid.push(args) }) });
const contracts = await contractsFromYaml(join(import.meta.dirname, '25-contracts.yaml'));
const runtime = createRuntime({ tools: [pay], contracts });

// Your sign-in says who a person is, and which groups they are in.
const person = (subject: string, ...groups: string[]): DirectIdentity => ({
  kind: 'provider',
  issuer: 'https://id.example',
  subject,
  method: 'oidc',
  groups,
});
const { confirmations } = runtime;
const turn = runtime.turn({ sessionId: 'invoices', principal: { userId: 'bob' } });
const outcome = turn.submit({ id: 'p1', name: 'pay', arguments: { to: 'ACME', cents: 250_000 } }).outcome();

const open = async () => (await confirmations.list({ status: 'pending' })).rows[0];
let question = await open();
while (question === undefined) {
  await new Promise((resolve) => setTimeout(resolve, 5));
  question = await open();
}
const { confirmationId, inputDigest } = question;
const approve = (by: string, identity?: DirectIdentity) =>
  confirmations.decide(confirmationId, {
    decision: 'approve',
    by,
    inputDigest,
    ...(identity && { identity }),
  });
const isForbidden = (error: unknown): boolean => isQuittanceError(error, 'confirmation.forbidden');

// Refused: the requester, a person of another group, a name that nothing verified.
await assert.rejects(approve('bob', person('bob', 'finance')), isForbidden);
await assert.rejects(approve('mal', person('mal', 'sales')), isForbidden);
await assert.rejects(approve('ada'), isForbidden);

// The first approval is stored and shown; the call still waits.
const half = await approve('ada', person('ada', 'finance'));
assert.equal(half.status, 'pending');
for (const { who, missing } of half.missing) console.log(`still missing: ${missing} of ${who}`);
assert.deepEqual(paid, []);

// The second one completes the quorum.
assert.equal((await approve('eve', person('eve', 'finance'))).status, 'approved');
assert.equal((await outcome).type, 'ToolExecutionResult');
assert.equal(paid.length, 1);
const audit = await runtime.calls.audit({ sessionId: 'invoices', callId: 'p1' });
console.log(
  `approved by ${audit
    .at(-1)
    ?.approvers?.map(({ name }) => name)
    .join(' and ')}`,
);
