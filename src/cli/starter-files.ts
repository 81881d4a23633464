/** What `quittance init` writes. Each is a file people read first, so each says what it is for. */
export const starterRuntimeFile = `// The tools of this project and the runtime that settles their calls.
// \`npx quittance serve --runtime quittance.mjs\` puts the same runtime behind the console.
import { createRuntime, defineTool, retry } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';

const refund = defineTool({
  name: 'refund',
  description: 'Gives a customer money back.',
  mode: 'external', // what it does cannot be taken back, so it is never run twice by accident
  input: {
    type: 'object',
    properties: { order: { type: 'string' }, cents: { type: 'integer', minimum: 1 } },
    required: ['order', 'cents'],
  },
  run: async ({ order, cents }) => ({ refunded: cents, order }),
});

// Tools that touch files work in the folder workspace. The ledger, the rules and this file lie outside of it.
const contracts = await contractsFromYaml(\`\${import.meta.dirname}/contracts.yaml\`, {
  workingDirectory: import.meta.dirname,
});

export default (ledger) =>
  createRuntime({
    tools: [refund],
    contracts,
    ledger,
    behaviors: [retry()],
    protectedFiles: { readOnly: [import.meta.filename] }, // no call may rewrite this file
  });
`;

export const starterAgentFile = `// Stands for your agent: whatever your model asks for goes through turn.call.
import { isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import createProjectRuntime from './quittance.mjs';

const ledger = await openLedger(\`\${import.meta.dirname}/.quittance/ledger.db\`);
const runtime = createProjectRuntime(ledger);
const turn = runtime.turn({ sessionId: \`session-\${Date.now()}\`, timeoutMs: 5_000 });

for (const cents of [900, 90_000]) {
  const call = { id: \`call_\${cents}\`, name: 'refund', arguments: { order: 'A-7', cents } };
  try {
    const outcome = await turn.call(call);
    console.log(cents, outcome.type, outcome.type === 'ToolDenied' ? outcome.details : '');
  } catch (error) {
    // A rule that says \`action: ask\` holds the call: the turn is over, and the question stays until it is answered.
    if (!isQuittanceError(error, 'call.pending')) throw error;
    console.log(cents, 'waits for a person: npx quittance pending');
  }
}

await runtime.close();
await ledger.close();
`;

export const starterContractsFile = (
  name: string,
): string => `# What the agent may do. Change it and run again; \`npx quittance contracts check contracts.yaml\` checks it.
apiVersion: edictum/v1
kind: Ruleset
metadata:
  name: ${JSON.stringify(name)}
defaults:
  mode: enforce
rules:
  - id: no-large-refunds
    type: pre
    tool: refund
    when:
      args.cents: { gt: 50000, on_missing: fire }
    then:
      action: block
      message: 'A refund of {args.cents} cents is for a person.'
  - id: files-in-workspace
    type: sandbox
    tools: ['*file*', '*File*', Read, Write, Edit, Bash, 'shell*', 'run_*']
    within: [./workspace]
    message: 'Files and commands stay in the workspace folder.'
`;

export const starterIgnoreFile = `node_modules/
.quittance/
`;

export const starterPackageFile = (name: string, version: string): string => `{
  "name": ${JSON.stringify(name)},
  "private": true,
  "type": "module",
  "scripts": {
    "start": "node agent.mjs",
    "console": "quittance serve --runtime quittance.mjs"
  },
  "dependencies": {
    "quittance": "^${version}"
  }
}
`;
