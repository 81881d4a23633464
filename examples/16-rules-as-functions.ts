// Rules as functions next to rules in YAML, and a reload of rules at run time.
import assert from 'node:assert/strict';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { contracts, contractsFromMultiple, contractsFromYamlString } from 'quittance/contracts';
import { z } from 'zod';

const sendMail = defineTool({
  name: 'send_mail',
  input: z.object({ to: z.string(), text: z.string() }),
  mode: 'external',
  run: ({ to }) => ({ sent: true, to, log: ['connected to mx1.internal.example'] }),
});

const limitOf = (mails: number): string => `
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: mail }
defaults: { mode: enforce }
rules:
  - id: few-mails
    type: session
    limits: { max_calls_per_tool: { send_mail: ${mails} } }
    then: { action: block, message: 'No more mails: ${mails} per conversation.' }
`;
const written = contractsFromYamlString(limitOf(1), { source: 'mail.yaml' });

const customers = new Set(['ben@bakery.example', 'cleo@mill.example']);
const programmed = contracts({
  rules: [
    {
      id: 'customers-only',
      tool: 'send_mail',
      // May wait for a database. An error or an invalid answer blocks.
      before: async ({ input: { to } }) =>
        typeof to === 'string' && customers.has(to)
          ? undefined
          : { action: 'block', message: `${JSON.stringify(to)} is not a customer.` },
    },
    {
      id: 'no-hosts',
      after: (_call, output) => {
        const text = JSON.stringify(output);
        const hidden = text.replaceAll(/[\w.]+\.internal\.example/g, '(a host)');
        return hidden === text
          ? undefined
          : { action: 'redact', message: 'Host names are redacted.', output: JSON.parse(hidden) };
      },
    },
  ],
});

const all = contractsFromMultiple([written, programmed]);
const runtime = createRuntime({ tools: [sendMail], contracts: all });
const turn = runtime.turn({ sessionId: 'mail' });
const mail = (id: string, to: string) =>
  turn.call({ id, name: 'send_mail', arguments: { to, text: 'Bread!' } });

const stranger = await mail('m1', 'dan@rival.example');
assert(stranger.type === 'ToolDenied');
assert.equal(stranger.details, '"dan@rival.example" is not a customer.');

const first = await mail('m2', 'ben@bakery.example');
assert(first.type === 'ToolExecutionResult');
assert.deepEqual(first.output, {
  sent: true,
  to: 'ben@bakery.example',
  log: ['connected to (a host)'],
});
const second = await mail('m3', 'cleo@mill.example');
assert(second.type === 'ToolDenied');
assert.equal(second.details, 'No more mails: 1 per conversation.');

// Text with a mistake is refused with every problem, and the old rules stay in force.
const before = all.version;
assert.throws(
  () => written.reload('kind: Ruleset\nrules: [{ id: A }]'),
  (error) => {
    assert(isQuittanceError(error, 'contracts.invalid'));
    console.log(error.message.split('\n')[0]);
    return true;
  },
);
assert.equal(all.version, before);

// Valid text is in force for the next call. The session keeps its counts.
written.reload(limitOf(2));
assert.notEqual(all.version, before);
assert.equal((await mail('m4', 'cleo@mill.example')).type, 'ToolExecutionResult');
const fourth = await mail('m5', 'cleo@mill.example');
assert(fourth.type === 'ToolDenied');
assert.equal(fourth.details, 'No more mails: 2 per conversation.');
