/** Workflows for tests, in the form of their documents. */
import type { JsonObject } from '../packages/quittance/src/base/json.ts';
import { readDocumentValue } from '../packages/quittance/src/policy/read/parse-document.ts';
import type { Workflow } from '../packages/quittance/src/policy/language/workflow.ts';

const documentOf = (stages: readonly JsonObject[]): JsonObject => ({
  apiVersion: 'edictum/v1',
  kind: 'Workflow',
  metadata: { name: 'sample', version: '7' },
  stages,
});

/** Throws if the document is refused. */
export function workflowOf(...stages: readonly JsonObject[]): Workflow {
  const result = readDocumentValue(documentOf(stages), 'sample.yaml');
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  if (result.document.kind !== 'Workflow') throw new Error('This is not a workflow.');
  return result.document.workflow;
}

/** The problems of a document with these stages: `field: message`. */
export function problemsOf(...stages: readonly JsonObject[]): readonly string[] {
  const result = readDocumentValue(documentOf(stages), 'sample.yaml');
  return result.ok ? [] : result.problems.map(({ field, message }) => `${field}: ${message}`);
}

/** From reading over changing and checking to a review and a push. */
export const releaseStages: readonly JsonObject[] = [
  {
    id: 'study',
    tools: ['Read', 'Grep'],
    exit: [{ condition: 'file_read("docs/plan.md")', message: 'Read the plan first' }],
  },
  { id: 'change', entry: [{ condition: 'stage_complete("study")' }], tools: ['Edit', 'Write'] },
  {
    id: 'check',
    entry: [{ condition: 'stage_complete("change")' }],
    tools: ['Read', 'Bash'],
    checks: [{ command_matches: '^make test$', message: 'Only make test runs in check' }],
    exit: [{ condition: 'command_matches("^make test$")', message: 'Let make test succeed first' }],
  },
  {
    id: 'review',
    entry: [{ condition: 'stage_complete("check")' }],
    approval: { message: 'Look at the diff before it is pushed' },
  },
  {
    id: 'push',
    entry: [{ condition: 'stage_complete("review")' }],
    tools: ['Bash'],
    checks: [
      { command_matches: '^git push origin \\S+$', message: 'Only pushes belong in push' },
      { command_not_matches: '\\bmain$', message: 'Push to a branch, never to main' },
    ],
    exit: [{ condition: 'command_matches("^git push\\\\b")', message: 'Push the branch' }],
  },
];
