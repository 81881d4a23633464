/** The files that `quittance init` writes. People read them first, so each explains its purpose. */
export const starterRuntimeFile = `// The tools of this project and the runtime that settles their calls.
// \`npx quittance serve --runtime quittance.mjs\` puts the same runtime behind the console.
import { createRuntime, defineTool, retry } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';

const refund = defineTool({
  name: 'refund',
  description: 'Refunds a customer.',
  mode: 'external', // has effects outside, so the runtime never repeats it on its own
  input: {
    type: 'object',
    properties: { order: { type: 'string' }, cents: { type: 'integer', minimum: 1 } },
    required: ['order', 'cents'],
  },
  run: async ({ order, cents }) => ({ refunded: cents, order }),
});

// File tools may only use the workspace folder. The ledger, the contracts and this file are outside it.
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
    // A rule with \`action: ask\` holds the call. The turn can end; the call waits until a person decides.
    if (!isQuittanceError(error, 'call.pending')) throw error;
    console.log(cents, 'awaits approval: npx quittance pending');
  }
}

await runtime.close();
await ledger.close();
`;

export const starterContractsFile = (
  name: string,
): string => `# The rules for the agent. To check a change: \`npx quittance contracts check contracts.yaml\`.
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
      message: 'A refund of {args.cents} cents needs a person.'
  - id: files-in-workspace
    type: sandbox
    tools: ['*file*', '*File*', Read, Write, Edit, Bash, 'shell*', 'run_*']
    within: [./workspace]
    message: 'Files and commands must stay in the workspace folder.'
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
