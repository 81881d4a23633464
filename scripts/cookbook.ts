/** The recipes of the cookbook. Each is a program of examples/ that the tests run. */
export type Recipe = {
  /** Name of the page. */
  readonly slug: string;
  readonly title: string;
  /** The problem, in one or two sentences. */
  readonly problem: string;
  /** File in examples/, and other files that it reads. */
  readonly files: readonly [program: string, ...read: string[]];
  readonly readOn: readonly (readonly [title: string, page: string])[];
};

export const recipes: readonly Recipe[] = [
  {
    slug: 'do-not-pay-twice',
    title: 'Do not pay twice',
    problem: 'A model repeats a payment with a new call id. One key for one effect stops the second payment.',
    files: ['07-idempotency.ts'],
    readOn: [['Fields of a tool', 'tools.md#fields']],
  },
  {
    slug: 'govern-functions',
    title: 'Govern existing functions',
    problem: 'You have functions or tool objects of another library. Put them under Quittance unchanged.',
    files: ['02-govern-functions.ts'],
    readOn: [['Frameworks', 'adapters.md']],
  },
  {
    slug: 'ask-a-person',
    title: 'Ask a person',
    problem: 'A refund above a limit needs a yes from a person, in your own program.',
    files: ['05-ask-a-person.ts'],
    readOn: [['People', 'people.md']],
  },
  {
    slug: 'approve-from-another-process',
    title: 'Approve from another process',
    problem: 'The agent and the approver run in different processes and share only the ledger.',
    files: ['21-approve-from-another-process.ts'],
    readOn: [['People', 'people.md#restarts-and-other-processes']],
  },
  {
    slug: 'two-approvals',
    title: 'Require two people',
    problem: 'A large payment needs two people from certain groups, and not the person who asked.',
    files: ['25-two-approvals.ts', '25-contracts.yaml'],
    readOn: [['Approval policies', 'approval-policies.md']],
  },
  {
    slug: 'standing-grant',
    title: 'Approve a kind of call in advance',
    problem: 'An approver allows similar calls for a limited time, instead of answering each one.',
    files: ['17-standing-grant.ts'],
    readOn: [['Grants', 'grants.md']],
  },
  {
    slug: 'diff-preview',
    title: 'Show a diff before approval',
    problem: 'An approver sees what a file edit would change, and approves exactly this change.',
    files: ['18-diff-preview.ts'],
    readOn: [['Previews', 'previews-and-undo.md']],
  },
  {
    slug: 'undo',
    title: 'Undo a call',
    problem: 'Take back what a call did, through all gates and on the record.',
    files: ['19-undo.ts'],
    readOn: [['Undo', 'undo.md']],
  },
  {
    slug: 'policy-hook',
    title: 'Decide with a function',
    problem: 'A hook in your code blocks a call or asks a person, with the facts of your application.',
    files: ['04-policy-hook.ts'],
    readOn: [['Policy', 'calls.md#policy']],
  },
  {
    slug: 'rules-in-yaml',
    title: 'Write rules in YAML',
    problem: 'Block calls, ask people and set limits in a document that can change without a deployment.',
    files: ['14-contracts-from-yaml.ts', '14-contracts.yaml'],
    readOn: [['Contracts', 'contracts.md']],
  },
  {
    slug: 'stages-of-a-session',
    title: 'Lead a session through stages',
    problem: 'The agent must read the plan before it edits, and pass the tests before it pushes.',
    files: ['15-workflow.ts', '15-workflow.yaml'],
    readOn: [['Workflows', 'contract-workflows.md']],
  },
  {
    slug: 'budgets',
    title: 'Set a budget',
    problem: 'Limit the number and the cost of calls for a turn, a session or a user per day.',
    files: ['06-budgets.ts'],
    readOn: [['Budgets', 'calls.md#budgets']],
  },
  {
    slug: 'hide-secrets',
    title: 'Hide secrets',
    problem: 'Keys and card numbers must not reach the ledger, the logs or the model.',
    files: ['09-redaction.ts'],
    readOn: [['Redaction', 'redaction.md']],
  },
  {
    slug: 'large-outputs',
    title: 'Handle large outputs',
    problem: 'A tool returns more than a model can read. Store it, and let the model read parts of it.',
    files: ['08-artifacts.ts'],
    readOn: [['Large outputs and files', 'tool-results.md#large-outputs-and-files']],
  },
  {
    slug: 'parallel-calls',
    title: 'Make calls in parallel',
    problem: 'Run reads side by side, and keep writes to the same thing in order.',
    files: ['10-call-all.ts'],
    readOn: [['Parallel calls', 'calls.md#parallel-calls']],
  },
  {
    slug: 'retry-failures',
    title: 'Retry transient failures',
    problem: 'A service is down for a moment. Retry the call, and raise an alarm if it still fails.',
    files: ['23-retries-and-behaviors.ts'],
    readOn: [['Retries', 'retries.md']],
  },
  {
    slug: 'typed-errors',
    title: 'Catch typed errors',
    problem: 'Your own code calls a tool and wants the output, or an exception with a code.',
    files: ['11-typed-errors.ts'],
    readOn: [['Errors', 'errors.md']],
  },
  {
    slug: 'audit-trail',
    title: 'Read the audit trail',
    problem: 'Explain to a person what was called, who allowed it and how it ended.',
    files: ['12-audit-trail.ts'],
    readOn: [['Audit records', 'audit.md']],
  },
  {
    slug: 'external-worker',
    title: 'Run a call on another machine',
    problem: 'A worker claims the call, runs it and reports the result.',
    files: ['20-external-worker.ts'],
    readOn: [['Hand-off', 'hand-off.md']],
  },
  {
    slug: 'record-and-replay',
    title: 'Record and replay a session',
    problem: 'Test an agent against recorded tools, without effects outside.',
    files: ['22-record-and-replay.ts'],
    readOn: [['Testing', 'testing.md']],
  },
  {
    slug: 'govern-an-mcp-client',
    title: 'Govern the tools of an MCP client',
    problem: 'Your program is an MCP client. Put the tools of its servers under your rules.',
    files: ['24-mcp-client.ts'],
    readOn: [['MCP', 'mcp.md']],
  },
];
