// A hook runs before the tool. It allows, blocks or asks for approval: block beats ask beats allow.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, ToolDecision } from 'quittance';
import type { PreToolUse } from 'quittance/runtime';
import { z } from 'zod';

const sent: string[] = [];
const sendMail = defineTool({
  name: 'send_mail',
  input: z.object({ to: z.string(), text: z.string() }),
  run: ({ to }) => ({ sent: sent.push(to) }),
});

const onlyOurDomain: PreToolUse = ({ toolName, arguments: { to } }) =>
  toolName === 'send_mail' && typeof to === 'string' && !to.endsWith('@bakery.example')
    ? ToolDecision.block(`Mail goes to bakery.example only, not to ${to}.`)
    : ToolDecision.allow;

const notAsGuest: PreToolUse = ({ principal }) =>
  principal?.role === 'guest'
    ? ToolDecision.requiresConfirmation('A guest wants to send mail.')
    : ToolDecision.allow;

const runtime = createRuntime({ tools: [sendMail], onPreToolUse: [notAsGuest, onlyOurDomain] });
const mail = (id: string, to: string) => ({ id, name: 'send_mail', arguments: { to, text: 'Bread!' } });

const turn = runtime.turn({ sessionId: 'mail', principal: { userId: 'ada', role: 'baker' } });
assert.equal((await turn.call(mail('m1', 'ben@bakery.example'))).type, 'ToolExecutionResult');

const outside = await turn.call(mail('m2', 'ben@rival.example'));
assert(outside.type === 'ToolDenied');
assert.equal(outside.reason, 'pre_hook');
assert.equal(outside.details, 'Mail goes to bakery.example only, not to ben@rival.example.');

// Both hooks object to a guest who writes to a rival: the block wins, although the other hook came first.
const guest = runtime.turn({ sessionId: 'mail', principal: { role: 'guest' } });
const both = await guest.call(mail('m3', 'ben@rival.example'));
assert(both.type === 'ToolDenied');
assert.equal(both.reason, 'pre_hook');

assert.deepEqual(sent, ['ben@bakery.example']);
for (const { callId, decidedBy, outcome } of await runtime.calls.audit({ sessionId: 'mail' }))
  console.log(callId, outcome.kind, decidedBy?.name ?? '');
